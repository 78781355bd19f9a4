/** The editor's own agent, and agents that a person connects, in a real editor. */

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { DaemonClient } from "../../client/client.ts";
import { takePicture } from "../browser/at-rest.ts";
import { launchBrowser } from "../browser/setting.ts";
import { SVC } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import { Editor, type EditorWindow } from "./editor.ts";

/** Folder for pictures of each step, for people who want to see them. */
const PICTURES = process.env["SVC_PICTURES"];

const SERVERS = `{
  // Servers of the team
  "mcpServers": {
    "docs": { "command": "docs" } // keep
  }
}
`;

describe("agents that a person connects, in the editor", function () {
  this.timeout(240_000);
  let browser: Browser;
  let editor: Editor;
  let window: EditorWindow;
  let owner: DaemonClient;
  let folder: string;
  let bin: string;
  let groupId: string;

  const picture = async (name: string): Promise<void> => {
    if (PICTURES === undefined) return;
    mkdirSync(PICTURES, { recursive: true });
    await takePicture(window.page, join(PICTURES, `${name}.png`));
  };
  const actors = async () => (await owner.result("actor_list", { group_id: groupId })).actors;
  const actor = async (id: string) => (await actors()).find((one) => one.id === id);

  before(async () => {
    bin = mkdtempSync(join(tmpdir(), "svc-bin-"));
    const svc = join(bin, "svc");
    writeFileSync(svc, `#!/bin/sh\nexec '${process.execPath}' '${SVC}' "$@"\n`);
    chmodSync(svc, 0o755);
    browser = await launchBrowser({ whole: true });
    editor = await Editor.open(browser, {
      path: [bin],
      settings: { "chat.disableAIFeatures": false, "chat.mcp.access": "all" },
    });
    owner = new DaemonClient(editor.home, null);
    folder = editor.workspace("shop", { ".mcp.json": SERVERS });
    window = await editor.window(folder);
    await window.openSideBar();
    await window.button("Groups", "Start the daemon").click();
    await window.button("Groups", "Attach this folder").click();
    await window.row("Groups", "shop").waitFor();
    groupId = (await owner.result("group_list", {})).groups[0]!.group_id;
  });
  after(async () => {
    try {
      await owner.call("daemon_stop", {});
    } catch {
      // None is running.
    }
    owner.close();
    await editor?.close();
    await browser?.close();
    rmSync(bin, { recursive: true, force: true });
  });
  afterEach(async function () {
    if (this.currentTest?.state === "failed") await picture("failed");
  });

  it("shows the change of a configuration, writes it when told to, and takes it back", async () => {
    const path = join(folder, ".mcp.json");
    await window.commandWith("svc: Connect an Agent", "Claude Code");
    await window.enter("Its name in the conversation", "claude");
    await window.page.locator(".monaco-diff-editor").waitFor();
    await picture("diff");
    assert.equal(readFileSync(path, "utf8"), SERVERS, "nothing is written before the person wants it");
    assert.equal(await actor("claude"), undefined);
    await window.page.locator('.editor-actions a[aria-label^="Write the Change"]').click();
    await window.notification(/Claude Code can join as claude/).waitFor();
    const written = readFileSync(path, "utf8");
    assert.ok(written.includes('"docs": { "command": "docs" } // keep'), written);
    assert.ok(!written.includes(editor.home) && !written.includes("token"));
    assert.match(
      written.replaceAll(/\s+/g, ""),
      /"svc":\{"command":"svc","args":\["mcp","--as","claude"\]\}/,
    );
    assert.equal((await actor("claude"))?.runner, "external");
    await picture("written");
    await window.listNotifications();
    await window
      .notification(/can join as claude/)
      .getByText("Undo")
      .click();
    await window.notification(/as it was before/).waitFor();
    assert.equal(readFileSync(path, "utf8"), SERVERS);
    assert.equal(await actor("claude"), undefined);
    await window.clearNotifications();
  });

  it("takes an agent's entry out again, and leaves the rest of the file", async () => {
    const path = join(folder, ".mcp.json");
    const entry = '"svc": { "command": "svc", "args": ["mcp", "--as", "claude"] },';
    writeFileSync(path, SERVERS.replace('"docs":', `${entry}\n    "docs":`));
    await window.commandWith("svc: Disconnect an Agent", "Claude Code");
    await window.page.locator(".monaco-diff-editor").waitFor();
    assert.ok(readFileSync(path, "utf8").includes(entry), "nothing is written before the person wants it");
    await window.page.locator('.editor-actions a[aria-label^="Write the Change"]').click();
    await window.notification(/Claude Code no longer finds svc/).waitFor();
    const left = readFileSync(path, "utf8");
    assert.ok(left.includes('"docs": { "command": "docs" } // keep'), left);
    assert.ok(!left.includes('"svc"'), left);
  });

  it("opens a Group from a link", async () => {
    await window.openUrl(`vscode://svc.svc/group/${groupId}`);
    await window.documentWith('svc-workbench .group-title:has-text("shop")');
  });

  it("opens the form for an invitation from a link, and nothing else", async () => {
    await window.openUrl("vscode://svc.svc/join#svc-direct:not-one");
    const form = await window.documentWith("textarea.invitation-field");
    const field = form.locator("textarea.invitation-field");
    await until("it is filled in", async () => (await field.inputValue()) === "svc-direct:not-one");
    await picture("invitation");
    assert.deepEqual((await owner.result("connect_direct_status", {})).relations, []);
    await window.openUrl("vscode://svc.svc/join#something%20else");
    await window.notification(/doesn't know this link/).waitFor();
    await window.clearNotifications();
    await window.command("View: Close All Editors");
  });

  it("lists a server for the folder's Group, and starts it as an Actor of its own", async () => {
    await window.command("MCP: List Servers");
    await window.page.locator(".quick-input-list .monaco-list-row", { hasText: "svc: shop" }).waitFor();
    await picture("servers");
    await window.choose("svc: shop");
    await window.choose("Start Server");
    await picture("start");
    const dialog = window.page.locator(".monaco-dialog-box");
    await dialog.getByText("Add the Actor").click();
    await until(
      "its agent is connected",
      async () => (await actor("editor"))?.presence.reason === "connected",
      60_000,
    );
    await picture("connected");
  });
});
