/**
 * The composer does what the person sees before sending: names at the start, replies given up,
 * modes, files from anywhere.
 */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { ofKind } from "../support/events.ts";
import { until } from "../support/until.ts";
import { openGroup, type Setting, useSetting } from "./setting.ts";

describe("Workbench: composing", () => {
  let setting: Setting;

  useSetting((opened) => {
    setting = opened;
  });

  /** The latest message of the Group. */
  async function last(groupId: string, text: string) {
    return until(`"${text}" is there`, async () => {
      const { events } = await setting.owner.result("ledger_tail", {
        group_id: groupId,
        kinds: ["chat.message"],
      });
      return ofKind(events, "chat.message").find(({ data }) => data.text === text) ?? null;
    });
  }

  it("addresses the Actor whose name is typed at the start, and shows so before sending", async () => {
    const { groupId } = await setting.group("typed", ["lead", "coder"]);
    const { page } = await setting.window();
    await openGroup(page, "typed");
    await page.locator(".plan", { hasText: "lead" }).waitFor();
    await page.locator(".compose-text").pressSequentially("@coder hello");
    await page.locator(".chip", { hasText: "coder" }).waitFor();
    await page.locator(".plan", { hasText: /^coder / }).waitFor();
    await page.keyboard.press("Control+Enter");
    assert.deepEqual((await last(groupId, "@coder hello")).data.to, ["coder"]);
    await until("it was sent", async () => (await page.locator(".compose-text").inputValue()) === "");
    // A name that nobody has is told, and the message still goes where the last one went.
    await page.locator(".compose-text").pressSequentially("@codr hello");
    await page.locator(".plan", { hasText: "No Actor is named “codr”" }).waitFor();
    assert.deepEqual(await page.locator(".chip bdi").allInnerTexts(), ["coder"]);
  });

  it("sends what was typed before the Group and the files had arrived, to whom it names", async () => {
    const { groupId } = await setting.group("at once", ["lead", "coder"]);
    await setting.group("another");
    const { page } = await setting.window();
    await openGroup(page, "another");
    let answer = () => {};
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const late = ["", "/actors"].map((path) => new RegExp(`/groups/${groupId}${path}$`));
    for (const path of late) await page.route(path, (route) => answered.then(() => route.continue()));
    let arrive = () => {};
    const arrived = new Promise<void>((resolve) => (arrive = resolve));
    await page.route(/uploads\?/, (route) => arrived.then(() => route.continue()));
    await openGroup(page, "at once");
    await page.locator(".compose-text").fill("@coder hello");
    await page.keyboard.press("Control+Enter");
    await page.locator(".compose-bar", { hasText: "Sending…" }).waitFor();
    // It goes on when the person is in another Group.
    await openGroup(page, "another");
    await page.locator("input[type=file]").setInputFiles({
      name: "late.txt",
      mimeType: "text/plain",
      buffer: Buffer.from("late"),
    });
    await page.locator(".compose-text").fill("with a file");
    await page.locator(".compose-text").press("Control+Enter");
    answer();
    assert.deepEqual((await last(groupId, "@coder hello")).data.to, ["coder"]);
    arrive();
    await page.locator("svc-message", { hasText: "with a file" }).locator("svc-attachment").waitFor();
    await openGroup(page, "at once");
    await page.locator("svc-message", { hasText: "@coder hello" }).waitFor();
    await until("it was sent", async () => (await page.locator(".compose-text").inputValue()) === "");
  });

  it("takes files that are dropped anywhere on the page, and never leaves it for one", async () => {
    await setting.group("dropped");
    const { page } = await setting.window();
    await openGroup(page, "dropped");
    // What stands there while the feed loads is replaced by it.
    await page.locator(".feed-rows").waitFor();
    await page.locator(".feed-scroll").evaluate((element) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(["bytes"], "held.txt"));
      element.dispatchEvent(new DragEvent("dragover", { bubbles: true, cancelable: true, dataTransfer }));
    });
    await page.getByText("Drop files to attach them").waitFor();
    for (const [at, place] of [".feed-scroll", "svc-actors", ".group-head"].entries()) {
      const prevented = await page.locator(place).evaluate((element, name) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File(["bytes"], name, { type: "text/plain" }));
        const common = { bubbles: true, cancelable: true, dataTransfer: transfer };
        const over = new DragEvent("dragover", common);
        const drop = new DragEvent("drop", common);
        element.dispatchEvent(over);
        element.dispatchEvent(drop);
        return over.defaultPrevented && drop.defaultPrevented;
      }, `file-${at}.txt`);
      assert.ok(prevented, place);
      await page.locator(".upload", { hasText: `file-${at}.txt` }).waitFor();
    }
    await page.locator(".composer.dragging").waitFor({ state: "detached" });
    // While a dialog is open nothing is attached behind it, and the page stays.
    await page.keyboard.press("?");
    await page.locator(".compose-text").press("Escape");
    await page.keyboard.press("?");
    await page.locator("dialog[open]").waitFor();
    const kept = await page.locator("dialog[open]").evaluate((element) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(["bytes"], "behind.txt"));
      const drop = new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: transfer });
      element.dispatchEvent(drop);
      return drop.defaultPrevented;
    });
    assert.ok(kept);
    assert.equal(await page.locator(".upload").count(), 3);
  });

  it("gives a reply up without losing the recipient chosen before, and is Send again after Mail", async () => {
    const { groupId, actors } = await setting.group("given up", ["lead", "coder"]);
    await actors["lead"]!.result("send", { group_id: groupId, text: "a question", to: ["user"] });
    const { page } = await setting.window();
    await openGroup(page, "given up");
    await page.locator("svc-message", { hasText: "a question" }).waitFor();
    await page.locator(".compose-text").pressSequentially("@cod");
    await page.locator(".completion-item", { hasText: "coder" }).waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".chip", { hasText: "coder" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("r");
    await page.locator(".replying").waitFor();
    await page.locator(".chip").waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await page.locator(".replying").waitFor({ state: "detached" });
    await page.locator(".chip", { hasText: "coder" }).waitFor();
    const mode = page.locator(".compose-bar select");
    await mode.selectOption("mail");
    await page.locator(".compose-text").fill("read it later");
    await page.keyboard.press("Control+Enter");
    assert.deepEqual((await last(groupId, "read it later")).data.to, ["coder"]);
    await until("it was sent", async () => (await page.locator(".compose-text").inputValue()) === "");
    assert.equal(await mode.inputValue(), "send");
  });

  it("follows up on the person's own message to those who got it, and says whose message that is", async () => {
    const { groupId } = await setting.group("follow-up", ["lead", "coder"]);
    const first = await setting.owner.result("send", {
      group_id: groupId,
      text: "Please run the tests.",
      to: ["coder"],
    });
    const { page } = await setting.window();
    await openGroup(page, "follow-up");
    const message = page.locator("svc-message", { hasText: "Please run the tests." });
    await message.hover();
    await message.locator('[aria-label="Reply"]').click();
    await page.locator(".replying", { hasText: "Reply to your message" }).waitFor();
    await page.locator(".chip", { hasText: "coder" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".replying").waitFor({ state: "detached" });
    await page.locator(".chip").waitFor({ state: "detached" });
    await message.hover();
    await message.locator('[aria-label="Reply"]').click();
    await page.locator(".chip", { hasText: "coder" }).waitFor();
    await page.locator(".compose-text").fill("And the linter.");
    await page.keyboard.press("Control+Enter");
    const { data } = await last(groupId, "And the linter.");
    assert.deepEqual([data.to, data.reply_to], [["coder"], first.event.id]);
  });

  it("attaches text that is too long for a message as a file, and says so before it is sent", async () => {
    const { groupId } = await setting.group("long");
    const { page, context } = await setting.window();
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await openGroup(page, "long");
    const text = page.locator(".compose-text");
    const paste = async (pasted: string) => {
      await page.evaluate((copied) => navigator.clipboard.writeText(copied), pasted);
      await text.press("ControlOrMeta+v");
    };
    const files = page.locator(".upload .file-name");
    await paste("short");
    await paste(` ${"x".repeat(200_000)}`);
    await page.getByText("Too long for a message, so it’s attached as a file.").waitFor();
    assert.equal(await text.inputValue(), "short");
    // A text field takes seconds for them.
    await paste("a\n".repeat(5000));
    await until("there are two", async () => (await files.allTextContents()).length === 2);
    await text.press("ControlOrMeta+Enter");
    const { data } = await last(groupId, "short");
    assert.deepEqual(
      // In the order in which they have arrived.
      data.attachments.map(({ name, bytes }) => `${name}: ${bytes}`).sort(),
      ["Pasted text 2.txt: 10000", "Pasted text.txt: 200001"],
    );
    const send = page.locator(".compose-bar").getByRole("button", { name: "Send", exact: true });
    await text.fill("y".repeat(65 * 1024));
    await page.getByText("The text is 65 KiB; the limit is 64 KiB.").waitFor();
    assert.equal(await send.isDisabled(), true);
    await page.getByRole("button", { name: "Attach the text as a file" }).click();
    await files.waitFor();
    assert.equal(await text.inputValue(), "");
    await text.press("ControlOrMeta+Enter");
    await files.waitFor({ state: "detached" });
  });

  it("withdraws a message that nobody has got, and gives its text back", async () => {
    const { groupId, actors } = await setting.group("hasty", ["lead", "coder"]);
    const { page } = await setting.window();
    await openGroup(page, "hasty");
    const text = page.locator(".compose-text");
    await text.fill("@coder too soon");
    await text.press("ControlOrMeta+Enter");
    const message = page.locator("svc-message", { hasText: "too soon" });
    await message.getByRole("button", { name: "Withdraw" }).click();
    await message.locator(".delivery", { hasText: "withdrawn" }).waitFor();
    await until("the text is back", async () => (await text.inputValue()) === "@coder too soon");
    assert.deepEqual((await actors["coder"]!.result("inbox_read", { group_id: groupId })).messages, []);
    assert.equal(await message.getByRole("button", { name: "Withdraw" }).count(), 0);
    await text.fill("");
  });

  it("quotes, forwards, and makes an own message a draft again, after what is already written", async () => {
    const { groupId, actors } = await setting.group("rewritten", ["lead", "coder"]);
    await actors["lead"]!.result("send", { group_id: groupId, text: "one\n\ntwo", to: ["user"] });
    await setting.owner.result("send", {
      group_id: groupId,
      text: "Plese run it.",
      to: ["coder"],
      message_mode: "mail",
    });
    const { page } = await setting.window();
    await openGroup(page, "rewritten");
    const text = page.locator(".compose-text");
    const choose = async (message: string, item: string) => {
      const row = page.locator("svc-message", { hasText: message });
      await row.hover();
      await row.locator('[aria-label="More message actions"]').click();
      await page.locator("[role=menuitem]", { hasText: item }).click();
    };
    const holds = (expected: string) =>
      until(`the draft is ${expected}`, async () => (await text.inputValue()) === expected);
    await choose("Plese run it.", "Edit and send again");
    await holds("Plese run it.");
    await page.locator(".chip", { hasText: "coder" }).waitFor();
    await until(
      "it is Mail again",
      async () => (await page.locator(".compose-bar select").inputValue()) === "mail",
    );
    await text.fill("Please run it.");
    await page.keyboard.press("Control+Enter");
    const { data } = await last(groupId, "Please run it.");
    assert.deepEqual([data.to, data.message_mode], [["coder"], "mail"]);
    await holds("");
    await text.fill("Look:");
    await choose("two", "Quote");
    await holds("Look:\n\n> one\n>\n> two\n\n");
    await text.fill("");
    await choose("two", "Forward");
    await holds("lead wrote:\n\n> one\n>\n> two\n\n");
    await until("the text has the focus", () =>
      page.evaluate(() => document.activeElement?.matches(".compose-text") === true),
    );
  });

  it("shows the size of a draft's files again, in another browser too", async () => {
    const { groupId } = await setting.group("sizes");
    const { page } = await setting.window();
    await openGroup(page, "sizes");
    await page.locator("input[type=file]").setInputFiles({
      name: "measured.csv",
      mimeType: "text/csv",
      buffer: Buffer.alloc(12_345, "x"),
    });
    const sized = (of: Page) =>
      of.locator(".upload", { hasText: "measured.csv" }).filter({ hasText: "12.1 KiB" });
    await sized(page).waitFor();
    await until("the daemon keeps the draft", async () => {
      const { draft } = await setting.owner.result("draft_get", { group_id: groupId });
      return JSON.stringify(draft).includes("measured.csv");
    });
    const { page: other } = await setting.window();
    await openGroup(other, "sizes");
    await sized(other).waitFor();
    await page.reload();
    await sized(page).waitFor();
  });
});
