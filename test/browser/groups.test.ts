/** Groups from their beginning to their end, and the window around them. */

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Route } from "playwright-core";
import { until } from "../support/until.ts";
import { atRest, measure } from "./at-rest.ts";
import { violations } from "./axe.ts";
import { choose, closed, press } from "./menus.ts";
import { openGroup, type Setting, useSetting } from "./setting.ts";

describe("Workbench: Groups and the window", () => {
  let setting: Setting;

  useSetting((opened) => {
    setting = opened;
  });

  it("begins with a folder; a wrong one says why and leaves nothing behind", async () => {
    const { page } = await setting.window({ expected: /status of 4(?:00|04|09)/ });
    await page.locator("main vscode-button", { hasText: "Attach a folder" }).click();
    await page.locator("dialog[open] vscode-text-field input").first().fill("/nowhere/at/all");
    await press(page, "Create Group");
    await page.locator("dialog[open] .failure").waitFor();
    assert.deepEqual((await setting.owner.result("group_list", {})).groups, []);
    const project = `${setting.daemon.home}-project`;
    mkdirSync(project, { recursive: true });
    await page.locator("dialog[open] vscode-text-field input").first().fill(project);
    await page.locator("dialog[open] vscode-text-field input").nth(1).fill("project");
    await page.keyboard.press("Enter");
    await page.locator(".group-title", { hasText: "project" }).waitFor();
    await closed(page);
    await page.locator(".group-scope").waitFor();
    await page.locator("svc-feed .empty", { hasText: "Add an Actor first" }).waitFor();
    await until("something has the focus", () =>
      page.evaluate(() => document.activeElement !== null && document.activeElement !== document.body),
    );
  });

  it("offers what to do first while it has no messages: an Actor, then examples that write over nothing", async () => {
    const { groupId } = await setting.group("silent", []);
    const { page } = await setting.window();
    await openGroup(page, "silent");
    const empty = page.locator("svc-feed .empty");
    await empty.locator("vscode-button", { hasText: "Add an Actor" }).click();
    await page.locator("dialog[open] input").first().fill("lead");
    await page.locator("dialog[open] select").first().selectOption("external");
    await press(page, "Add and connect");
    await press(page, "Done");
    await closed(page);
    const text = page.locator(".compose-text");
    const [asks, tests] = ["What are you working on?", "Please run the tests and tell me what fails."];
    await empty.getByRole("button", { name: asks }).click();
    await until("it is in the composer", async () => (await text.inputValue()) === asks);
    await until("it has the focus", () => text.evaluate((element) => element === document.activeElement));
    await empty.getByRole("button", { name: tests }).click();
    assert.equal(await text.inputValue(), asks);
    const { events } = await setting.owner.result("ledger_tail", { group_id: groupId });
    assert.ok(events.every(({ kind }) => kind !== "chat.message"));
  });

  it("chooses a folder of the machine by keyboard, whatever the folders are called", async () => {
    const top = realpathSync(mkdtempSync(join(tmpdir(), "svc-chosen-")));
    try {
      const odd = "b <img src=x onerror=alert(1)>\u202e";
      for (const name of ["a/inside", odd, ".hidden"]) mkdirSync(join(top, name), { recursive: true });
      symlinkSync("/", join(top, "link"));
      const { page } = await setting.window({ expected: /status of 400/ });
      await page.locator("[aria-label='New Group']").click();
      const path = page.locator("dialog[open] vscode-text-field input").first();
      await path.fill(top);
      await press(page, "Browse folders");
      const rows = page.locator("dialog[open] .folder-row");
      await rows.first().waitFor();
      assert.deepEqual(await rows.locator(".file-name").allTextContents(), [
        "a",
        "b <img src=x onerror=alert(1)>\ufffd",
      ]);
      assert.equal(await page.locator("dialog[open] img").count(), 0);
      assert.deepEqual(await violations(page), []);
      const shown = (name: string) =>
        until(name, async () => (await path.inputValue()) === join(top, name).replace(/\/$/, ""));
      await rows.first().focus();
      await page.keyboard.press("Enter");
      await shown("a");
      await rows.filter({ hasText: "inside" }).waitFor();
      await page.keyboard.press("ArrowLeft");
      await shown("");
      await until("the folder it came from has the focus", () =>
        page.evaluate(() => (document.activeElement as HTMLElement).dataset["name"] === "a"),
      );
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowRight");
      await shown(odd);
      await page.locator("dialog[open] .hint", { hasText: "No folders in here" }).waitFor();
      // The one above may still be asked for when hidden folders are.
      const held: Route[] = [];
      await page.route(/\/folders\?/, (route) => void held.push(route), { times: 1 });
      await page.locator("dialog[open] .folders-head button").click();
      await shown("");
      await page.locator("dialog[open] vscode-checkbox", { hasText: "hidden" }).click();
      await rows.filter({ hasText: ".hidden" }).waitFor();
      await held[0]!.continue();
      // A folder that goes away in the meantime says so, and the others stay.
      rmSync(join(top, "a"), { recursive: true });
      await page.locator("dialog[open] .folder-row[data-name=a]").click();
      await page.locator("dialog[open] .failure", { hasText: "isn't an existing directory" }).waitFor();
      await rows.filter({ hasText: "img" }).click();
      await shown(odd);
      await page.locator("dialog[open] vscode-text-field input").nth(1).fill("chosen");
      await press(page, "Create Group");
      await closed(page);
      const { groups } = await setting.owner.result("group_list", {});
      const group = await setting.owner.result("group_show", {
        group_id: groups.find(({ title }) => title === "chosen")!.group_id,
      });
      assert.deepEqual(
        group.scopes.map(({ path: attached }) => attached),
        [join(top, odd)],
      );
      await page.context().close();
      await setting.owner.result("group_delete", { group_id: group.group_id, confirm: group.group_id });
    } finally {
      rmSync(top, { recursive: true, force: true });
    }
  });

  it("takes emoji that are joined of several in titles, and no other joiner", async () => {
    const { page } = await setting.window({ expected: /status of 400/ });
    const create = async (title: string) => {
      await page.locator("[aria-label='New Group']").click();
      await page.locator("dialog[open] input").nth(1).fill(title);
      await press(page, "Create Group");
    };
    await create("family 👨‍👩‍👧 🏳️‍🌈 👩🏽‍💻");
    await closed(page);
    await page.locator(".group-title", { hasText: "family 👨‍👩‍👧 🏳️‍🌈 👩🏽‍💻" }).waitFor();
    for (const title of ["fam\u200dily", "©\u200d®", "👨\u200d", "1\u200d2"]) {
      await assert.rejects(setting.owner.result("group_create", { title }), /invisible/);
    }
    await create("fam\u200dily");
    await page.locator("dialog[open] .failure", { hasText: "invisible" }).waitFor();
    await page.keyboard.press("Escape");
  });

  it("changes settings, clears and deletes a Group only after its title was typed", async () => {
    const { groupId } = await setting.group("doomed");
    await setting.owner.result("send", { group_id: groupId, text: "Remember this", to: ["lead"] });
    const { page } = await setting.window({ expected: /status of 40[49]/ });
    await openGroup(page, "doomed");
    await choose(page, "svc-group-header", "Group settings");
    await page.locator("dialog[open] input").nth(1).fill("What it is about");
    const mail = page.locator("dialog[open] [name=mail_notice_after_seconds] input");
    assert.equal(await mail.inputValue(), "30");
    await mail.fill("soon");
    await page.locator("dialog[open] .hint", { hasText: "Enter a number of minutes" }).waitFor();
    assert.equal(await mail.inputValue(), "soon");
    await page.locator("dialog[open] vscode-button[disabled]", { hasText: "Save" }).waitFor();
    await mail.fill("2.5");
    await press(page, "Save");
    await closed(page);
    const { settings } = await setting.owner.result("group_show", { group_id: groupId });
    assert.deepEqual([settings.mail_notice_after_seconds, settings.reply_notice_after_seconds], [150, 900]);
    await page.locator(".group-topic", { hasText: "What it is about" }).waitFor();
    for (const [first, act] of [
      ["Clear the history", "Clear the history"],
      ["Delete the Group", "Delete the Group"],
    ] as const) {
      await choose(page, "svc-group-header", "Group settings");
      await page.locator("dialog[open] .danger-button", { hasText: `${first}…` }).click();
      const field = page.locator("dialog[open] .destroy vscode-text-field");
      await until("the confirmation is asked for in view", () =>
        field.evaluate((element) => {
          const box = element.getBoundingClientRect();
          return document.activeElement === element && box.top >= 0 && box.bottom <= innerHeight;
        }),
      );
      const danger = page.locator("dialog[open] .danger-button", { hasText: act });
      assert.ok(await danger.isDisabled());
      await page.locator("dialog[open] .destroy input").fill("doomed");
      await danger.click();
      await closed(page);
      if (first === "Clear the history") {
        await page.locator("svc-message", { hasText: "Remember this" }).waitFor({ state: "detached" });
        await page.locator(".group-title", { hasText: "doomed" }).waitFor();
      }
    }
    await page.locator(".group-row", { hasText: "doomed" }).waitFor({ state: "detached" });
    // The keyboard isn't left behind with what is gone.
    await until("something has the focus", () =>
      page.evaluate(() => document.activeElement !== null && document.activeElement !== document.body),
    );
    await until("the Group is gone", async () =>
      (await setting.owner.result("group_list", {})).groups.every((group) => group.group_id !== groupId),
    );
  });

  it("remembers theme and arrangement", async () => {
    await setting.group("window");
    const { page } = await setting.window({ theme: "dark" });
    await page.locator(".group-title").waitFor();
    const background = async () => {
      await atRest(page);
      return page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    };
    const widthOfGroups = () => measure(page.locator(".side.groups"), (side) => side.clientWidth);
    const seen = new Set<string>();
    for (const [label, kind] of [
      ["Light", "vscode-light"],
      ["Dark", "vscode-dark"],
      ["High contrast, dark", "vscode-high-contrast"],
      ["High contrast, light", "vscode-high-contrast-light"],
    ] as const) {
      await page.locator("svc-settings-menu button[aria-haspopup=menu]").click();
      await page.getByRole("menuitemradio", { name: label, exact: true }).click();
      assert.equal(await page.evaluate(() => document.body.dataset["vscodeThemeKind"]), kind);
      seen.add(`${kind} ${await background()}`);
      await page.locator("svc-settings-menu button[aria-haspopup=menu]").click();
      assert.equal(
        await page
          .locator(".menu-item[aria-checked=true] .menu-label")
          .textContent()
          .then((text) => text?.trim()),
        label,
      );
      await page.keyboard.press("Escape");
    }
    assert.equal(seen.size, 4);
    await page.locator("button[aria-label='Hide Actors']").click();
    await page.locator("svc-splitter").focus();
    await page.keyboard.press("ArrowRight");
    const width = await widthOfGroups();
    await page.reload();
    await page.locator("button[aria-label='Show Actors']").waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.dataset["theme"]), "hc-light");
    assert.equal(await widthOfGroups(), width);
    await page.locator("button[aria-label='Show Actors']").click();
    await page.locator("svc-actors").waitFor();
  });

  it("fits every width from 360 px to 4K without scrolling sideways", async () => {
    const { groupId } = await setting.group("a title that is rather long and goes on for a while");
    await setting.owner.result("send", {
      group_id: groupId,
      text: `${"wide ".repeat(60)}\n\n\`\`\`\n${"x".repeat(500)}\n\`\`\`\n\n${"y".repeat(400)}`,
      to: ["lead"],
    });
    const { page } = await setting.window();
    await openGroup(page, "a title that is rather long");
    for (const width of [360, 480, 699, 700, 1099, 1100, 1920, 3840]) {
      await page.setViewportSize({ width, height: 800 });
      await page.locator(".compose-text").waitFor();
      const breadth = width >= 1100 ? "wide" : width >= 700 ? "medium" : "narrow";
      // A browser may report a size in between before it settles.
      let wide: string[] = [];
      await until("the layout follows and fits", async () => {
        wide = await page.evaluate(() =>
          [
            ...document.querySelectorAll<HTMLElement>(
              ".workbench, .center, .feed-scroll, .composer, .group-head",
            ),
          ]
            .filter(
              (element) =>
                element.scrollWidth > element.clientWidth + 1 ||
                element.getBoundingClientRect().right > innerWidth + 1,
            )
            .map((element) => element.className),
        );
        return wide.length === 0 && (await page.locator(`.workbench.${breadth}`).count()) === 1;
      }).catch((error: unknown) => {
        throw new Error(`${width} px: ${wide.join(", ") || "another layout"}`, { cause: error });
      });
    }
  });
});
