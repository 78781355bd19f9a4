/**
 * A program that nobody said reads prompts, in the Workbench: a real login shell, into which no
 * message is typed.
 */

import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { until } from "../support/until.ts";
import { violations } from "./axe.ts";
import { openGroup, type Setting, useSetting } from "./setting.ts";

describe("Workbench: a program that isn't said to read prompts", () => {
  let setting: Setting;

  useSetting((opened) => {
    setting = opened;
  });

  it("gets nothing typed: messages to a shell wait in its Inbox, and everything says so", async () => {
    const project = `${setting.daemon.home}-project`;
    mkdirSync(project, { recursive: true });
    const { group_id: groupId } = await setting.owner.result("attach", { path: project });
    await setting.owner.result("actor_add", { group_id: groupId, actor_id: "lead", runtime: "claude" });
    const { page } = await setting.window({ reducedMotion: true });
    await openGroup(page, project.split("/").at(-1)!);
    await page.locator("svc-actors .column-head .icon-button").click();
    const open = page.locator("dialog[open]");
    await open.locator("input").first().fill("shell");
    await until(
      "what is installed is known",
      async () =>
        /not found here/.test((await open.locator("select").nth(1).textContent()) ?? "") ||
        (await open.locator("select").nth(0).inputValue()) === "external",
    );
    await open.locator("select").nth(0).selectOption("pty");
    const mark = open.locator("vscode-checkbox", { hasText: "Reads prompts" });
    await open.locator("select").nth(1).selectOption("claude");
    assert.equal(await mark.count(), 0);
    await open.locator("select").nth(1).selectOption("custom");
    await mark.click();
    await open.locator(".hint", { hasText: "A shell would run it as a command" }).waitFor();
    await mark.click();
    await open.locator(".hint", { hasText: "Messages wait in its Inbox" }).waitFor();
    assert.deepEqual(await violations(page), []);
    await open.locator("vscode-text-field[name=command] input").fill("bash -l");
    await open.locator("vscode-button", { hasText: "Add and start" }).click();
    await open.waitFor({ state: "detached" });
    const row = page.locator("[data-actor=shell] .actor-state");
    await row
      .filter({ hasText: "running" })
      .and(page.locator("[title*='Messages wait in its Inbox']"))
      .waitFor();
    // Nothing is said of messages while there is none.
    assert.doesNotMatch((await row.textContent()) ?? "", /Inbox/);

    const text = page.locator(".compose-text");
    await text.pressSequentially("@al");
    await page.locator(".completion-item", { hasText: "every enabled Actor except shell" }).waitFor();
    await text.fill("@shell x; touch RAN");
    await page
      .locator(".plan", { hasText: "Waits in the Inbox of shell. Nothing is typed there." })
      .waitFor();
    await text.press("Control+Enter");
    await page
      .locator("svc-message", { hasText: "touch RAN" })
      .locator(".state", { hasText: "waits in the Inbox" })
      .waitFor();
    await row.filter({ hasText: "1 in its Inbox" }).waitFor();
    assert.deepEqual(await violations(page), []);

    // What a person writes comes behind whatever was typed before.
    const terminal = page.locator("svc-terminal");
    await terminal.locator("vscode-button", { hasText: /Write here|Take over/ }).click();
    await terminal.locator(".terminal-state", { hasText: "writing here" }).waitFor();
    await terminal.locator(".xterm-helper-textarea").focus();
    await page.keyboard.type("echo $((6*7))-there; printf '%s\\n' *-ends\n");
    await terminal.locator(".xterm-rows > div", { hasText: "42-there" }).first().waitFor();
    await terminal.locator(".xterm-rows > div", { hasText: "*-ends" }).last().waitFor();
    const screen = (await terminal.locator(".xterm-rows").textContent()) ?? "";
    assert.doesNotMatch(screen, /svc\] message|touch/);
    assert.equal(existsSync(join(project, "RAN")), false);

    // The mark is kept where its owner gives it, and shown again.
    await setting.owner.result("actor_stop", { group_id: groupId, actor_id: "shell" });
    const edit = async () => {
      await page.locator("[data-actor=shell]").hover();
      await page.locator("[data-actor=shell] button[aria-haspopup=menu]").click();
      await page.locator(".menu-item", { hasText: "Edit" }).click();
      await open.locator("h2", { hasText: "Edit shell" }).waitFor();
    };
    await row.filter({ hasText: "stopped" }).waitFor();
    await edit();
    await mark.click();
    await open.locator("vscode-button", { hasText: /^\s*Save\s*$/ }).click();
    await open.waitFor({ state: "detached" });
    const { actor } = await setting.owner.result("actor_show", { group_id: groupId, actor_id: "shell" });
    assert.equal(actor.prompts, true);
    await row.filter({ hasNotText: "Inbox" }).waitFor();
    await edit();
    await until("it is shown as marked", () => mark.evaluate((box) => (box as HTMLInputElement).checked));
  });
});
