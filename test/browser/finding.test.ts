/** Finding things again: the palette, threads, what is new, and what the lists hold. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { until } from "../support/until.ts";
import { atRest } from "./at-rest.ts";
import { violations } from "./axe.ts";
import { openGroup, type Setting, useSetting } from "./setting.ts";

/** From now on, code that is loaded later waits until it is let go. */
async function heldCode(page: Page) {
  let wanted = 0;
  let letGo = (): void => {};
  const isReleased = new Promise<void>((resolve) => (letGo = resolve));
  await page.route(/\/chunk-[^/]*\.js/u, async (route) => {
    wanted += 1;
    await isReleased;
    await route.continue();
  });
  return { isAsked: () => until("its code is asked for", () => wanted > 0), letGo };
}

describe("Workbench: finding", () => {
  let setting: Setting;

  useSetting((opened) => {
    setting = opened;
  });

  let gamma: Awaited<ReturnType<Setting["group"]>>;
  before(async () => {
    const alpha = await setting.group("alpha", ["lead", "coder"]);
    await setting.group("beta");
    gamma = await setting.group("gamma");
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
    // A search for messages that isn't over delays nobody.
    let searches = 0;
    await page.route(/\/ledger\/search/u, () => void (searches += 1));
    await open("bet");
    await offered.filter({ hasText: "beta" }).waitFor();
    await until("messages are being searched", () => searches > 0);
    await page.keyboard.press("Enter");
    await page.locator(".group-title", { hasText: "beta" }).waitFor();
    await page.unroute(/\/ledger\/search/u);
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
    await page.locator('.palette [aria-selected="true"]', { hasText: "lead" }).waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".chip", { hasText: "lead" }).waitFor();
    await until("the text has the focus", () =>
      page.evaluate(() => document.activeElement?.matches(".compose-text") === true),
    );
    await open("health");
    await page.locator('.palette [aria-selected="true"]', { hasText: "Health" }).waitFor();
    await page.keyboard.press("Enter");
    await page.locator("dialog[open]", { hasText: "Health" }).waitFor();
    const { checks } = await setting.owner.result("health", {});
    const wrong = checks.filter(({ severity }) => severity !== "ok");
    const says =
      wrong.length === 0 ? "Everything is in order." : `${wrong.length} of ${checks.length} need attention.`;
    await page.getByText(says).waitFor();
    const [worst] = await page.locator(".check strong").allTextContents();
    assert.equal(worst, (wrong.find(({ severity }) => severity === "error") ?? wrong[0] ?? checks[0])?.title);
    await page.keyboard.press("Escape");
  });

  it("opens one palette for two presses while it loads, and takes keys as soon as a dialog is closed", async () => {
    const { page } = await setting.window();
    await openGroup(page, "alpha");
    const code = await heldCode(page);
    await page.keyboard.press("ControlOrMeta+k");
    await code.isAsked();
    await page.keyboard.press("ControlOrMeta+k");
    code.letGo();
    await page.locator(".palette-field").waitFor();
    assert.equal(await page.locator("svc-palette-dialog").count(), 1);
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
    // What had the focus before the dialog goes with its column. In one task: the page has had no
    // time to look after the focus when the next key comes.
    await page.locator("svc-actors .column-head .icon-button").click();
    await page.locator("dialog[open]").waitFor();
    await page.setViewportSize({ width: 360, height: 740 });
    await page.locator("svc-actors").waitFor({ state: "detached" });
    const target = await page.evaluate(() => {
      document.querySelector<HTMLDialogElement>("dialog[open]")!.close();
      const { activeElement } = document;
      activeElement!.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true }));
      return activeElement!.closest("dialog") === null ? "page" : "dialog";
    });
    assert.equal(target, "dialog", "the closed dialog still has the focus");
    await page.locator(".palette-field").waitFor();
  });

  it("gives the palette what is typed while it loads, and the page behind nothing", async () => {
    const { page } = await setting.window();
    await openGroup(page, "alpha");
    const text = page.locator(".compose-text");
    await text.fill("unsent");
    await text.focus();
    const code = await heldCode(page);
    await page.keyboard.press("ControlOrMeta+k");
    await code.isAsked();
    await page.keyboard.type("bq");
    await page.keyboard.press("Backspace");
    await page.keyboard.type("eta");
    await page.keyboard.press("Enter");
    assert.equal(await page.locator(".group-title").textContent(), "alpha");
    code.letGo();
    await page.locator(".group-title", { hasText: "beta" }).waitFor();
    await openGroup(page, "alpha");
    await until("the draft is back", async () => (await text.inputValue()) === "unsent");
    await text.fill("");
    assert.equal(await page.locator("svc-presentations").count(), 0);
  });

  it("fills in a form with what is typed while it loads, and opens none after Esc", async () => {
    const { page } = await setting.window();
    await openGroup(page, "alpha");
    const code = await heldCode(page);
    const add = page.locator("svc-actors .column-head .icon-button");
    await add.click();
    await code.isAsked();
    await page.keyboard.press("Escape");
    await until("the focus is back", () => add.evaluate((element) => element === document.activeElement));
    await page.keyboard.press("Enter");
    await page.keyboard.type("reviewer");
    await page.keyboard.press("Enter");
    code.letGo();
    const dialog = page.locator("svc-add-actor-dialog dialog[open]");
    await dialog.waitFor();
    assert.equal(await page.locator("svc-add-actor-dialog").count(), 1);
    const name = dialog.locator("vscode-text-field").first();
    await until("it is filled in", async () =>
      name.evaluate((element) => (element as HTMLInputElement).value === "reviewer"),
    );
    await page.keyboard.type("-2");
    assert.equal(await name.evaluate((element) => (element as HTMLInputElement).value), "reviewer-2");
    await page.keyboard.press("Escape");
  });

  it("takes the same keys while Caps Lock is on", async () => {
    const { page } = await setting.window();
    await openGroup(page, "alpha");
    // As Caps Lock does, this is a large letter without the Shift key.
    await page.keyboard.press("Control+K");
    await page.locator(".palette-field").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
    await page.locator(".feed-scroll").click();
    await page.keyboard.press("P");
    await page.locator("svc-presentations").waitFor();
  });

  it("opens no dialog of a Group that was left while it loads", async () => {
    const { page } = await setting.window();
    await openGroup(page, "alpha");
    const code = await heldCode(page);
    await page.getByRole("button", { name: "Group actions" }).click();
    await page.getByRole("menuitem", { name: "Group settings" }).click();
    await code.isAsked();
    await openGroup(page, "beta");
    code.letGo();
    await page.evaluate("customElements.whenDefined('svc-group-settings-dialog').then(() => undefined)");
    await atRest(page);
    // It would keep the palette from opening.
    await page.keyboard.press("ControlOrMeta+k");
    await page.locator(".palette-field").waitFor();
    assert.equal(await page.locator("svc-group-settings-dialog").count(), 0);
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
    const sort = async (label: string) => {
      await page.locator('[aria-label="Sort Groups"]').click();
      await page.locator("[role=menuitemradio]", { hasText: label }).click();
    };
    await sort("Latest activity first");
    await sorted("alpha", "gamma", "beta");
    await page.reload();
    await mark.waitFor();
    await sorted("alpha", "gamma", "beta");
    const { groups } = await setting.owner.result("group_list", {});
    const groupId = groups.find(({ title }) => title === "beta")!.group_id;
    await setting.owner.result("send", { group_id: groupId, text: "now this one", to: ["lead"] });
    await sorted("beta", "alpha", "gamma");
    // Whoever waits for the person is above what happened later.
    await sort("What needs you first");
    const { event } = await gamma.actors["lead"]!.result("send", {
      group_id: gamma.groupId,
      text: "which?",
      to: ["user"],
      message_mode: "request_reply",
    });
    await setting.owner.result("send", { group_id: groupId, text: "later than that", to: ["lead"] });
    await sorted("gamma", "beta", "alpha");
    await setting.owner.result("reply", { group_id: gamma.groupId, event_id: event.id, text: "this" });
    await setting.owner.result("feed_read", { group_id: gamma.groupId, event_id: event.id });
    await setting.owner.result("send", { group_id: groupId, text: "the latest", to: ["lead"] });
    await sorted("beta", "gamma", "alpha");
    await openGroup(page, "beta");
    const text = page.locator(".compose-text");
    await until("the draft is back", async () => (await text.inputValue()) === "unsent");
    await text.fill("");
    await openGroup(page, "alpha");
    await mark.waitFor({ state: "detached" });
  });

  it("lets a message that was found stand out for a while, whatever is drawn meanwhile", async () => {
    const { groupId, actors } = await setting.group("stands out");
    await setting.owner.result("send", { group_id: groupId, text: "look for quartz", to: ["lead"] });
    const { page } = await setting.window();
    await openGroup(page, "stands out");
    const row = page.locator("svc-message", { hasText: "quartz" });
    await row.waitFor();
    const color = () => row.evaluate((element) => getComputedStyle(element).backgroundColor);
    const quiet = await color();
    // How long its background is another one, as the page itself sees it.
    await row.evaluate((element, plain) => {
      let since = 0;
      new MutationObserver(() => {
        const isQuiet = getComputedStyle(element).backgroundColor === plain;
        if (!isQuiet && since === 0) since = performance.now();
        if (isQuiet && since > 0) document.body.dataset["stoodOut"] ??= String(performance.now() - since);
      }).observe(element, { attributes: true });
    }, quiet);
    await page.keyboard.press("ControlOrMeta+k");
    await page.locator(".palette-field").fill("quartz");
    await page.locator('.palette [aria-selected="true"]', { hasText: "look for quartz" }).waitFor();
    await page.keyboard.press("Enter");
    await until("it stands out", async () => (await color()) !== quiet);
    await actors["lead"]!.result("inbox_read", { group_id: groupId });
    const stoodOut = await until("it no longer does", () =>
      page.evaluate(() => document.body.dataset["stoodOut"]),
    );
    assert.ok(Number(stoodOut) >= 1500, `it stood out for ${stoodOut} ms`);
  });

  it("shows where new messages begin, and goes there", async () => {
    const { groupId, actors } = await setting.group("away");
    const send = (text: string) =>
      actors["lead"]!.result("send", { group_id: groupId, text: `${text}\n\nand\n\nmore`, to: ["user"] });
    await setting.owner.result("feed_read", { group_id: groupId, event_id: (await send("seen")).event.id });
    for (let number = 1; number <= 80; number += 1) await send(`unread ${number}.`);
    const { page } = await setting.window();
    await openGroup(page, "away");
    await page.locator("svc-message", { hasText: "unread 80." }).waitFor();
    await page.locator(".to-new").click();
    const first = page.locator("svc-message", { hasText: "unread 1." });
    await until("it has the focus", () => first.evaluate((element) => element === document.activeElement));
    const line = page.locator(".new-from");
    assert.equal(
      await line.evaluate((element) => element.nextElementSibling?.textContent?.includes("unread 1.")),
      true,
    );
    await page.locator(".to-new").waitFor({ state: "detached" });
    // Read on, the line stays; what comes while the person reads a thread is new again.
    await page.keyboard.press("End");
    await page.locator("svc-message", { hasText: "unread 80." }).waitFor();
    await until("all is read", async () => {
      const { groups } = await setting.owner.result("group_list", {});
      return groups.find(({ group_id }) => group_id === groupId)?.first_unread === null;
    });
    const last = page.locator("svc-feed svc-message", { hasText: "unread 80." });
    await last.hover();
    await last.locator('[aria-label="More message actions"]').click();
    await page.locator("[role=menuitem]", { hasText: "Show thread" }).click();
    await page.locator("svc-thread", { hasText: "No replies yet." }).waitFor();
    await send("the newest one");
    await page.locator(".group-row", { hasText: "away" }).locator(".unread-count").waitFor();
    await page.locator('[aria-label="Close the thread"]').click();
    await until("the line has moved", async () =>
      page.evaluate(
        () =>
          document.querySelector(".new-from")?.nextElementSibling?.textContent?.includes("newest one") ===
          true,
      ),
    );
  });

  it("is marked unread from a message by its menu or by key, until the person reads on", async () => {
    const { groupId, actors } = await setting.group("again");
    const send = (text: string) => actors["lead"]!.result("send", { group_id: groupId, text, to: ["user"] });
    const first = await send("the first");
    const second = await send("the second");
    await send("the third");
    const firstUnread = async () => {
      const { groups } = await setting.owner.result("group_list", {});
      return groups.find(({ group_id }) => group_id === groupId)!.first_unread;
    };
    const { page } = await setting.window();
    await openGroup(page, "again");
    const message = (text: string) => page.locator("svc-feed svc-message", { hasText: text });
    const line = (text: string) =>
      until(`the line is before ${text}`, () =>
        page
          .locator(".new-from")
          .evaluateAll(
            (all, wanted) => all[0]?.nextElementSibling?.textContent?.includes(wanted) === true,
            text,
          ),
      );
    await message("the third").waitFor();
    await until("all is read", async () => (await firstUnread()) === null);
    await message("the second").hover();
    await message("the second").locator('[aria-label="More message actions"]').click();
    await page.locator("[role=menuitem]", { hasText: "Mark unread from here" }).click();
    const count = page.locator(".group-row", { hasText: "again" }).locator(".unread-count");
    await until("two are unread", async () => (await count.textContent())?.includes("2") === true);
    assert.equal(await firstUnread(), second.event.id);
    await line("the second");
    // What comes while the feed is in view doesn't mark it as read.
    await send("the fourth");
    await message("the fourth").waitFor();
    await until("three are unread", async () => (await count.textContent())?.includes("3") === true);
    await message("the first").focus();
    await page.keyboard.press("u");
    await line("the first");
    await until("the daemon knows", async () => (await firstUnread()) === first.event.id);
    await page.keyboard.press("End");
    await until("all is read again", async () => (await firstUnread()) === null);
    await count.waitFor({ state: "detached" });
  });

  it("shows a request with all its replies, and is written to from there", async () => {
    const { groupId, actors } = await setting.group("threads", ["lead", "coder"]);
    const group_id = groupId;
    const asked = await setting.owner.result("send", {
      group_id,
      text: "Who knows about zebras?",
      to: ["lead", "coder"],
      message_mode: "request_reply",
    });
    await setting.owner.result("send", { group_id, text: "Something else.", to: ["lead"] });
    const reply = await actors["lead"]!.result("reply", {
      group_id,
      event_id: asked.event.id,
      text: "I do.",
    });
    await setting.owner.result("reply", { group_id, event_id: reply.event.id, text: "Me too." });
    const { page } = await setting.window();
    await openGroup(page, "threads");
    const message = page.locator("svc-feed svc-message", { hasText: "I do." }).first();
    await message.hover();
    await message.locator('[aria-label="More message actions"]').click();
    await page.locator("[role=menuitem]", { hasText: "Show thread" }).click();
    const thread = page.locator("svc-thread");
    const texts = () => thread.locator(".markdown").allInnerTexts();
    await until("three messages", async () => (await texts()).length === 3);
    assert.deepEqual(await texts(), ["Who knows about zebras?", "I do.", "Me too."]);
    assert.deepEqual(await violations(page), []);
    await thread.locator("svc-message", { hasText: "Me too." }).hover();
    await thread.locator("svc-message", { hasText: "Me too." }).locator('[aria-label="Reply"]').click();
    await page.locator(".compose-text").fill("Thanks.");
    await page.keyboard.press("ControlOrMeta+Enter");
    await thread.locator("svc-message", { hasText: "Thanks." }).waitFor();
    await page.reload();
    await until("four messages", async () => (await texts()).length === 4);
    await page.keyboard.press("Escape");
    await thread.waitFor({ state: "detached" });
  });

  it("filters messages, with words or without, at an address of its own, and goes to a date", async () => {
    const { groupId, actors } = await setting.group("sieve", ["lead", "coder"]);
    const group_id = groupId;
    const send = (text: string, more: object) => setting.owner.result("send", { group_id, text, ...more });
    await send("alpha for lead", { to: ["lead"], message_mode: "request_reply" });
    await send("beta for coder", { to: ["coder"], message_mode: "mail" });
    await actors["coder"]!.result("send", { group_id, text: "gamma from coder", to: ["user"] });
    const { page } = await setting.window();
    await openGroup(page, "sieve");
    await page.locator("svc-message", { hasText: "gamma" }).waitFor();
    const file = { name: "delta.txt", mimeType: "text/plain", buffer: Buffer.from("delta") };
    await page.locator("input[type=file]").setInputFiles(file);
    await page.locator(".compose-text").fill("delta with a file");
    await page.locator(".compose-text").press("Control+Enter");
    await page.locator("svc-message", { hasText: "delta" }).locator("svc-attachment").waitFor();
    await page.keyboard.press("Escape");
    await page.locator('svc-group-header [aria-label^="Search"]').click();
    const finds = (...texts: string[]) =>
      until(`${texts.join()} and no other`, async () => {
        const hits = await page.locator(".hit-text").allInnerTexts();
        return hits.join() === texts.join();
      });
    const says = (words: string) =>
      page.locator(".search-results [role=status]", { hasText: words }).waitFor();
    const actor = page.locator('[aria-label="From or to"]');
    await actor.selectOption({ label: "coder" });
    await finds("gamma from coder", "beta for coder");
    await says("2 found");
    assert.deepEqual(await violations(page), []);
    await page.locator('[aria-label="Mode"]').selectOption({ label: "Mail" });
    await finds("beta for coder");
    await page.locator(".search-field").fill("gamma");
    await says("Nothing found for “gamma” with these filters.");
    await page.locator(".search-field").fill("beta");
    await finds("beta for coder");
    await page.reload();
    await finds("beta for coder");
    assert.equal(await actor.inputValue(), "coder");
    await page.locator('[aria-label="Mode"]').selectOption({ label: "Any mode" });
    await actor.selectOption({ label: "From or to anyone" });
    await page.locator(".search-field").fill("");
    const files = page.locator(".toggle", { hasText: "With files" });
    await files.click();
    await finds("delta with a file");
    await page.reload();
    await finds("delta with a file");
    assert.equal(await files.getAttribute("aria-pressed"), "true");
    await files.click();
    await page.locator(".toggle", { hasText: "Awaiting reply" }).click();
    await finds("alpha for lead");
    await page.goBack();
    await page.locator("svc-search").waitFor({ state: "detached" });
    await page.goForward();
    await finds("alpha for lead");
    await page.keyboard.press("Escape");
    await page.locator("svc-search").waitFor({ state: "detached" });
    await page.locator('svc-group-header [aria-label^="Search"]').click();
    const date = page.locator(".date-field");
    await date.fill("2020-02-29");
    const first = page.locator("svc-feed svc-message", { hasText: "alpha for lead" });
    await until("the first message has the focus", () =>
      first.evaluate((element) => element === document.activeElement),
    );
    await page.locator("svc-search").waitFor({ state: "detached" });
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
    await page.locator('.palette [aria-selected="true"]', { hasText: "Show system" }).waitFor();
    await page.keyboard.press("Enter");
    await system.first().waitFor();
    await message.waitFor();
  });
});
