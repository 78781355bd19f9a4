/** A person's way through the extension, in a real editor with the packed VSIX. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { Browser } from "playwright-core";
import { DaemonClient } from "../../client/client.ts";
import { homePaths } from "../../client/paths.ts";
import { isAlive } from "../../client/process-state.ts";
import { PRODUCT_VERSION } from "../../shared/version.ts";
import { takePicture } from "../browser/at-rest.ts";
import { launchBrowser } from "../browser/setting.ts";
import { DIST, plainEnvironment } from "../support/daemon-process.ts";
import { textOf } from "../support/events.ts";
import { until } from "../support/until.ts";
import { agentFolder } from "./agent-folder.ts";
import { Editor, type EditorWindow } from "./editor.ts";
import { OLDER_VERSION, olderProgram } from "./older-program.ts";

/** Folder for pictures of each step, for people who want to see them. */
const PICTURES = process.env["SVC_PICTURES"];

/** What came from the agent's terminal so far. */
function typed(log: string): string {
  return readFileSync(log, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as { bytes?: string }).bytes ?? "")
    .join("");
}

describe("the extension in the editor", function () {
  this.timeout(240_000);
  let browser: Browser;
  let editor: Editor;
  let window: EditorWindow;
  /** Another window on the same folder. */
  let other: EditorWindow;
  let owner: DaemonClient;
  let folder: string;
  let agents: string;
  let log: string;

  const picture = async (name: string, { page } = window): Promise<void> => {
    if (PICTURES === undefined || page.isClosed()) return;
    mkdirSync(PICTURES, { recursive: true });
    await takePicture(page, join(PICTURES, `${name}.png`));
  };
  const groupId = async (): Promise<string> => (await owner.result("group_list", {})).groups[0]!.group_id;
  const actors = async () => (await owner.result("actor_list", { group_id: await groupId() })).actors;
  const state = async (id: string) => (await actors()).find((actor) => actor.id === id)?.presence.state;
  const status = () => window.page.locator('.statusbar-item[id="svc.svc.svc.status"]');

  const cart = () => window.page.locator(".monaco-editor .view-line", { hasText: "total" }).first();
  const openCart = async (): Promise<void> => {
    await window.openFile("cart.ts");
    await cart().waitFor();
  };
  const closeTerminals = async (): Promise<void> => {
    await window.command("Terminal: Kill All Terminals");
    await window.page.locator(".xterm-screen").first().waitFor({ state: "detached" });
  };
  const startDaemon = (svc: string): void => {
    const environment = plainEnvironment();
    const path = `${agents}${delimiter}${environment["PATH"] ?? ""}`;
    const options = { env: { ...environment, PATH: path, SVC_WEB_PORT: "0" } };
    execFileSync(process.execPath, [svc, "daemon", "start", "--home", editor.home], options);
  };
  const stopDaemon = async (): Promise<void> => {
    const { pid } = await owner.result("daemon_stop", {});
    await until("the daemon has ended", () => !isAlive(pid));
  };
  /** How often a daemon has started here. */
  const starts = () => readFileSync(homePaths(editor.home).daemon.log, "utf8").split('"started"').length - 1;
  /** The draft, once it has this. */
  const draftWith = (text: string) =>
    until(`the draft has ${text}`, async () => {
      const { draft } = await owner.result("draft_get", { group_id: await groupId() });
      return draft !== null && String(draft["text"]).includes(text) ? draft : null;
    });

  before(async () => {
    const place = mkdtempSync(join(tmpdir(), "svc-log-"));
    log = join(place, "agent");
    agents = agentFolder(log);
    browser = await launchBrowser({ whole: true });
    editor = await Editor.open(browser, {
      path: [agents],
      settings: { "files.autoSave": "off", "diffEditor.useInlineViewWhenSpaceIsLimited": false },
    });
    owner = new DaemonClient(editor.home, null);
    folder = editor.workspace("shop", {
      "src/cart.ts": "export const total = 1;\n",
      "broken.json": '{\n  "a":\n}\n',
    });
    window = await editor.window(folder);
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
    for (const path of [agents, join(log, "..")]) rmSync(path, { recursive: true, force: true });
  });
  afterEach(async function () {
    if (this.currentTest?.state === "failed") await picture("failed");
  });

  it("says that no daemon runs, and starts one that belongs to nobody's window", async () => {
    await window.openSideBar();
    const start = window.button("Groups", "Start the daemon");
    await start.waitFor();
    await status().waitFor();
    await picture("absent");
    await start.click();
    await window.button("Groups", "Attach this folder").waitFor();
    const { home, pid } = await owner.result("daemon_status", {});
    assert.equal(home, editor.home);
    const parent = () => /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    // What started it ends a moment after the daemon answers.
    await until("the daemon is nobody's child", () => parent() === "1");
    await picture("started");
  });

  it("attaches the folder and shows its Group", async () => {
    await window.button("Groups", "Attach this folder").click();
    await window.row("Groups", "shop").waitFor();
    // The Group is there before it has the folder.
    await until("the Group has the folder", async () => {
      const { scopes } = await owner.result("group_show", { group_id: await groupId() });
      return scopes.map(({ path }) => path).join() === folder;
    });
  });

  it("adds an agent that it found, and shows it at work", async () => {
    await window.inline("Groups", "shop", "Add an Actor");
    await window.choose("Claude");
    await window.enter("Its name in the conversation", "coder");
    await window.row("Groups", /coder.*idle/).waitFor();
    const [coder] = await actors();
    assert.deepEqual([coder?.id, coder?.runtime, coder?.runner], ["coder", "claude", "pty"]);
    await picture("actor");
  });

  it("sends it a message and shows that it waits, here and in Needs You", async () => {
    await window.listNotifications();
    await window.inline("Groups", "coder", "Send a Message");
    await window.enter("Enter sends it", "Please TOOL and WAIT");
    await window.row("Groups", /coder.*waits for permission/).waitFor();
    await window.row("Needs You", /coder.*permission/).waitFor();
    await until("the status bar counts it", async () => /1 waits/.test(await status().innerText()));
    const { events } = await owner.result("ledger_tail", {
      group_id: await groupId(),
      kinds: ["chat.message"],
    });
    assert.equal(textOf(events.at(-1)), "Please TOOL and WAIT");
    await until("the agent got it", () => readFileSync(log, "utf8").includes("Please TOOL and WAIT"));
    await window.listNotifications();
    await window.notification(/coder in “shop”: waits for permission to use Bash/).waitFor();
    await picture("waiting");
    await window.clearNotifications();
  });

  it("opens its terminal from there, types into it and detaches", async () => {
    await window.row("Needs You", "coder").click();
    await window.page.locator(".terminal-wrapper .xterm-screen").first().waitFor();
    await window.page.locator(".xterm-rows", { hasText: "fake agent" }).first().waitFor();
    await window.page.locator(".terminal-wrapper .xterm").first().click();
    await window.page.keyboard.type("hello");
    await until("the agent gets the keys", () => typed(log).endsWith("hello"));
    await picture("terminal");
    writeFileSync(`${log}.tool`, "");
    await window.row("Groups", /coder.*idle/).waitFor();
    await window.view("Needs You").getByText("Nothing waits for you.").waitFor();
    await closeTerminals();
    assert.equal(await state("coder"), "idle");
  });

  it("puts a selection into a draft to it, with where it is, and sends nothing", async () => {
    const { events: before } = await owner.result("ledger_tail", { group_id: await groupId() });
    await openCart();
    await cart().click();
    await window.selectAll();
    await window.command("svc: Send the Selection to an Actor");
    await window.choose("coder");
    const draft = await draftWith("total");
    assert.match(String(draft["text"]), /^src\/cart\.ts:1-2\n\n```typescript\nexport const total = 1;\n```/);
    assert.deepEqual(draft["to"], ["coder"]);
    const { events } = await owner.result("ledger_tail", { group_id: await groupId() });
    assert.equal(events.at(-1)?.id, before.at(-1)?.id);
    await picture("draft");
  });

  it("puts a file, and a problem in one, into a draft to it", async () => {
    await window.openFile("broken.json");
    await window.command("svc: Send This File to an Actor");
    await window.choose("coder");
    await draftWith("broken.json:1\n\n");
    await window.openFile("broken.json");
    await window.page.locator(".squiggly-error").first().waitFor({ state: "attached" });
    // Goes to the problem, where the editor offers what can be done about it.
    await window.command("Go to Next Problem in Files (Error, Warning, Info)");
    const offered = window.page.locator(".action-widget .monaco-list-row", { hasText: "to an Actor" });
    await until("it is offered", async () => {
      await window.command("Quick Fix...");
      return offered.waitFor({ timeout: 5000 }).then(
        () => true,
        () => false,
      );
    });
    await offered.click();
    await window.choose("coder");
    await draftWith("broken.json:3: Value expected");
    await picture("problem");
    await window.command("View: Close All Editors");
  });

  it("has the command svc in its terminals, and sends what is selected in one", async () => {
    const out = join(log, "../command");
    // A terminal that was opened before the command was there doesn't have it.
    await until("a terminal has the command", async () => {
      await window.command("Terminal: Create New Terminal");
      await window.page.locator(".xterm-screen").first().waitFor();
      await window.page.locator(".terminal-wrapper .xterm").first().click();
      await window.page.keyboard.type(
        `(svc --version; svc daemon status --json) > '${out}' 2>&1; echo "ended $?"\n`,
      );
      await window.page
        .locator(".xterm-rows", { hasText: /ended \d/ })
        .first()
        .waitFor();
      const said = readFileSync(out, "utf8");
      if (said.includes(PRODUCT_VERSION)) return true;
      await closeTerminals();
      return false;
    });
    assert.ok(readFileSync(out, "utf8").includes(editor.home), "it speaks to the same daemon");
    await window.page.evaluate(() => navigator.clipboard.writeText("the person's own"));
    await window.command("svc: Send the Terminal's Selection to an Actor");
    await window.notification("Select what you want to send in a terminal").waitFor();
    await window.clearNotifications();
    await window.page.locator(".terminal-wrapper .xterm").first().click();
    await window.command("Terminal: Select All");
    await window.command("svc: Send the Terminal's Selection to an Actor");
    await window.choose("coder");
    const { text } = await draftWith("ended 0");
    assert.match(String(text), /From the terminal \w+:\n\n```\n[^]*ended 0[^]*```/);
    await until(
      "the clipboard is the person's again",
      async () => (await window.page.evaluate(() => navigator.clipboard.readText())) === "the person's own",
    );
    await picture("terminal-selection");
    await closeTerminals();
  });

  it("says of a selection in a diff which side it is", async () => {
    await openCart();
    await cart().click();
    await window.page.keyboard.press("Control+Home");
    await window.page.keyboard.type("let more = 2;\n");
    await window.page.locator(".tab.dirty", { hasText: "cart.ts" }).waitFor();
    await window.command("File: Compare Active File with Saved");
    for (const [side, said] of [
      ["original", "src/cart.ts:1-2 (before the change)\n\n```typescript\nexport const total = 1;\n```"],
      [
        "modified",
        "src/cart.ts:1-3 (after the change)\n\n```typescript\nlet more = 2;\nexport const total = 1;\n```",
      ],
    ] as const) {
      const half = window.page.locator(`.monaco-diff-editor .editor.${side}`);
      await half.locator(".view-line", { hasText: "total" }).click();
      await window.page.keyboard.press("Control+A");
      await half.locator(".selected-text").first().waitFor({ state: "attached" });
      await window.command("svc: Send the Selection to an Actor");
      await window.choose("coder");
      await draftWith(said);
      await picture(`diff-${side}`);
      await window.page.locator(".tab", { hasText: "in file" }).click();
    }
    await openCart();
    await window.command("File: Revert File");
    await window.page.locator(".tab.dirty").first().waitFor({ state: "detached" });
    await window.command("View: Close All Editors");
  });

  it("shows names of others as they are: no icon, no link, no command", async () => {
    const hostile = "[Stop](command:workbench.action.quit) $(bell) <b>x</b>";
    await owner.result("actor_add", { group_id: await groupId(), actor_id: "mallory", title: hostile });
    const row = window.row("Groups", "[Stop]");
    await row.waitFor();
    assert.match(await row.innerText(), /\[Stop\] \(command:workbench\.action\.quit\) \$ \(bell\) <b>x<\/b>/);
    assert.equal(await row.locator(".codicon-bell, b, .label-name a, .label-description a").count(), 0);
    const hover = window.page.locator(".monaco-hover:visible", { hasText: "mallory" });
    // When the tree is drawn again under the pointer, the editor shows no tooltip.
    await until("the tooltip is shown", async () => {
      await window.page.locator(".statusbar").hover();
      await row.locator(".label-name").hover();
      return hover.waitFor({ timeout: 5000 }).then(
        () => true,
        () => false,
      );
    });
    assert.equal(await hover.locator("a, b, .codicon-bell").count(), 0);
    await picture("hostile");
    await owner.result("actor_remove", { group_id: await groupId(), actor_id: "mallory" });
    await row.waitFor({ state: "detached" });
  });

  it("says at once that the daemon was killed, and comes back by itself", async () => {
    const terminal = (text: string) => window.page.locator(".xterm-rows", { hasText: text }).first();
    await window.inline("Groups", "coder", "Open the Actor's Terminal");
    await terminal("fake agent").waitFor();
    const { pid } = await owner.result("daemon_status", {});
    process.kill(pid, "SIGKILL");
    await window.button("Groups", "Start the daemon").waitFor();
    await window.view("Needs You").getByText("The daemon isn't running.").waitFor();
    await window.view("Connections").getByText("The daemon isn't running.").waitFor();
    assert.match(await status().innerText(), /svc/);
    await terminal("connection to svc's daemon is lost").waitFor();
    await picture("killed");
    startDaemon(join(DIST, "svc.cjs"));
    await window.row("Groups", /coder/).waitFor();
    // It shows the screen anew.
    await terminal("connection to svc's daemon is lost").waitFor({ state: "detached" });
    await closeTerminals();
    assert.notEqual((await owner.result("daemon_status", {})).pid, pid);
    await picture("back");
  });

  it("answers a command while no daemon runs, by offering to start it", async () => {
    await owner.result("daemon_stop", {});
    await window.button("Groups", "Start the daemon").waitFor();
    await window.command("svc: Refresh");
    await window.listNotifications();
    const notification = window.notification("svc's daemon isn't running");
    await notification.waitFor();
    await notification.getByText("Start the Daemon").click();
    await window.row("Groups", /coder/).waitFor();
    assert.ok(existsSync(join(editor.home, "daemon", "address.json")));
  });

  it("says once which agents a restart of an older daemon ends, and upgrades it", async () => {
    const older = olderProgram(join(editor.folder, "older"));
    await window.page.context().close();
    await stopDaemon();
    startDaemon(older);
    await owner.result("actor_start", { group_id: await groupId(), actor_id: "coder" });
    await until("the agent runs", async () => (await state("coder")) === "idle");
    const { pid, version } = await owner.result("daemon_status", {});
    assert.equal(version, OLDER_VERSION);
    [window, other] = await Promise.all([editor.window(folder), editor.window(folder, { theme: "light" })]);
    const windows = [window, other];
    const notice = new RegExp(
      `has version ${OLDER_VERSION}, this extension ${PRODUCT_VERSION}\\. Restarting it ends coder in “shop”\\.`,
    );
    for (const one of windows) {
      await one.openSideBar();
      await one.row("Groups", /coder.*idle/).waitFor();
      await one.listNotifications();
    }
    const teller = await until("one window says it", async () => {
      for (const one of windows) if ((await one.notifications(notice).count()) > 0) return one;
      return null;
    });
    const silent = teller === window ? other : window;
    await picture("older", teller);
    await teller.notification(notice).getByText("Restart to Upgrade").click();
    const dialog = teller.page.locator(".monaco-dialog-box");
    await dialog.getByText("will end: coder in “shop”.").waitFor();
    assert.equal((await owner.result("daemon_status", {})).pid, pid, "it was restarted unasked");
    await picture("upgrade", teller);
    await dialog.getByText("Restart to Upgrade", { exact: true }).click();
    for (const one of windows) await one.row("Groups", /coder.*stopped/).waitFor();
    assert.equal((await owner.result("daemon_status", {})).version, PRODUCT_VERSION);
    assert.equal(isAlive(pid), false, "the older daemon still runs");
    assert.equal(await silent.notifications(notice).count(), 0, "both windows said it");
    await teller.clearNotifications();
  });

  it("keeps the state of two windows the same, in light and dark", async () => {
    await window.inline("Groups", "coder", "Start the Actor");
    await other.row("Groups", /coder.*idle/).waitFor();
    await window.row("Groups", /coder.*idle/).waitFor();
    await picture("light", other);
  });

  it("starts one daemon when two windows start it at once", async () => {
    await stopDaemon();
    const before = starts();
    const buttons = [window, other].map((one) => one.button("Groups", "Start the daemon"));
    await Promise.all(buttons.map((button) => button.waitFor()));
    await Promise.all(buttons.map((button) => button.click()));
    for (const one of [window, other]) {
      await one.row("Groups", /coder/).waitFor();
      await one.notifications("Starting svc's daemon").first().waitFor({ state: "detached" });
      await one.listNotifications();
      assert.equal(await one.page.locator(".notifications-center .codicon-error").count(), 0);
    }
    assert.equal(starts() - before, 1);
  });
});
