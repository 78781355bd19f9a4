/**
 * The daemon dies and comes back: the page says so, stays readable, loses nothing, and goes on
 * without a gap.
 */

import assert from "node:assert/strict";
import { freePort } from "../../demo/free-port.ts";
import { verifies } from "../requirements.ts";
import { textOf } from "../support/events.ts";
import { until } from "../support/until.ts";
import { openGroup, type Setting, useSetting } from "./setting.ts";

describe("Workbench: offline", () => {
  let setting: Setting;

  useSetting(
    (opened) => {
      setting = opened;
    },
    { port: freePort },
  );

  it("reconnects by itself, with every message once and the draft in place", async () => {
    verifies("WEB-020");
    const { groupId } = await setting.group("outage");
    const send = (text: string) => setting.owner.result("send", { group_id: groupId, text, to: ["lead"] });
    await send("before 1");
    const { page } = await setting.window({ expected: /ERR_|WebSocket/ });
    await openGroup(page, "outage");
    await page.locator("svc-message", { hasText: "before 1" }).waitFor();
    for (let round = 1; round <= 3; round += 1) {
      await setting.daemon.kill();
      await page.locator(".offline").waitFor();
      await page.locator("svc-message", { hasText: "before 1" }).waitFor();
      await page.locator(".compose-text").fill(`typed while away ${round}`);
      await setting.daemon.start();
      for (let count = 1; count <= 20; count += 1) await send(`after ${round}.${count};`);
      await page.locator(".offline").waitFor({ state: "detached" });
      await page.locator("svc-message", { hasText: `after ${round}.20;` }).waitFor();
      assert.equal(await page.locator(".compose-text").inputValue(), `typed while away ${round}`);
    }
    const shown = (await page.locator("svc-message .markdown").allTextContents()).map((text) => text.trim());
    const expected = ["before 1"];
    for (let round = 1; round <= 3; round += 1) {
      for (let count = 1; count <= 20; count += 1) expected.push(`after ${round}.${count};`);
    }
    assert.deepEqual(shown, expected);
    await until("the draft is kept by the daemon", async () => {
      const { draft } = await setting.owner.result("draft_get", { group_id: groupId });
      return draft?.["text"] === "typed while away 3";
    });
  });

  it("sends by itself what was sent to a dead daemon, once it is back, also after a reload", async () => {
    const { groupId } = await setting.group("unsent");
    const texts = async () => {
      const { events } = await setting.owner.result("ledger_tail", {
        group_id: groupId,
        kinds: ["chat.message"],
      });
      return events.map(textOf);
    };
    const { page, context } = await setting.window({ expected: /ERR_|WebSocket/ });
    await openGroup(page, "unsent");
    await page.locator(".plan", { hasText: "lead" }).waitFor();
    const text = page.locator(".compose-text");
    await setting.daemon.kill();
    await page.locator(".offline").waitFor();
    await text.fill("sent into the void");
    await page.keyboard.press("Control+Enter");
    await page.locator(".unsent", { hasText: "as soon as it does" }).waitFor();
    await setting.daemon.start();
    await until("the draft was taken", async () => (await text.inputValue()) === "");
    await page.locator(".unsent").waitFor({ state: "detached" });
    assert.deepEqual(await texts(), ["sent into the void"]);

    // The tab is closed before it learns that the daemon is back.
    await setting.daemon.kill();
    await page.locator(".offline").waitFor();
    await text.fill("over a reload");
    await page.keyboard.press("Control+Enter");
    await page.locator(".unsent").waitFor();
    await page.close();
    await setting.daemon.start();
    const again = await context.newPage();
    await again.goto(await setting.origin());
    await again.locator("svc-message", { hasText: "over a reload" }).waitFor();
    await until("nothing is left", async () => (await again.locator(".compose-text").inputValue()) === "");
    assert.deepEqual(await texts(), ["sent into the void", "over a reload"]);

    await setting.daemon.kill();
    await again.locator(".offline").waitFor();
    await again.locator(".compose-text").fill("held back");
    await again.keyboard.press("Control+Enter");
    await again.locator(".unsent vscode-button", { hasText: "Don’t send" }).click();
    await setting.daemon.start();
    await again.locator(".offline").waitFor({ state: "detached" });
    await again.locator(".group-title", { hasText: "unsent" }).waitFor();
    assert.equal(await again.locator(".compose-text").inputValue(), "held back");
    assert.equal((await texts()).length, 2);
  });

  it("sends a message once though its answer got lost", async () => {
    const { groupId } = await setting.group("once");
    const { page } = await setting.window({ expected: /ERR_|WebSocket/ });
    await openGroup(page, "once");
    let lost = 0;
    await page.route("**/send", async (route) => {
      if (lost === 0) {
        await route.fetch();
        lost += 1;
        await route.abort("connectionreset");
      } else await route.continue();
    });
    await page.locator(".compose-text").fill("only once");
    await page.keyboard.press("Control+Enter");
    await until("the draft was taken", async () => (await page.locator(".compose-text").inputValue()) === "");
    // The ledger's stream may be faster than the answer.
    await until("the answer is lost", () => lost === 1);
    const { events } = await setting.owner.result("ledger_tail", {
      group_id: groupId,
      kinds: ["chat.message"],
    });
    assert.deepEqual(events.map(textOf), ["only once"]);
    await page.locator("svc-message", { hasText: "only once" }).waitFor();
    assert.equal(await page.locator("svc-message", { hasText: "only once" }).count(), 1);
  });

  it("keeps the key of a message over a reload between the lost answer and the next attempt", async () => {
    const { groupId } = await setting.group("reloaded");
    const { page } = await setting.window({ expected: /ERR_|WebSocket/ });
    await openGroup(page, "reloaded");
    const keys: unknown[] = [];
    await page.route("**/send", async (route) => {
      keys.push((route.request().postDataJSON() as { client_id: unknown }).client_id);
      if (keys.length === 1) await route.fetch();
      await route.abort("connectionreset");
    });
    // Nothing of the outcome is seen in this window: neither the answer nor the event.
    await page.routeWebSocket(/events\/ws/, () => {});
    await page.reload();
    await page.locator(".group-title", { hasText: "reloaded" }).waitFor();
    await page.locator(".plan", { hasText: "lead" }).waitFor();
    await page.locator(".compose-text").fill("once, whatever happens");
    await page.keyboard.press("Control+Enter");
    await until("its answer was lost", () => keys.length >= 1);
    // The window comes back before it can learn from the feed that the message was taken.
    await page.route("**/ledger/tail*", (route) => route.abort());
    await page.route("**/ledger/window*", (route) => route.abort());
    await page.reload();
    await until(
      "the draft is back",
      async () => (await page.locator(".compose-text").inputValue()) === "once, whatever happens",
    );
    await page.locator(".button:not([disabled])", { hasText: "Send" }).waitFor();
    const before = keys.length;
    await page.locator(".compose-text").focus();
    await page.keyboard.press("Control+Enter");
    await until("it was tried again", () => keys.length > before);
    assert.equal(new Set(keys).size, 1);
    // Now the feed may tell, and the message leaves the composer by itself.
    await page.unroute("**/ledger/tail*");
    await page.locator("svc-message", { hasText: "once, whatever happens" }).waitFor();
    await until(
      "it isn't a draft any more",
      async () => (await page.locator(".compose-text").inputValue()) === "",
    );
    const { events } = await setting.owner.result("ledger_tail", {
      group_id: groupId,
      kinds: ["chat.message"],
    });
    assert.equal(events.length, 1);
  });
});
