/** Addresses: what a link shows, and what Back, a reload and a new tab do. */

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import type { Page } from "playwright-core";
import { until } from "../support/until.ts";
import { openGroup, type Setting, useSetting } from "./setting.ts";

describe("Workbench: addresses", () => {
  let setting: Setting;
  let groupId: string;
  let other: string;
  let early: string;
  let origin: string;

  useSetting((opened) => {
    setting = opened;
  });

  before(async () => {
    const group = await setting.group("addressed", ["lead"]);
    groupId = group.groupId;
    const project = `${setting.daemon.home}-project`;
    mkdirSync(project);
    await setting.owner.result("attach", { group_id: groupId, path: project });
    const shell = { group_id: groupId, actor_id: "shell" };
    await setting.owner.result("actor_add", {
      ...shell,
      runtime: "custom",
      runner: "pty",
      command: ["sh", "-c", "exec sh -i"],
    });
    await setting.owner.result("actor_start", shell);
    other = (await setting.group("another")).groupId;
    origin = await setting.origin();
    const send = async (text: string) =>
      (await group.actors["lead"]!.result("send", { group_id: groupId, text, to: ["user"] })).event.id;
    early = await send("the early one about zebras");
    for (let number = 1; number <= 90; number += 1) await send(`Number ${number}\n\nwith\n\nfour\n\nlines`);
  });

  /** A window that goes to an address of the Workbench, signed in by a login link at it. */
  async function at(query: string) {
    const link = new URL(await setting.loginLink());
    return setting.window({ path: `${origin}/${query}${link.hash}`, expected: /status of 40[49]/ });
  }
  const query = (page: Page) => new URL(page.url()).search;
  const shows = (page: Page, expected: string) =>
    until(`the address is ${expected}`, async () => query(page) === expected, 60_000);
  const inView = async (page: Page, text: string) => {
    const message = page.locator("svc-message", { hasText: text });
    await message.waitFor();
    await until(
      `"${text}" is in view`,
      () =>
        message.evaluate((row) => {
          const view = row.closest(".feed-scroll")!.getBoundingClientRect();
          const box = row.getBoundingClientRect();
          return box.top < view.bottom && box.bottom > view.top;
        }),
      60_000,
    );
  };

  it("opens a message from a link, also after a reload, and leaves unread what wasn't seen", async () => {
    const { page } = await at(`?group=${groupId}&message=${early}`);
    await inView(page, "about zebras");
    assert.equal(await page.locator("svc-message", { hasText: "Number 90" }).count(), 0);
    assert.equal(page.url(), `${origin}/?group=${groupId}&message=${early}`);
    await page.reload();
    await inView(page, "about zebras");
    const { groups } = await setting.owner.result("group_list", {});
    assert.equal(groups.find(({ group_id }) => group_id === groupId)?.unread, 91);
    // At the end, the address is the Group's.
    await page.locator(".pill").click();
    await inView(page, "Number 90");
    await shows(page, `?group=${groupId}`);
    await page.reload();
    await inView(page, "Number 90");
  });

  it("closes dialogs, menus and lists with the Group they were opened in", async () => {
    const { page } = await at("");
    await openGroup(page, "addressed");
    await openGroup(page, "another");
    const menu = page.getByRole("button", { name: "Group actions" });
    const dialog = page.locator("dialog");
    await menu.click();
    await page.getByRole("menuitem", { name: "Group settings" }).click();
    await page.locator("dialog[open]", { hasText: "another" }).waitFor();
    await page.goBack();
    await page.locator(".group-title", { hasText: "addressed" }).waitFor();
    await dialog.waitFor({ state: "detached" });
    await menu.click();
    await page.getByRole("menu").waitFor();
    await page.goForward();
    await page.getByRole("menu").waitFor({ state: "detached" });
    await page.locator(".group-title", { hasText: "another" }).waitFor();
    await page.locator(".compose-text").pressSequentially("#");
    await page.locator(".completion-item").first().waitFor();
    await page.goBack();
    await page.locator(".completion-item").waitFor({ state: "detached" });
    await page.goForward();
    await page.locator(".compose-text").fill("");
  });

  it("says what failed in a Group that was left with its title, and offers no remedy of it", async () => {
    const folder = `${setting.daemon.home}-projects`;
    mkdirSync(folder);
    await setting.owner.result("attach", { group_id: other, path: folder });
    await setting.owner.result("actor_add", {
      group_id: other,
      actor_id: "absent",
      runtime: "custom",
      runner: "pty",
      command: ["no-such-program"],
    });
    const { page } = await at(`?group=${other}`);
    let letGo = (): void => {};
    const isReleased = new Promise<void>((resolve) => (letGo = resolve));
    let asked = false;
    await page.route(/absent\/start/u, async (route) => {
      asked = true;
      await isReleased;
      await route.continue();
    });
    const row = page.locator("[data-actor=absent]");
    await row.hover();
    await row.getByRole("button", { name: "Start absent" }).click();
    await until("it is asked for", () => asked);
    await openGroup(page, "addressed");
    letGo();
    await page.locator(".failure", { hasText: /another: .*no-such-program/u }).waitFor();
    assert.equal(await page.locator("dialog").count(), 0);
  });

  it("closes a dialog whose Group was deleted elsewhere, and none that is of no Group", async () => {
    const { owner } = setting;
    const doomed = async (title: string, open: (page: Page) => Promise<void>) => {
      const group = await setting.group(title);
      const { page } = await at("");
      await openGroup(page, title);
      await open(page);
      await page.locator("dialog[open]").waitFor();
      await owner.result("group_delete", { group_id: group.groupId, confirm: group.groupId });
      await page.locator(".group-row", { hasText: title }).waitFor({ state: "detached" });
      return page;
    };
    const settings = await doomed("first to go", async (page) => {
      await page.getByRole("button", { name: "Group actions" }).click();
      await page.getByRole("menuitem", { name: "Group settings" }).click();
    });
    await settings.locator("dialog").waitFor({ state: "detached" });
    const keys = await doomed("next to go", (page) => page.locator(".feed-scroll").press("?"));
    await keys.locator(".group-title", { hasText: "addressed" }).waitFor();
    assert.equal(await keys.locator("dialog[open]").count(), 1);
  });

  it("goes back through Groups, searches and terminals", async () => {
    const { page } = await at("");
    await openGroup(page, "addressed");
    await shows(page, `?group=${groupId}`);
    await openGroup(page, "another");
    await shows(page, `?group=${other}`);
    await page.goBack();
    await page.locator(".group-title", { hasText: "addressed" }).waitFor();
    await page.keyboard.press("/");
    await page.locator(".search-field").fill("zebras");
    await shows(page, `?group=${groupId}&search=zebras`);
    await page.locator(".hit").click();
    await shows(page, `?group=${groupId}&message=${early}`);
    await inView(page, "about zebras");
    await page.goBack();
    await page.locator(".hit").waitFor();
    assert.equal(await page.locator(".search-field").inputValue(), "zebras");
    await page.reload();
    await page.locator(".hit").waitFor();
    await page.goBack();
    await page.locator(".search-field").waitFor({ state: "detached" });
    await page.locator("[data-actor=shell]").hover();
    await page.locator('[aria-label="Terminal of shell"]').click();
    await shows(page, `?group=${groupId}&terminal=shell`);
    await page.locator("svc-terminal").waitFor();
    await page.goBack();
    await page.locator("svc-terminal").waitFor({ state: "detached" });
    await page.goForward();
    await page.locator("svc-terminal").waitFor();
    await page.locator('[aria-label="Close the terminal of shell"]').click();
    await shows(page, `?group=${groupId}`);
  });

  it("opens in a new tab, copies links, and says what an address names in vain", async () => {
    const { page, context } = await at(`?group=${groupId}`);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const copied = () => page.evaluate(() => navigator.clipboard.readText());
    const [tab] = await Promise.all([
      context.waitForEvent("page"),
      page.locator(".group-row", { hasText: "another" }).click({ modifiers: ["ControlOrMeta"] }),
    ]);
    await tab.locator(".group-title", { hasText: "another" }).waitFor({ timeout: 60_000 });
    await tab.close();
    assert.equal(query(page), `?group=${groupId}`);
    await page.locator('[aria-label="Group actions"]').click();
    await page.locator("[role=menuitem]", { hasText: "Copy link" }).click();
    await until("the Group's link is copied", async () => (await copied()) === `${origin}/?group=${groupId}`);
    const message = page.locator("svc-message", { hasText: "Number 90" });
    await message.hover();
    await message.locator('[aria-label="More message actions"]').click();
    await page.locator("[role=menuitem]", { hasText: "Copy link" }).click();
    const id = await message.getAttribute("data-row");
    await until("its link is copied", async () =>
      (await copied()).endsWith(`?group=${groupId}&message=${id}`),
    );
    await page.goto(`${origin}/?group=${groupId}&message=${"0".repeat(32)}`);
    await page.locator(".failure", { hasText: "no such message" }).waitFor();
    await page.goto(`${origin}/?group=g_000000000000`);
    await page
      .locator(".failure", { hasText: "The address names a Group that doesn’t exist here" })
      .waitFor();
  });
});
