/**
 * Actors in the Workbench: adding, connecting, changing and removing them, and what is said before
 * one starts.
 */

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { ENVIRONMENT } from "../../shared/names.ts";
import { Peer } from "../mcp/peer.ts";
import { until } from "../support/until.ts";
import { violations } from "./axe.ts";
import { choose, closed, press } from "./menus.ts";
import { openGroup, type Setting, useSetting } from "./setting.ts";

describe("Workbench: Actors", () => {
  let setting: Setting;

  useSetting((opened) => {
    setting = opened;
  });

  /** A new folder for a Group. */
  const folder = (name: string) => {
    const path = join(`${setting.daemon.home}-projects`, name);
    mkdirSync(path, { recursive: true });
    return path;
  };

  it("adds an Actor, shows how to connect it, edits, stops and removes it", async () => {
    const { groupId } = await setting.group("actors", []);
    const { page } = await setting.window();
    await openGroup(page, "actors");
    await page.locator("svc-actors .column-head .icon-button").click();
    await page.locator("dialog[open] input").first().fill("writer");
    await press(page, "Add and connect");
    await page.locator("dialog[open] pre", { hasText: "SVC_ACTOR_FILE" }).waitFor();
    const shown = await page.locator("dialog[open]").textContent();
    assert.match(shown ?? "", /tokens.writer\.json/);
    await press(page, "Restart writer");
    await page.locator("dialog[open] .tone-good", { hasText: "The token has been renewed" }).waitFor();
    await press(page, "Done");
    await closed(page);
    const row = page.locator(".actor-row", { hasText: "writer" });
    await row.hover();
    await choose(page, ".actor-row", "Edit");
    await page.locator("dialog[open] input").first().fill("The writer");
    await press(page, "Save");
    await closed(page);
    await page.locator(".actor-row", { hasText: "The writer" }).hover();
    await choose(page, ".actor-row", "Stop");
    await until("the daemon has it so", async () => {
      const { actors } = await setting.owner.result("actor_list", { group_id: groupId });
      return actors[0]?.title === "The writer" && !actors[0].enabled;
    });
    await page.locator(".actor-row").hover();
    await choose(page, ".actor-row", "Remove");
    await page.locator("dialog[open] .danger-button", { hasText: "Remove The writer" }).click();
    await page.locator("svc-actors .empty").waitFor();
  });

  it("shows how each agent is connected, and when it is", async () => {
    const project = folder("own");
    const { group_id: groupId } = await setting.owner.result("attach", { path: project });
    await setting.owner.result("actor_add", { group_id: groupId, actor_id: "codex", runtime: "codex" });
    const { page } = await setting.window();
    await openGroup(page, "own");
    await choose(page, ".actor-row", "Connect an agent");
    const dialog = page.locator("dialog[open]");
    await dialog.locator(".state", { hasText: "Waiting for codex to connect" }).waitFor();
    const kind = dialog.locator("select");
    assert.equal(await kind.inputValue(), "codex");
    await dialog.locator("pre", { hasText: '[mcp_servers.svc]\ncommand = "svc"' }).waitFor();
    await kind.selectOption("claude");
    await dialog
      .locator(".command", { hasText: "claude mcp add --scope project svc -- svc mcp --as codex" })
      .waitFor();
    await dialog.locator(".command", { hasText: `SVC_HOME=${setting.daemon.home}` }).waitFor();
    await kind.selectOption("any");
    await dialog.locator("pre", { hasText: "SVC_ACTOR_FILE" }).waitFor();
    const agent = new Peer({ [ENVIRONMENT.home]: setting.daemon.home }, ["--as", "codex"], project);
    try {
      await agent.connect();
      await dialog.locator(".state.tone-good", { hasText: "codex is connected." }).waitFor();
    } finally {
      await agent.close();
    }
    await dialog.locator(".state", { hasText: "Waiting for codex" }).waitFor();
    await press(page, "Done");
    await closed(page);
  });

  it("says before starting that an agent isn't logged in and doesn't trust the folder, until it does", async () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-installed-"));
    try {
      writeFileSync(join(folder, "claude"), "#!/bin/sh\necho 2.1.330\n", { mode: 0o755 });
      const { group_id: groupId } = await setting.owner.result("attach", { path: folder });
      await setting.owner.result("actor_add", {
        group_id: groupId,
        actor_id: "coder",
        runtime: "claude",
        runner: "pty",
        env: { PATH: folder, HOME: folder, ANTHROPIC_API_KEY: "", CLAUDE_CONFIG_DIR: folder },
      });
      const { page } = await setting.window();
      await openGroup(page, basename(folder));
      const edit = async () => {
        await page.locator(".actor-row").first().hover();
        await choose(page, ".actor-row", "Edit");
        await page
          .locator("dialog[open] option", { hasText: "Claude Code 2.1.330" })
          .waitFor({ state: "attached" });
      };
      await edit();
      const missing = page.locator("dialog[open] .missing");
      await missing.filter({ hasText: "Claude Code isn’t logged in" }).waitFor();
      await missing
        .filter({ hasText: "doesn’t trust the Group’s folder yet. It asks in its terminal" })
        .waitFor();
      await page.locator("dialog[open] vscode-button", { hasText: "Save and start" }).waitFor();
      assert.deepEqual(await violations(page), []);
      await page.keyboard.press("Escape");
      await closed(page);
      const known = {
        oauthAccount: {},
        projects: { [realpathSync(folder)]: { hasTrustDialogAccepted: true } },
      };
      writeFileSync(join(folder, ".claude.json"), JSON.stringify(known));
      await edit();
      await missing.waitFor({ state: "detached" });
      await page.context().close();
      await setting.owner.result("group_delete", { group_id: groupId, confirm: groupId });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("says before starting that a program is missing, and changes the command where it is", async () => {
    const { group_id: groupId } = await setting.owner.result("attach", { path: folder("programs") });
    const { page } = await setting.window({ expected: /status of 409/ });
    await openGroup(page, "programs");
    await page.locator("svc-actors .column-head .icon-button").click();
    await page.locator("dialog[open] input").first().fill("runner");
    const selects = page.locator("dialog[open] select");
    await until(
      "what is installed is known",
      async () =>
        /not found here/.test((await selects.nth(1).textContent()) ?? "") ||
        (await selects.nth(0).inputValue()) === "external",
    );
    await selects.nth(0).selectOption("pty");
    await selects.nth(1).selectOption("gemini");
    await page.locator("dialog[open] .missing", { hasText: "npm install -g @google/gemini-cli" }).waitFor();
    await page.locator("dialog[open] vscode-button", { hasText: /^\s*Add\s*$/ }).waitFor();
    const command = page.locator("dialog[open] vscode-text-field[name=command] input");
    await command.fill("no-such-program --flag");
    await page.locator("dialog[open] .missing").waitFor({ state: "detached" });
    await press(page, "Add and start");
    // The Actor is there, so its fields are.
    await page.locator("dialog[open] h2", { hasText: "Edit runner" }).waitFor();
    await page
      .locator("dialog[open] .failure", { hasText: "the daemon’s machine has no program “no-such-program”" })
      .waitFor();
    assert.equal(await command.inputValue(), "no-such-program --flag");
    await command.fill(`sh -c "echo it 'works'; sleep 60"`);
    await press(page, "Save and start");
    await closed(page);
    const { actor } = await setting.owner.result("actor_show", { group_id: groupId, actor_id: "runner" });
    assert.deepEqual(actor.command, ["sh", "-c", "echo it 'works'; sleep 60"]);
    await page.locator("svc-terminal .xterm-rows > div", { hasText: "it works" }).first().waitFor();
    // From the row, too.
    await setting.owner.result("actor_stop", { group_id: groupId, actor_id: "runner" });
    await setting.owner.result("actor_update", {
      group_id: groupId,
      actor_id: "runner",
      command: ["gone-program"],
    });
    await page.locator("[data-actor=runner] .actor-state", { hasText: "stopped" }).waitFor();
    await page.locator("[data-actor=runner]").hover();
    await page.locator('[data-actor=runner] [aria-label="Start runner"]').click();
    await page.locator("dialog[open] .failure", { hasText: "“gone-program”" }).waitFor();
    await press(page, "Cancel");
  });

  it("sets and removes private environment by name, and shows no value", async () => {
    const { groupId } = await setting.group("secrets");
    const { page } = await setting.window();
    await openGroup(page, "secrets");
    const names = async () => {
      const { actors } = await setting.owner.result("actor_list", { group_id: groupId });
      return actors[0]?.private_env;
    };
    const edit = async () => {
      await page.locator(".actor-row").hover();
      await choose(page, ".actor-row", "Edit");
      await page.locator("svc-private-environment").waitFor();
    };
    const field = (at: number) => page.locator("svc-private-environment input").nth(at);
    await edit();
    await field(0).fill("API_KEY");
    await field(1).fill("s3cret-value");
    await press(page, "Set");
    await page.locator(".environment", { hasText: "will be set" }).waitFor();
    await field(0).fill("OTHER");
    await field(1).fill("0ther-value");
    await press(page, "Save");
    await closed(page);
    assert.deepEqual(await names(), ["API_KEY", "OTHER"]);
    await page.reload();
    await page.locator(".actor-row").waitFor();
    await edit();
    await page.locator(".environment", { hasText: "API_KEY" }).locator(".icon-button").click();
    await page.locator(".environment", { hasText: "will be removed" }).waitFor();
    assert.doesNotMatch(await page.content(), /s3cret-value|0ther-value/);
    await press(page, "Save");
    await closed(page);
    assert.deepEqual(await names(), ["OTHER"]);
  });
});
