/** axe-core finds nothing: every theme, three widths, the main view and the dialogs. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { until } from "../support/until.ts";
import { wear } from "./at-rest.ts";
import { COLOR_RULES, violations } from "./axe.ts";
import { converse } from "./conversation.ts";
import { choose, closed } from "./menus.ts";
import { openGroup, type Setting, useSetting, type WindowOptions } from "./setting.ts";
import { checkTargets } from "./targets.ts";

const THEMES = ["light", "dark", "hc-light", "hc-dark"] as const;
const WIDTHS = [1360, 900, 360] as const;

/** The system changes to another theme while the page is open. */
async function wearTheme(page: Page, theme: (typeof THEMES)[number]): Promise<void> {
  await wear(page, {
    colorScheme: theme.endsWith("dark") ? "dark" : "light",
    contrast: theme.startsWith("hc") ? "more" : "no-preference",
  });
  await page.locator(`html[data-theme=${theme}]`).waitFor();
}

describe("Workbench: accessibility", () => {
  let setting: Setting;

  useSetting((opened) => {
    setting = opened;
  });
  before(async () => {
    const groupId = await converse(setting, import.meta.dirname);
    const shown = { slot: 2, title: "The plan", kind: "markdown", text: "# First" } as const;
    await setting.owner.result("presentation_publish", { group_id: groupId, ...shown });
  });

  async function opened(options: WindowOptions): Promise<Page> {
    const { page } = await setting.window({ ...options, reducedMotion: true });
    await page.locator("svc-message .markdown").first().waitFor({ state: "attached" });
    await page.locator("svc-message .code-keyword").first().waitFor({ state: "attached" });
    return page;
  }

  for (const theme of THEMES) {
    for (const width of WIDTHS) {
      it(`finds nothing at ${width} px in ${theme}`, async () => {
        const page = await opened({ theme, width });
        // What isn't of colours is the same in every theme.
        const rules = theme === "light" ? undefined : COLOR_RULES;
        assert.deepEqual(await violations(page, "html", rules), []);
        if (width === 360) {
          for (const tab of ["Groups", "Actors"]) {
            await page.locator(".bottom-tab", { hasText: tab }).click();
            assert.deepEqual(await violations(page, "html", rules), []);
          }
        }
        await page.context().close();
      });
    }
  }

  it("finds nothing in the sign-in view", async () => {
    const { page } = await setting.window({ path: await setting.origin(), expected: /status of 401/ });
    await page.locator(".sign-in").waitFor();
    assert.deepEqual(await violations(page), []);
  });

  it("finds nothing in the dialogs, menus and the search, in four themes, wide and narrow", async function () {
    this.timeout(300_000);
    const page = await opened({ width: 1440, height: 900 });
    // Few messages: the whole page changes its colours with each theme.
    await openGroup(page, "docs site");
    await page.locator("svc-message", { hasText: "LINKS.md" }).waitFor();
    let looked = 0;
    /** Colours don't depend on the width: two themes at each, the other two the next time. */
    const look = async (what: string, within: string) => {
      const [first, second] = looked++ % 2 === 0 ? [1440, 360] : [360, 1440];
      for (const [width, ...themes] of [
        [first, "light", "hc-dark"],
        [second, "dark", "hc-light"],
      ] as const) {
        await page.setViewportSize({ width, height: 900 });
        for (const [at, theme] of themes.entries()) {
          await wearTheme(page, theme);
          const found = await violations(page, within, at === 0 ? undefined : COLOR_RULES);
          assert.deepEqual(found, [], `${what} at ${width} px in ${theme}`);
        }
      }
      await page.setViewportSize({ width: 1440, height: 900 });
    };
    const dialog = async (what: string) => {
      await page.locator("dialog[open]").waitFor();
      await page.locator("dialog[open] .skeleton").waitFor({ state: "detached" });
      await look(what, "dialog[open]");
      await page.keyboard.press("Escape");
      await closed(page);
    };
    for (const item of ["Group settings", "Group connections"]) {
      await choose(page, "svc-group-header", item);
      await dialog(item);
    }
    for (const item of ["Account", "Access tokens", "Health", "Notifications", "Keyboard"]) {
      await choose(page, "svc-settings-menu", item);
      await dialog(item);
    }
    for (const item of ["Connect an agent", "Edit", "Remove"]) {
      await page.locator(".actor-row").first().hover();
      await choose(page, ".actor-row", item);
      await dialog(item);
    }
    await page.locator("svc-groups button[title='New Group']").click();
    await dialog("New Group");
    await page.locator("svc-actors .column-head .icon-button").click();
    await dialog("Add an Actor");
    await page.keyboard.press("Control+k");
    await page.locator(".palette [role=option]").first().waitFor();
    assert.deepEqual(await violations(page), [], "the page below a dialog");
    await dialog("the palette");
    await page.locator('svc-group-header [aria-label^="Presentations"]').click();
    await page.getByRole("button", { name: "Show something in slot 1" }).click();
    await dialog("Show something");
    await look("an empty slot", "svc-presentations");
    await page.keyboard.press("Escape");
    await page.locator("svc-settings-menu button").click();
    await page.locator(".menu").waitFor();
    assert.deepEqual(await violations(page), [], "the settings menu");
    await page.keyboard.press("Escape");
    await page.locator(".feed-scroll").click();
    await page.keyboard.press("/");
    await page.locator(".search-field").fill("links");
    await page.locator(".hit").first().waitFor();
    await look("the search", "svc-search");
    await page.keyboard.press("Escape");
    await page.locator(".compose-text").fill("@");
    await page.locator(".completion-item").first().waitFor();
    await look("the completion", "svc-composer");
  });

  for (const width of [768, 360]) {
    it(`gives fingers targets of 40 px everywhere, at ${width} px`, async () => {
      const page = await opened({ width, height: 740, touch: true });
      const none = (what: string) => checkTargets(page, what);
      const side = (name: string) =>
        page.locator(width < 700 ? ".bottom-tab" : ".tab", { hasText: name }).click();
      const dialog = async (what: string) => {
        await page.locator("dialog[open]").waitFor();
        await page.locator("dialog[open] .skeleton").waitFor({ state: "detached" });
        await none(what);
        await page.keyboard.press("Escape");
        await closed(page);
      };
      const menu = async (owner: string, item: string) => {
        await page.locator(`${owner} button[aria-haspopup=menu]`).first().click();
        await page.locator(".menu").waitFor();
        await none(`the menu with ${item}`);
        await page.locator(".menu-item", { hasText: item }).click();
        await dialog(item);
      };
      await side("Groups");
      await none("the Groups");
      for (const item of ["Access tokens", "Health", "Notifications", "Keyboard"])
        await menu("svc-settings-menu", item);
      await page.locator('svc-groups [aria-label="New Group"]').click();
      await dialog("New Group");
      await page.keyboard.press("Control+k");
      await dialog("the palette");
      await openGroup(page, "api-server");
      await page.locator("svc-message .state").last().waitFor();
      await none("the feed");
      await menu("svc-group-header", "Group settings");
      await menu("svc-group-header", "Group connections");
      await page.locator("svc-message .markdown").last().tap();
      await page.locator("svc-message button[aria-haspopup=menu]").last().tap();
      await page.locator(".menu").waitFor();
      await none("the menu of a message");
      await page.locator(".menu-item", { hasText: "Show thread" }).click();
      await page.locator("svc-thread svc-message").first().waitFor();
      await none("a thread");
      await page.keyboard.press("Escape");
      await page.locator('svc-group-header [aria-label^="Presentations"]').click();
      // It begins with the slot that shows something.
      await page.locator("svc-presentations h1", { hasText: "First" }).waitFor();
      await none("a presentation");
      await page.locator(".slot-tab").first().click();
      await page.locator("svc-presentations .empty").waitFor();
      await none("an empty slot");
      await page.getByRole("button", { name: "Show something in slot 1" }).click();
      await dialog("showing something");
      await page.keyboard.press("Escape");
      await page.locator("svc-presentations").waitFor({ state: "detached" });
      await page.locator(".compose-text").fill("@re");
      await page.locator(".completion-item").first().waitFor();
      await none("the completion");
      await page.keyboard.press("Enter");
      await page.locator(".chip .icon-button").waitFor();
      await none("a recipient");
      await page.locator('svc-group-header [aria-label^="Search"]').click();
      await none("the search");
      await page.keyboard.press("Escape");
      await side("Actors");
      await none("the Actors");
      for (const item of ["Edit", "Connect an agent", "Remove"]) await menu(".actor-row", item);
      await page.locator("svc-actors .column-head .icon-button").click();
      await dialog("Add an Actor");
      const signIn = await setting.window({
        width,
        height: 740,
        touch: true,
        path: await setting.origin(),
        expected: /status of 401/,
      });
      await signIn.page.locator(".sign-in").waitFor();
      await checkTargets(signIn.page, "signing in");
    });
  }

  it("leads the focus where it came from", async () => {
    const page = await opened({});
    await page.locator("svc-groups button[title='New Group']").focus();
    await page.keyboard.press("Enter");
    await page.locator("dialog[open]").waitFor();
    await page.keyboard.press("Escape");
    await closed(page);
    await until(
      "the focus is back",
      async () =>
        (await page.evaluate(() => document.activeElement?.getAttribute("aria-label"))) === "New Group",
    );
  });

  it("moves in the lists with the arrow keys", async () => {
    const page = await opened({});
    await page.locator(".group-row").first().focus();
    const focused = (label: RegExp) =>
      until(`the focus is on ${label}`, async () =>
        label.test((await page.evaluate(() => document.activeElement?.textContent)) ?? ""),
      );
    await page.keyboard.press("ArrowDown");
    await focused(/docs/);
    await page.keyboard.press("Home");
    await focused(/api-server/);
    await page.locator("[data-row][tabindex='0']").focus();
    const before = await page.evaluate(() => (document.activeElement as HTMLElement).dataset["row"]);
    await page.keyboard.press("ArrowUp");
    await until("the row above has the focus", async () => {
      const above = await page.evaluate(() => (document.activeElement as HTMLElement).dataset["row"]);
      return above !== undefined && above !== before;
    });
    assert.equal(await page.locator("[data-row][tabindex='0']").count(), 1);
  });
});
