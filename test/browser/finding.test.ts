/** Finding things again: the palette, the order of the Groups, drafts, and a feed of messages only. */

import assert from "node:assert/strict";
import { until } from "../support/until.ts";
import { violations } from "./axe.ts";
import { openGroup, type Setting, useSetting } from "./setting.ts";

describe("Workbench: finding", () => {
  let setting: Setting;

  useSetting((opened) => {
    setting = opened;
  });

  before(async () => {
    const alpha = await setting.group("alpha", ["lead", "coder"]);
    await setting.group("beta");
    const gamma = await setting.group("gamma");
    for (const [{ groupId, actors }, text] of [
      [gamma, "a zebra in gamma"],
      [alpha, "another zebra, in alpha"],
    ] as const)
      await actors["lead"]!.result("send", { group_id: groupId, text, to: ["user"] });
  });

  it("goes to Groups, Actors, commands, and messages of any Group by a few letters", async () => {
    const { page } = await setting.window();
    await openGroup(page, "alpha");
    const field = page.locator(".palette-field");
    const offered = page.locator(".palette [role=option]");
    const open = async (typed: string) => {
      await page.keyboard.press("ControlOrMeta+k");
      await field.fill(typed);
    };
    await open("bet");
    await offered.filter({ hasText: "beta" }).waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".group-title", { hasText: "beta" }).waitFor();
    await open("zebra");
    await until("both are found", async () => (await offered.count()) === 2);
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press("ArrowDown");
    await page.locator('.palette [aria-selected="true"]', { hasText: "a zebra in gamma" }).waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".group-title", { hasText: "gamma" }).waitFor();
    const row = page.locator("svc-message", { hasText: "a zebra in gamma" });
    await until("it has the focus", () => row.evaluate((element) => element === document.activeElement));
    // An Actor to write to, and a command that leads to another dialog.
    await open("lea");
    await page.keyboard.press("Enter");
    await page.locator(".chip", { hasText: "lead" }).waitFor();
    await until("the text has the focus", () =>
      page.evaluate(() => document.activeElement?.matches(".compose-text") === true),
    );
    await open("health");
    await page.keyboard.press("Enter");
    await page.locator("dialog[open]", { hasText: "Health" }).waitFor();
    await page.keyboard.press("Escape");
  });

  it("sorts the Groups as the person likes, marks drafts, and remembers both", async () => {
    const { page } = await setting.window();
    const titles = () => page.locator(".group-row .row-label").allTextContents();
    const sorted = async (...expected: string[]) => {
      await page.locator(".compose-text").hover();
      await until(`the order ${expected.join()}`, async () => (await titles()).join() === expected.join());
    };
    await openGroup(page, "beta");
    await sorted("alpha", "beta", "gamma");
    await page.locator(".compose-text").fill("unsent");
    await openGroup(page, "alpha");
    const mark = page.locator(".group-row", { hasText: "beta" }).locator(".draft-mark");
    await mark.waitFor();
    await page.locator('[aria-label="Sort Groups"]').click();
    await page.locator("[role=menuitemradio]", { hasText: "Latest activity first" }).click();
    await sorted("alpha", "gamma", "beta");
    await page.reload();
    await mark.waitFor();
    await sorted("alpha", "gamma", "beta");
    const { groups } = await setting.owner.result("group_list", {});
    const group_id = groups.find(({ title }) => title === "beta")!.group_id;
    await setting.owner.result("send", { group_id, text: "now this one", to: ["lead"] });
    await sorted("beta", "alpha", "gamma");
    await openGroup(page, "beta");
    await page.locator(".compose-text").fill("");
    await openGroup(page, "alpha");
    await mark.waitFor({ state: "detached" });
  });

  it("hides what happens to the Group and its Actors, in later windows too", async () => {
    const { page } = await setting.window();
    await openGroup(page, "alpha");
    const system = page.locator(".system");
    const message = page.locator("svc-message", { hasText: "another zebra" });
    await system.first().waitFor();
    await page.locator('[aria-label="Group actions"]').click();
    await page.locator("[role=menuitem]", { hasText: "Hide system events" }).click();
    await until("they are hidden", async () => (await system.count()) === 0);
    await page.reload();
    await message.waitFor();
    assert.equal(await system.count(), 0);
    await page.keyboard.press("ControlOrMeta+k");
    await page.locator(".palette-field").fill("show system");
    await page.keyboard.press("Enter");
    await system.first().waitFor();
    await message.waitFor();
  });
});
