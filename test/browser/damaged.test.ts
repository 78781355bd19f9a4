/** A Group whose history lost something: what its page says, and what the person may do there. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { boxOf } from "./at-rest.ts";
import { violations } from "./axe.ts";
import { type Setting, useSetting } from "./setting.ts";

describe("Workbench: a damaged history", () => {
  let setting: Setting;

  useSetting((opened) => {
    setting = opened;
  });

  it("is said on a line that fits a phone, is only read, and goes on when the person decides", async () => {
    const { groupId, actors } = await setting.group("kiln", ["lead"]);
    for (let number = 0; number < 5; number += 1)
      await actors["lead"]!.result("send", { group_id: groupId, text: `number ${number}`, to: ["user"] });
    await setting.daemon.kill();
    const path = join(setting.daemon.home, "groups", groupId, "ledger/active.jsonl");
    const lines = readFileSync(path, "utf8").split("\n");
    const lost = lines.findIndex((line) => line.includes("number 2"));
    writeFileSync(path, lines.with(lost, "garbage").join("\n"));
    await setting.daemon.start();

    // Nothing is recorded, what was read neither. While the history is opened anew, it is busy.
    const expected = /status of (?:409|503)/;
    const { page } = await setting.window({ width: 360, height: 740, expected });
    await page.locator(".group-title", { hasText: "kiln" }).waitFor();
    const line = page.locator(".damage-line");
    await line.filter({ hasText: "At least 1 event is missing" }).waitFor();
    for (const part of [line.locator("span").last(), line.locator("button").last()]) {
      const { x, width } = await boxOf(part);
      assert.ok(x >= 0 && x + width <= 360, `${x} ${width}`);
    }
    assert.ok((await boxOf(line)).height < 120, "the text has the width of the line");
    await page.locator(".plan", { hasText: "This Group can only be read" }).waitFor();
    assert.deepEqual(await violations(page), []);
    await line.getByRole("button", { name: "Go on without them" }).click();
    await line.getByRole("button", { name: "Go on", exact: true }).click();
    await line.waitFor({ state: "detached" });
    await page.locator(".system", { hasText: "went on without at least 1 event" }).waitFor();
    await page.locator(".compose-text").fill("On we go");
    await page.keyboard.press("Control+Enter");
    await page.locator("svc-message", { hasText: "On we go" }).waitFor();
  });
});
