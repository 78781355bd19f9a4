/**
 * The composer answers what waits for the person, says so before sending, and keeps to whom it
 * writes.
 */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import type { DaemonClient } from "../../client/client.ts";
import { ofKind } from "../support/events.ts";
import { until } from "../support/until.ts";
import { takePicture } from "./at-rest.ts";
import { violations } from "./axe.ts";
import { openGroup, type Setting, useSetting } from "./setting.ts";

/** Folder for pictures of each step, for people who want to see them. */
const PICTURES = process.env["SVC_PICTURES"];
const THEMES = ["light", "dark", "hc-light", "hc-dark"] as const;

describe("Workbench: answering", function () {
  this.timeout(300_000);
  let setting: Setting;

  useSetting((opened) => {
    setting = opened;
  });

  const picture = async (page: Page, name: string): Promise<void> => {
    if (PICTURES === undefined) return;
    mkdirSync(PICTURES, { recursive: true });
    await takePicture(page, join(PICTURES, `${name}.png`));
  };
  const text = (page: Page) => page.locator(".compose-text");
  const replying = (page: Page) => page.locator(".replying");
  const offer = (page: Page, words: string) => page.locator(".offer", { hasText: words });
  const plan = (page: Page, words: string | RegExp) => page.locator(".plan", { hasText: words }).waitFor();
  const to = (page: Page, words: string) =>
    page.locator(".compose-box .chips", { hasText: words }).first().waitFor();
  /** Asks the person as an Actor. */
  const ask = async (actor: DaemonClient, groupId: string, words: string): Promise<string> => {
    const to = ["user"];
    const message = { group_id: groupId, text: words, to, message_mode: "request_reply" as const };
    return (await actor.result("send", message)).event.id;
  };
  /** The latest message with this text. */
  const sent = async (groupId: string, words: string) =>
    until(`"${words}" is there`, async () => {
      const { events } = await setting.owner.result("ledger_tail", {
        group_id: groupId,
        kinds: ["chat.message"],
      });
      return ofKind(events, "chat.message").findLast(({ data }) => data.text === words) ?? null;
    });
  const stateOf = async (groupId: string, id: string) => {
    const { statuses } = await setting.owner.result("ledger_statuses", {
      group_id: groupId,
      event_ids: [id],
    });
    return statuses[id]?.obligation_status["user"]?.state;
  };
  /** Sends what is typed, and waits until the composer is empty again. */
  const send = async (page: Page, words: string): Promise<void> => {
    await text(page).fill(words);
    await text(page).press("Control+Enter");
    await until("it was sent", async () => (await text(page).inputValue()) === "");
  };

  it("answers the request of the one it writes to, and says so before", async () => {
    const { groupId, actors } = await setting.group("obvious", ["lead", "coder"]);
    const request = await ask(actors["lead"]!, groupId, "Which port shall I use?");
    const { page } = await setting.window();
    await openGroup(page, "obvious");
    await replying(page).filter({ hasText: "Which port" }).waitFor();
    await to(page, "lead");
    await plan(page, "Answers the request. lead");
    assert.doesNotMatch(await page.locator(".plan").innerText(), /waits for you|afterwards/);
    await send(page, "8080, please.");
    assert.equal((await sent(groupId, "8080, please.")).data.reply_to, request);
    await until("it is settled", async () => (await stateOf(groupId, request)) === "replied");
    await page.locator(".message.owes").waitFor({ state: "detached" });
    await replying(page).waitFor({ state: "detached" });
  });

  it("sends a new message when the person wants one, and offers the request again", async () => {
    const { groupId, actors } = await setting.group("new instead", ["lead"]);
    const request = await ask(actors["lead"]!, groupId, "May I merge?");
    const { page } = await setting.window();
    await openGroup(page, "new instead");
    await replying(page).waitFor();
    await replying(page).getByRole("button", { name: "Don’t reply" }).click();
    await replying(page).waitFor({ state: "detached" });
    await offer(page, "May I merge?").waitFor();
    await text(page).fill("First something else");
    await plan(page, "A new message, not an answer.");
    await page.reload();
    await offer(page, "May I merge?").waitFor();
    await until("the draft is back", async () => (await text(page).inputValue()) !== "");
    assert.equal(await replying(page).count(), 0);
    await text(page).press("Control+Enter");
    assert.equal((await sent(groupId, "First something else")).data.reply_to, undefined);
    assert.equal(await stateOf(groupId, request), "open");
    // The next one may answer it.
    await replying(page).filter({ hasText: "May I merge?" }).waitFor();
    await text(page).fill("Not yet");
    await replying(page).getByRole("button", { name: "Don’t reply" }).click();
    await offer(page, "May I merge?").click();
    await plan(page, "Answers the request.");
    await text(page).press("Control+Enter");
    assert.equal((await sent(groupId, "Not yet")).data.reply_to, request);
  });

  it("never makes an answer of what was begun before the request came", async () => {
    const { groupId, actors } = await setting.group("begun before", ["lead"]);
    const { page } = await setting.window();
    await openGroup(page, "begun before");
    await to(page, "lead");
    await text(page).fill("Delete it");
    await ask(actors["lead"]!, groupId, "Shall I keep the old branch?");
    await offer(page, "keep the old branch").waitFor();
    assert.equal(await replying(page).count(), 0);
    await plan(page, "A new message, not an answer.");
    await text(page).press("Control+Enter");
    assert.equal((await sent(groupId, "Delete it")).data.reply_to, undefined);
  });

  it("offers several, and follows whom the message goes to", async () => {
    const { groupId, actors } = await setting.group("several", ["lead", "coder", "docs"]);
    await ask(actors["lead"]!, groupId, "The first of two");
    const second = await ask(actors["lead"]!, groupId, "The second of two");
    const third = await ask(actors["coder"]!, groupId, `# A \u202eheading ${"long ".repeat(60)}`);
    const { page } = await setting.window();
    await openGroup(page, "several");
    await replying(page).filter({ hasText: "The second of two" }).waitFor();
    await offer(page, "The first of two").waitFor();
    const shown = await offer(page, "heading").innerText();
    assert.ok(shown.length < 120 && !shown.includes("\u202e"), shown);
    await picture(page, "several");
    await text(page).pressSequentially("@coder ");
    await replying(page).filter({ hasText: "heading" }).waitFor();
    await text(page).fill("@docs hello");
    await replying(page).waitFor({ state: "detached" });
    assert.equal(await page.locator(".offer").count(), 3);
    await text(page).fill("@coder do it");
    await replying(page).filter({ hasText: "heading" }).waitFor();
    await text(page).press("Control+Enter");
    const { data } = await sent(groupId, "@coder do it");
    assert.deepEqual([data.to, data.reply_to], [["coder"], third]);
    assert.equal(await stateOf(groupId, second), "open");
    // To both at once it is no answer.
    await text(page).fill("@all listen");
    await replying(page).waitFor({ state: "detached" });
    await plan(page, "A new message, not an answer.");
  });

  it("settles a request with a file alone", async () => {
    const { groupId, actors } = await setting.group("file alone", ["lead"]);
    const request = await ask(actors["lead"]!, groupId, "Please send the log.");
    const { page } = await setting.window();
    await openGroup(page, "file alone");
    await replying(page).waitFor();
    const file = { name: "run.log", mimeType: "text/plain", buffer: Buffer.from("log") };
    await page.locator("input[type=file]").setInputFiles(file);
    await page.locator(".upload", { hasText: "run.log" }).waitFor();
    await plan(page, "Answers the request.");
    await text(page).press("Control+Enter");
    await until("it is settled", async () => (await stateOf(groupId, request)) === "replied");
  });

  it("is told when another window has answered or the request was withdrawn", async () => {
    const { groupId, actors } = await setting.group("elsewhere", ["lead"]);
    const first = await ask(actors["lead"]!, groupId, "Question one");
    const { page } = await setting.window();
    await openGroup(page, "elsewhere");
    await replying(page).filter({ hasText: "Question one" }).waitFor();
    await setting.owner.result("reply", { group_id: groupId, event_id: first, text: "Done." });
    await replying(page).waitFor({ state: "detached" });
    const second = await ask(actors["lead"]!, groupId, "Question two");
    await replying(page).filter({ hasText: "Question two" }).waitFor();
    await actors["lead"]!.result("reply_request_cancel", { group_id: groupId, event_id: second });
    await replying(page).waitFor({ state: "detached" });
    await plan(page, /^lead/);
  });

  it("replies by r to the request that waits, not to what agents say to each other", async () => {
    const { groupId, actors } = await setting.group("by key", ["lead", "coder"]);
    const request = await ask(actors["coder"]!, groupId, "Which database?");
    await actors["lead"]!.result("send", { group_id: groupId, text: "For your information", to: ["user"] });
    await actors["lead"]!.result("send", { group_id: groupId, text: "Between us", to: ["coder"] });
    const { page } = await setting.window();
    await openGroup(page, "by key");
    await page.locator("svc-message", { hasText: "Between us" }).waitFor();
    await offer(page, "Which database?").waitFor();
    await page.keyboard.press("r");
    await replying(page).filter({ hasText: "Which database?" }).waitFor();
    await page.keyboard.type("SQLite");
    await page.keyboard.press("Control+Enter");
    assert.equal((await sent(groupId, "SQLite")).data.reply_to, request);
    await until("it was sent", async () => (await text(page).inputValue()) === "");
    await text(page).evaluate((area) => area.blur());
    await page.keyboard.press("r");
    await replying(page).filter({ hasText: "For your information" }).waitFor();
  });

  it("goes on to write to whom the last message went, also after a reload and in another window", async () => {
    const { groupId } = await setting.group("stays", ["lead", "coder", "docs"]);
    const { page, context } = await setting.window();
    await openGroup(page, "stays");
    await to(page, "lead, the foreman");
    await send(page, "@coder one");
    await to(page, "coder");
    await send(page, "two");
    assert.deepEqual((await sent(groupId, "two")).data.to, ["coder"]);
    await page.reload();
    await to(page, "coder");
    assert.equal(await page.locator(".group-row", { hasText: "stays" }).locator(".draft-mark").count(), 0);
    const other = await context.newPage();
    await other.goto(page.url());
    await to(other, "coder");
    await send(other, "three");
    assert.deepEqual((await sent(groupId, "three")).data.to, ["coder"]);
    // A name takes its place instead of joining it.
    await text(other).fill("@docs four");
    await until("docs alone", async () => {
      const chips = await other.locator(".compose-box .chips").first().innerText();
      return chips.includes("docs") && !chips.includes("coder");
    });
    await send(other, "@docs four");
    assert.deepEqual((await sent(groupId, "@docs four")).data.to, ["docs"]);
    await other.getByRole("button", { name: "Remove docs" }).click();
    await to(other, "lead, the foreman");
  });

  it("doesn't go on to write to one who was removed, or to another of that name", async () => {
    const { groupId } = await setting.group("gone", ["lead", "coder"]);
    const { page } = await setting.window();
    await openGroup(page, "gone");
    await send(page, "@coder one");
    await to(page, "coder");
    await setting.owner.result("actor_update", { group_id: groupId, actor_id: "coder", title: "The coder" });
    await to(page, "The coder");
    await setting.owner.result("actor_remove", { group_id: groupId, actor_id: "coder" });
    await to(page, "lead, the foreman");
    await setting.owner.result("actor_add", { group_id: groupId, actor_id: "coder", runtime: "claude" });
    await send(page, "@coder two");
    await to(page, "coder");
    await page.goto("about:blank");
    await setting.owner.result("actor_remove", { group_id: groupId, actor_id: "coder" });
    await setting.owner.result("actor_add", { group_id: groupId, actor_id: "coder", runtime: "claude" });
    await page.goBack();
    await to(page, "lead, the foreman");
    // One who goes while a message to them is being written isn't replaced by anybody.
    await text(page).fill("@coder three");
    await to(page, "coder");
    await page.getByRole("button", { name: "Add a recipient" }).waitFor();
    await text(page).fill("");
    await text(page).pressSequentially("@cod");
    await page.keyboard.press("Enter");
    await text(page).fill("three");
    await setting.owner.result("actor_remove", { group_id: groupId, actor_id: "coder" });
    await plan(page, "coder is no longer in this Group. Choose who gets it.");
    await page.locator(".compose-bar .button[disabled]").waitFor();
  });

  for (const theme of THEMES)
    it(`is accessible and readable in ${theme}, wide and narrow`, async () => {
      const { groupId, actors } = await setting.group(`looks ${theme}`, ["lead", "coder"]);
      await ask(actors["lead"]!, groupId, "Which port shall I use for the preview, 8080 or 9090?");
      await ask(actors["coder"]!, groupId, "May I delete the branch `old-parser`? It was merged in March.");
      const { page } = await setting.window({ theme, width: 1440, height: 900 });
      await openGroup(page, `looks ${theme}`);
      await replying(page).waitFor();
      await offer(page, "old-parser").waitFor();
      await picture(page, `answering-${theme}`);
      assert.deepEqual(await violations(page, "svc-composer"), []);
      await page.setViewportSize({ width: 390, height: 844 });
      await page.getByRole("button", { name: /Feed/ }).click();
      await replying(page).waitFor();
      await picture(page, `answering-${theme}-narrow`);
      assert.deepEqual(await violations(page, "svc-composer"), []);
    });
});
