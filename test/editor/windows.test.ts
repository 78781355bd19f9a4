/** Windows on several folders, and on folders of strangers. */

import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import type { DaemonClient } from "../../client/client.ts";
import { takePicture } from "../browser/at-rest.ts";
import { type FakeActor, startFakeClaude } from "../browser/fake-claude.ts";
import { launchBrowser } from "../browser/setting.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { textOf } from "../support/events.ts";
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
    await takePicture(page, join(PICTURES, `${name}.png`));
  };
  const rows = (window: EditorWindow) => window.view("Groups").locator(".monaco-list-row");
  /** From the top: the editor keeps rows in another order than it shows them. */
  const labels = async (window: EditorWindow) => {
    const seen = await rows(window).evaluateAll((all) =>
      all.map((row) => ({
        place: Number(row.getAttribute("data-index")),
        label: row.querySelector<HTMLElement>(".label-name")?.innerText ?? "",
      })),
    );
    return seen.sort((one, other) => one.place - other.place).map(({ label }) => label);
  };

  before(async () => {
    browser = await launchBrowser({ whole: true });
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
      await window.clearNotifications();
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

  describe("two people, one of them with two windows", () => {
    let actor: FakeActor;
    let windows: EditorWindow[];
    const stateOf = async () => {
      const { actors } = await owner.result("actor_list", { group_id: actor.group_id });
      return actors[0]?.presence.state;
    };

    before(async () => {
      actor = await startFakeClaude({ owner }, "team");
      await until("the agent is idle", async () => (await stateOf()) === "idle");
      windows = [
        await others.window(others.workspace("desk")),
        await others.window(others.workspace("table")),
        await editor.window(editor.workspace("shop")),
      ];
      for (const window of windows) {
        await window.openSideBar();
        await window.row("Groups", "team").waitFor();
        await window.listNotifications();
      }
    });
    after(async () => {
      await Promise.all((windows ?? []).map(({ page }) => page.context().close()));
    });

    it("see the same, and one window says once that an agent waits", async () => {
      const said = (title: string) =>
        Promise.all(windows.map((window) => window.notifications(`${title} in`).count()));
      const sum = (counts: number[]) => counts.reduce((all, count) => all + count, 0);
      await owner.result("send", { group_id: actor.group_id, text: "WAIT for a TOOL", to: ["ann"] });
      for (const window of windows) await window.row("Needs You", /ann.*permission/).waitFor();
      await until("it is said", async () => sum(await said("ann")) > 0);
      // Another one waits. Once that is said, every window has had its turn with the first.
      const second = await startFakeClaude({ owner }, "crew", "bob");
      await owner.result("send", { group_id: second.group_id, text: "WAIT for a TOOL", to: ["bob"] });
      for (const window of windows) await window.row("Needs You", /bob.*permission/).waitFor();
      await until("it is said, too", async () => sum(await said("bob")) > 0);
      assert.deepEqual([sum(await said("ann")), sum(await said("bob"))], [1, 1]);
      await picture(windows[0]!.page, "told-once");
      for (const { endTool } of [actor, second]) endTool();
      for (const window of windows)
        await window.view("Needs You").getByText("Nothing waits for you.").waitFor();
    });

    it("read and write the same conversation", async () => {
      const [one, , two] = windows;
      const open = async (window: EditorWindow) => {
        await window.inline("Groups", "team", "Open the Workbench");
        return window.documentWith('svc-workbench .group-title:has-text("team")');
      };
      const [mine, theirs] = [await open(one!), await open(two!)];
      await mine.locator("svc-composer textarea").fill("Who has the key?");
      await mine.locator("svc-composer textarea").press("Control+Enter");
      await theirs.locator("svc-message", { hasText: "Who has the key?" }).waitFor();
      const { events } = await owner.result("ledger_tail", {
        group_id: actor.group_id,
        kinds: ["chat.message"],
      });
      assert.equal(events.filter((event) => textOf(event) === "Who has the key?").length, 1);
    });
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
      const list = window.view("Groups").locator(".monaco-list");
      // The Groups of the folders are read after the list, and may put rows above those in sight.
      const first = async () => {
        await list.press("Home");
        return (await labels(window)).slice(0, 2).join();
      };
      await until(async () => (await first()) === "docs,shop").catch(async () => {
        await picture(window.page, "failed-many-groups");
        assert.equal(await first(), "docs,shop", `of ${(await labels(window)).join()}`);
      });
      await list.press("End");
      await window.row("Groups", `Group ${GROUPS - 1}`).waitFor();
      // Which of the folders is the person's choice.
      await window.commandWith("svc: Attach a Folder", paths[1]!.path);
      await until("the Group of the folder is revealed", async () =>
        (await labels(window)).slice(0, 2).includes("shop"),
      );
      await window.command("svc: Send a Message");
      const choice = window.page.locator(".quick-input-widget", { hasText: "Which Group?" });
      await choice.locator(".monaco-list-row", { hasText: "Group 0" }).waitFor();
      assert.deepEqual((await choice.locator(".label-name").allInnerTexts()).slice(0, 2), ["docs", "shop"]);
      await picture(window.page, "many-groups");
      await window.page.keyboard.press("Escape");
      await window.page.context().close();
    });
  });
});
