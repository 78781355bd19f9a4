/** What agents ask: answered below the feed, where the Actor's row leads, and once. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { ofKind } from "../support/events.ts";
import { until } from "../support/until.ts";
import { violations } from "./axe.ts";
import { type FakeActor, startFakeClaude } from "./fake-claude.ts";
import { openGroup, type Setting, useSetting } from "./setting.ts";
import { checkTargets } from "./targets.ts";

const HOSTILE = "echo one\n<b onclick=x>two</b> \u202eevil\u202c \u001b[2K\rrm -rf /";

const QUESTIONS = [
  {
    header: "Colour",
    question: "Which colour?",
    multiSelect: false,
    options: [
      { label: "Red", description: "" },
      { label: "Blue", description: "like the sea" },
    ],
  },
  { header: "Name", question: "Which name?", multiSelect: false, options: [] },
];

describe("Workbench: questions of agents", () => {
  let setting: Setting;
  let ann: FakeActor;
  useSetting((opened) => {
    setting = opened;
  });
  before(async () => {
    const more = { answerable: true, command: HOSTILE };
    ann = await startFakeClaude(setting, "asking", "ann", more);
  });

  const asks = () =>
    setting.owner.result("send", { group_id: ann.group_id, text: "WAIT for a TOOL", to: ["ann"] });
  const inRow = (page: Page) => page.locator("[data-actor=ann] svc-question");
  const inFeed = (page: Page) => page.locator(".questions svc-question");
  const decisions = async () => {
    const { events } = await setting.owner.result("ledger_tail", { group_id: ann.group_id, limit: 200 });
    return ofKind(events, "actor.answer").map(({ data }) => data.decision);
  };

  it("show the exact command below the feed, where the row leads, and allow it once", async () => {
    const { page } = await setting.window();
    await openGroup(page, ann.title);
    await asks();
    const feed = inFeed(page);
    await feed.getByText("asks to use Bash once").waitFor();
    const shown = await feed.locator("pre").textContent();
    assert.equal(shown, "echo one\n<b onclick=x>two</b> \ufffdevil\ufffd \u241b[2K\u240drm -rf /");
    assert.equal(await page.locator("b[onclick]").count(), 0);
    await feed.locator("vscode-button", { hasText: "Open terminal" }).click();
    await page.getByRole("button", { name: "Maximize the terminals" }).click();
    await feed.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Answer ann" }).click();
    await feed.locator(".question:focus").waitFor();
    assert.equal(await inRow(page).count(), 0);
    assert.deepEqual(await violations(page), []);
    await feed.locator("vscode-button:not([disabled])", { hasText: "Allow once" }).click();
    await feed.waitFor({ state: "detached" });
    await page.locator(".system", { hasText: "You allowed ann to use Bash once" }).waitFor();
    assert.deepEqual(await decisions(), ["allow"]);
    await page.waitForFunction(() => document.activeElement?.closest("svc-composer") !== null);
    ann.endTool();
  });

  it("go from every window with the first answer, which a narrow one can give, too", async () => {
    await until("it is idle", async () => {
      const { actor } = await setting.owner.result("actor_show", {
        group_id: ann.group_id,
        actor_id: "ann",
      });
      return actor.presence.state === "idle";
    });
    const { page } = await setting.window({ width: 360, height: 740, touch: true });
    const { page: other } = await setting.window();
    // The narrow one shows the only Group that there is.
    await openGroup(other, ann.title);
    await asks();
    await inFeed(other).waitFor();
    await inFeed(page).locator("pre").waitFor();
    assert.deepEqual(await violations(page), []);
    await checkTargets(page, "a question");
    // Where the feed is on another page, the row leads there.
    await page.locator(".bottom-tab", { hasText: "Actors" }).click();
    await page.getByRole("button", { name: "Answer ann" }).click();
    await inFeed(page).locator(".question:focus").waitFor();
    const deny = (one: Page) => inFeed(one).locator("vscode-button:not([disabled])", { hasText: "Deny" });
    await deny(other).focus();
    await deny(page).click();
    await inFeed(page).waitFor({ state: "detached" });
    await inFeed(other).waitFor({ state: "detached" });
    // It was answered elsewhere.
    await other.waitForFunction(() => document.activeElement?.closest("svc-composer") !== null);
    await other.locator(".system", { hasText: "You refused ann the use of Bash" }).waitFor();
    assert.deepEqual(await decisions(), ["allow", "deny"]);
  });

  it("keep what was begun on every page, and over a reload, until they are answered", async () => {
    const bob = await startFakeClaude(setting, "choosing", "bob", { answerable: true, questions: QUESTIONS });
    const { page } = await setting.window({ touch: true });
    await openGroup(page, bob.title);
    const text = "CHOOSE and WAIT for a TOOL";
    await setting.owner.result("send", { group_id: bob.group_id, text, to: ["bob"] });
    // An option and one's own words exclude each other; what was written stays.
    const own = page.getByLabel("Your words: Which colour?");
    const isOwn = page.getByLabel("Answer in your words");
    await page.getByLabel("Red").check();
    await own.fill("Green");
    assert.deepEqual([await page.getByLabel("Red").isChecked(), await isOwn.isChecked()], [false, true]);
    await page.getByLabel("Blue").check();
    assert.deepEqual([await isOwn.isChecked(), await own.inputValue()], [false, "Green"]);
    await isOwn.check();
    assert.equal(await page.getByLabel("Blue").isChecked(), false);
    await page.getByLabel("Blue").check();
    const words = page.getByLabel("Your words: Which name?");
    await words.fill("Sea and ");
    await words.pressSequentially("sky ");
    const isKept = async () => {
      await words.waitFor();
      assert.deepEqual(
        [await page.getByLabel("Blue").isChecked(), await words.inputValue()],
        [true, "Sea and sky "],
      );
    };
    await isKept();
    await page.setViewportSize({ width: 360, height: 740 });
    await page.locator(".bottom-tab", { hasText: "Actors" }).click();
    await page.locator("svc-question").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Answer bob" }).click();
    await isKept();
    await checkTargets(page, "choices");
    assert.deepEqual(await violations(page), []);
    await page.reload();
    await page.locator(".questions svc-question").waitFor();
    await isKept();
    await page.locator("svc-question vscode-button:not([disabled])", { hasText: "Answer" }).click();
    await page.locator("svc-question").waitFor({ state: "detached" });
    await until("the agent is told", () => /"Blue".*"Sea and sky"/.test(bob.answered().at(-1) ?? ""));
    assert.doesNotMatch(bob.answered().at(-1) ?? "", /Green/);
    assert.doesNotMatch(await page.evaluate("JSON.stringify(sessionStorage)"), /sky/);
    bob.endTool();
  });

  it("aren't shown to a person whose token is for Groups only", async () => {
    const { token } = await setting.owner.result("access_token_create", {
      name: "guest",
      groups: [ann.group_id],
    });
    const ask = async (path: string) => {
      const url = `${await setting.origin()}/api/v1/groups/${ann.group_id}/${path}`;
      const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
      return { status: response.status, body: await response.text() };
    };
    assert.equal((await ask("questions")).status, 403);
    assert.doesNotMatch((await ask("actors")).body, /"questions"/);
  });
});
