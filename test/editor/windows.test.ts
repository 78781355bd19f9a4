/** Windows on several folders, and on folders of strangers. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import type { DaemonClient } from "../../client/client.ts";
import { launchBrowser } from "../browser/setting.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import { Editor, type EditorWindow } from "./editor.ts";

/** Folder for pictures of each step, for people who want to see them. */
const PICTURES = process.env["SVC_PICTURES"];
const GROUPS = 200;

describe("windows of several folders, and of strangers", function () {
  this.timeout(240_000);
  let browser: Browser;
  let daemon: DaemonProcess;
  let editor: Editor;
  let others: Editor;
  let owner: DaemonClient;

  const picture = async (page: Page, name: string): Promise<void> => {
    if (PICTURES === undefined) return;
    mkdirSync(PICTURES, { recursive: true });
    await page.screenshot({ path: join(PICTURES, `${name}.png`) });
  };
  const rows = (window: EditorWindow) => window.view("Groups").locator(".monaco-list-row");
  const labels = (window: EditorWindow) => rows(window).locator(".label-name").allInnerTexts();

  before(async () => {
    browser = await launchBrowser();
    const settings = { "security.workspace.trust.startupPrompt": "never" };
    editor = await Editor.open(browser, { universal: true, trust: true, settings });
    [others, daemon] = await Promise.all([
      Editor.open(browser, { universal: true, home: editor.home }),
      DaemonProcess.started({ home: editor.home }),
    ]);
    owner = daemon.client();
    for (const name of ["shop", "docs"]) await owner.result("attach", { path: editor.workspace(name) });
  });
  after(async () => {
    await editor?.close();
    await others?.close();
    await browser?.close();
    await daemon?.dispose();
  });

  it("neither runs nor uses what a stranger's folder names, and sends nothing from it", async () => {
    const ran = join(editor.folder, "ran");
    const program = join(editor.folder, "program.cjs");
    writeFileSync(program, `require("node:fs").writeFileSync(${JSON.stringify(ran)}, "");\n`);
    const settings = { "svc.command": program, "svc.home": join(editor.folder, "theirs") };
    const folder = editor.workspace("stranger", { ".vscode/settings.json": JSON.stringify(settings) });
    const window = await editor.window(folder);
    await window.openSideBar();
    // It looks into the person's own Home.
    await window.row("Groups", "docs").waitFor();
    for (const title of ["Restart the Daemon", "Attach a Folder", "Send a Message"]) {
      await window.command(`svc: ${title}`);
      await window.notification("Trust this workspace first").waitFor();
      await window.command("Notifications: Clear All Notifications");
    }
    await daemon.kill();
    await window.button("Groups", "Start the daemon").click();
    await window.notification("Trust this workspace first").waitFor();
    await picture(window.page, "untrusted");
    await daemon.start();
    owner = daemon.client();
    await window.row("Groups", "docs").waitFor();
    assert.equal(existsSync(ran), false);
    assert.equal(existsSync(settings["svc.home"]), false);
    // Once it is trusted, its Home counts: after a reload, as the window says.
    await window.command("Workspaces: Manage Workspace Trust");
    await window.page
      .locator(".workspace-trust-editor a.monaco-button", { hasText: "Trust" })
      .first()
      .click();
    await window.notification("svc.home has changed").getByText("Reload the Window").click();
    await window.openSideBar();
    await window.button("Groups", "Start the daemon").waitFor();
    assert.equal(existsSync(ran), false);
    await window.page.context().close();
  });

  describe("many Groups", () => {
    it("shows the Groups of all open folders first, and 200 others below", async () => {
      for (let number = 0; number < GROUPS; number += 1)
        await owner.result("group_create", { title: `Group ${number}` });
      const paths = ["docs", "shop"].map((name) => ({ path: editor.workspace(name) }));
      const file = join(editor.folder, "both.code-workspace");
      writeFileSync(file, JSON.stringify({ folders: paths }));
      const window = await others.window(file);
      await window.openSideBar();
      await window.row("Groups", "Group 1").waitFor();
      assert.deepEqual((await labels(window)).slice(0, 3), ["docs", "shop", "Group 0"]);
      await window.view("Groups").locator(".monaco-list").focus();
      await window.page.keyboard.press("End");
      await window.row("Groups", `Group ${GROUPS - 1}`).waitFor();
      // Which of the folders is the person's choice.
      await window.command("svc: Attach a Folder");
      await window.choose(paths[1]!.path);
      await until("the Group of the folder is revealed", async () =>
        (await labels(window)).slice(0, 2).includes("shop"),
      );
      await window.command("svc: Send a Message");
      const choice = window.page.locator(".quick-input-widget", { hasText: "Which Group?" });
      await choice.locator(".monaco-list-row", { hasText: "Group 0" }).waitFor();
      assert.deepEqual((await choice.locator(".label-name").allInnerTexts()).slice(0, 3), [
        "docs",
        "shop",
        "Group 0",
      ]);
      await picture(window.page, "many-groups");
      await window.page.keyboard.press("Escape");
      await window.page.context().close();
    });
  });
});
