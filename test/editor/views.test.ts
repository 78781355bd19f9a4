/** The ticker and a Group's Direct connections in a real editor, over the extension host only. */

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Frame, Page } from "playwright-core";
import type { DaemonClient } from "../../client/client.ts";
import { freePort } from "../../demo/free-port.ts";
import { LIMITS } from "../../shared/limits.ts";
import { takePicture, wear } from "../browser/at-rest.ts";
import { violations } from "../browser/axe.ts";
import { type FakeActor, startFakeClaude } from "../browser/fake-claude.ts";
import { launchBrowser } from "../browser/setting.ts";
import { run } from "../cli/svc.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { textOf } from "../support/events.ts";
import { until } from "../support/until.ts";
import { Editor, type EditorWindow } from "./editor.ts";

/** Folder for pictures of each step, for people who want to see them. */
const PICTURES = process.env["SVC_PICTURES"];

/** What a system says, by the editor's word for the kind of theme that it then chooses. */
const THEMES = {
  "vscode-high-contrast-light": { colorScheme: "light", contrast: "more", forcedColors: "active" },
  "vscode-high-contrast": { colorScheme: "dark", contrast: "more", forcedColors: "active" },
  "vscode-light": { colorScheme: "light", contrast: "no-preference", forcedColors: "none" },
  "vscode-dark": { colorScheme: "dark", contrast: "no-preference", forcedColors: "none" },
} as const;

/** What its tool would run. */
const HOSTILE = "echo one\n[two](command:svc.stopDaemon) $(bell) <b>x</b> \u202eevil\u202c\nrm -rf /";
const QUESTIONS = [
  {
    header: "Colour",
    question: "Which colour?",
    multiSelect: false,
    options: [
      { label: "Red", description: "like a rose" },
      { label: "Blue", description: "like the sea" },
    ],
  },
];

describe("the ticker and Direct connections in the editor", function () {
  this.timeout(240_000);
  let browser: Browser;
  let daemon: DaemonProcess;
  let other: DaemonProcess;
  let editor: Editor;
  let window: EditorWindow;
  let page: Page;
  let owner: DaemonClient;
  let groupId: string;
  let actor: FakeActor;

  /** Looks at a webview in four themes. */
  const look = async (view: Frame, name: string): Promise<void> => {
    for (const [kind, media] of Object.entries(THEMES)) {
      await wear(page, media);
      await view.locator(`body[data-vscode-theme-kind="${kind}"]`).waitFor();
      await picture(`${name}-${kind}`);
      assert.deepEqual(await violations(view), [], kind);
    }
  };
  const picture = async (name: string): Promise<void> => {
    if (PICTURES === undefined) return;
    mkdirSync(PICTURES, { recursive: true });
    await takePicture(page, join(PICTURES, `${name}.png`));
  };
  const stateOf = async ({ group_id, actor_id: actorId }: FakeActor) => {
    const { actors } = await owner.result("actor_list", { group_id });
    return actors.find(({ id }) => id === actorId)?.presence.state;
  };

  before(async () => {
    browser = await launchBrowser({ whole: true });
    editor = await Editor.open(browser, { universal: true, settings: { "svc.notify.request": false } });
    [daemon, other] = await Promise.all([
      DaemonProcess.started({ home: editor.home }),
      DaemonProcess.started(),
    ]);
    owner = daemon.client();
    const folder = editor.workspace("shop");
    ({ group_id: groupId } = await owner.result("attach", { path: folder }));
    const more = { answerable: true, command: HOSTILE, questions: QUESTIONS };
    actor = await startFakeClaude({ owner }, "tools", "ann", more);
    await until("the agent is idle", async () => (await stateOf(actor)) === "idle");
    window = await editor.window(folder);
    ({ page } = window);
  });
  after(async () => {
    await editor?.close();
    await browser?.close();
    await Promise.all([daemon?.dispose(), other?.dispose()]);
  });
  afterEach(async function () {
    if (this.currentTest?.state === "failed") await picture("failed");
  });

  describe("the ticker", () => {
    let ticker: Frame;
    const row = () => ticker.locator(".ticker-actor", { hasText: "ann" });
    const item = () => ticker.locator(".ticker-item", { hasText: "Bash" });

    it("lists nobody who is idle, and shows what one who works does", async () => {
      await window.openSideBar();
      ticker = await window.documentWith("svc-ticker .ticker-empty");
      await owner.result("send", { group_id: actor.group_id, text: "use a TOOL", to: ["ann"] });
      await row().filter({ hasText: "working" }).waitFor();
      await item().filter({ hasText: "is running" }).waitFor();
      assert.equal(await stateOf(actor), "working");
      assert.equal(await ticker.locator(".ticker-actor").count(), 1);
      assert.match(await row().innerText(), /tools/);
      // axe doesn't see what is behind a page without a background.
      await ticker.locator("body").evaluate((body) => {
        body.style.background = "var(--vscode-sideBar-background)";
      });
      await look(ticker, "ticker");
    });

    it("keeps still for people who want less motion", async () => {
      const moving = () => ticker.locator("body").evaluate(() => document.getAnimations().length);
      await wear(page, { reducedMotion: "no-preference" });
      await until("the icon of work turns", async () => (await moving()) > 0);
      await wear(page, { reducedMotion: "reduce" });
      await until("nothing moves", async () => (await moving()) === 0);
      await row().filter({ hasText: "working" }).waitFor();
    });

    it("opens the Workbench to write to it", async () => {
      await row().click();
      const workbench = await window.documentWith('svc-workbench .group-title:has-text("tools")');
      await workbench.locator(".compose-box .chips", { hasText: "ann" }).waitFor();
      await picture("ticker-workbench");
      await window.command("View: Close All Editors");
    });

    it("shows that the tool is done, and then nobody", async () => {
      actor.endTool();
      await item().filter({ hasText: "is done" }).waitFor();
      await until("the agent is idle", async () => (await stateOf(actor)) === "idle");
      await row().waitFor({ state: "detached" });
      await ticker.locator(".ticker-empty").waitFor();
    });
  });

  describe("questions of agents", () => {
    const row = () => window.row("Needs You", "ann");
    const dialog = () => page.locator(".monaco-dialog-box");
    const ask = async (text: string): Promise<void> => {
      await until("the agent is idle", async () => (await stateOf(actor)) === "idle");
      await owner.result("send", { group_id: actor.group_id, text, to: ["ann"] });
    };
    const open = async () =>
      (await owner.result("actor_questions", { group_id: actor.group_id })).questions.length;
    /** Presses a button of the dialog, which takes no answer at first, until that `worked`. */
    const press = (label: string, worked: () => Promise<boolean>) => {
      const button = dialog().getByText(label, { exact: true });
      let shownAt: number | null = null;
      return until(`${label} is taken`, async () => {
        if (await worked()) return true;
        if (!(await button.isVisible())) shownAt = null;
        else {
          shownAt ??= performance.now();
          if (performance.now() - shownAt < 2 * LIMITS.questions.settlesMs) return false;
          shownAt = null;
          await button.click({ timeout: 2000 }).catch(() => {});
        }
        return false;
      });
    };
    const isDecided = async () => (await open()) === 0;
    /** What isn't drawn changes all the time. */
    const tooltipWhileGroupsChange = async () => {
      const seen = new AbortController();
      const changing = (async () => {
        for (let count = 1; !seen.signal.aborted; count += 1)
          await owner.result("group_update", { group_id: actor.group_id, topic: `Topic ${count}` });
      })();
      await row().locator(".label-name").hover();
      await page
        .locator(".monaco-hover:visible", { hasText: "since" })
        .waitFor()
        .finally(() => seen.abort());
      await changing;
    };

    it("are shown whole and as they are, and allowed once", async () => {
      await window.openSideBar();
      await ask("WAIT for a TOOL");
      await row().filter({ hasText: "asks to use Bash once: echo one" }).waitFor();
      await picture("question");
      await tooltipWhileGroupsChange();
      await row().click();
      await dialog().getByText("ann in “tools” asks to use Bash once").waitFor();
      const shown = await dialog().innerText();
      assert.ok(shown.includes(HOSTILE.replace(/[\u202e\u202c]/g, "\ufffd")), shown);
      assert.equal(await dialog().locator("b, .codicon-bell, .dialog-message-detail a").count(), 0);
      await picture("question-dialog");
      await press("Allow Once", isDecided);
      await row().waitFor({ state: "detached" });
      await until("the agent is told", () => /"allow"/.test(actor.answered().at(-1) ?? ""));
      actor.endTool();
    });

    it("are answered with one of the agent's choices", async () => {
      await ask("CHOOSE and WAIT for a TOOL");
      await row().filter({ hasText: "asks you: Which colour?" }).waitFor();
      await window.inline("Needs You", "ann", "Answer the Question");
      await dialog().getByText("Which colour?").waitFor();
      await press("Answer", () => page.locator(".quick-input-widget", { hasText: "Colour" }).isVisible());
      await picture("question-choices");
      await window.choose("Blue");
      await row().waitFor({ state: "detached" });
      await until("the agent is told", () => /"Blue"/.test(actor.answered().at(-1) ?? ""));
    });

    it("can be denied from the notification, which shows names as they are", async () => {
      const { group_id: group } = actor;
      const title = "[Stop](command:workbench.action.quit) $(bell) <b>x</b>";
      await owner.result("actor_update", { group_id: group, actor_id: "ann", title });
      const added = { group_id: group, actor_id: "lead", runtime: "claude", runner: "external" } as const;
      const { token_file: tokenFile } = await owner.result("actor_add", added);
      await window.openSideBar();
      await window.clearNotifications();
      await window.listNotifications();
      // Its kind is turned off.
      await daemon.actorClient(tokenFile).result("send", {
        group_id: group,
        text: "Which port?",
        to: ["user"],
        message_mode: "request_reply",
      });
      await window.row("Needs You", /lead.*asks you for a reply/).waitFor();
      await ask("WAIT for a TOOL");
      const notification = window.notification(/\[Stop\].*in “tools”/);
      await notification.waitFor();
      const said = await notification.innerText();
      const shown = "“[Stop] (command:workbench.action.quit) $ (bell) <b>x</b>” in “tools”";
      assert.ok(said.includes(`${shown}: `), said);
      assert.equal(
        await notification.locator(".notification-list-item-message a, b, .codicon-bell").count(),
        0,
      );
      await picture("question-notification");
      await window.row("Needs You", "[Stop]").filter({ hasText: "asks to use Bash once" }).waitFor();
      await notification.getByText("Answer", { exact: true }).click();
      await dialog().getByText(`${shown} asks to use Bash once`).waitFor();
      await press("Deny", isDecided);
      await until("the agent is told", () => /"deny"/.test(actor.answered().at(-1) ?? ""));
      assert.equal(await window.notifications("asks for your reply").count(), 0);
    });
  });

  describe("Direct connections", () => {
    let theirs: DaemonClient;
    let theirGroup: string;
    let connections: Frame;
    const card = () => connections.locator(".connection");
    const relations = async (client: DaemonClient, group_id: string) =>
      (await client.result("connect_direct_status", { group_id })).relations;

    before(async () => {
      theirs = other.client();
      ({ group_id: theirGroup } = await theirs.result("group_create", { title: "lab" }));
    });

    it("invites another machine, which compares the same six words", async () => {
      await window.command("svc: Connect a Group");
      connections = await window.documentWith("svc-connections-dialog [data-kind=direct]");
      await connections.locator("[data-kind=direct] vscode-button", { hasText: "Invite" }).click();
      await connections.locator(".listener-form").waitFor();
      const address = `127.0.0.1:${await freePort()}`;
      const fields = connections.locator(".listener-form input");
      await fields.nth(0).fill(address);
      await fields.nth(1).fill(address);
      await fields.nth(2).fill("office");
      await look(connections, "direct-listener");
      await connections.locator("vscode-button", { hasText: "Listen and invite" }).click();
      const shown = connections.locator(".invitation-text");
      await shown.waitFor();
      await connections.locator("svg.qr path").waitFor();
      assert.match(await connections.locator(".made").innerText(), /until \d+:\d\d/);
      const { listener } = await owner.result("connect_direct_status", {});
      assert.deepEqual(listener, { bind: address, address });
      await look(connections, "direct-invitation");

      const joined = await run(["direct", "join", "--group", theirGroup, "--yes"], {
        home: other.home,
        input: await shown.innerText(),
      });
      assert.equal(joined.code, 0, joined.err);
      await card().locator(".state", { hasText: "pending approval" }).waitFor();
      const words = await card().locator(".fingerprint li").allTextContents();
      assert.equal(words.length, 6);
      assert.match(joined.err, new RegExp(`^words +${words.join(" ")}$`, "m"));
      await look(connections, "direct-words");
      const [relation] = await relations(owner, groupId);
      assert.deepEqual([relation?.state, relation?.remote?.group_id], ["pending", theirGroup]);
      // It leads to where the words are compared.
      await window.openSideBar();
      await window.row("Needs You", /lab at .*compare the words/).click();
      await connections.locator("[data-page=list]").waitFor();
    });

    it("is online on both sides after the approval, and not before", async () => {
      await connections.locator("vscode-button", { hasText: "The words match" }).click();
      await card().locator(".state", { hasText: "online" }).waitFor();
      await window.openSideBar();
      await window.row("Connections", /lab.*online/).waitFor();
      for (const [client, group_id] of [
        [owner, groupId],
        [theirs, theirGroup],
      ] as const)
        await until("both are online", async () => (await relations(client, group_id))[0]?.online === true);
      await look(connections, "direct-online");
    });

    it("brings a message from there, and takes the answer back", async () => {
      await window.row("Connections", "lab").click();
      const workbench = await window.documentWith('svc-workbench .group-title:has-text("shop")');
      const { instance_id: instanceId } = await owner.result("daemon_status", {});
      await theirs.result("connect_send", {
        group_id: theirGroup,
        instance_id: instanceId,
        target_group_id: groupId,
        to: ["user"],
        text: "Can you hear us?",
        client_id: "question",
      });
      const message = workbench.locator("svc-message", { hasText: "Can you hear us?" });
      await message.locator(".from", { hasText: "lab at" }).waitFor();
      await message.hover();
      await message.locator("button[aria-label=Reply]").click();
      await workbench.locator("svc-composer textarea").fill("Loud and clear.");
      await workbench.locator("svc-composer textarea").press("Control+Enter");
      const answer = workbench.locator("svc-message", { hasText: "Loud and clear." });
      await answer.locator(".state", { hasText: "delivered" }).waitFor();
      const { events } = await theirs.result("ledger_tail", {
        group_id: theirGroup,
        kinds: ["chat.message"],
      });
      assert.deepEqual(events.map(textOf), ["Can you hear us?", "Loud and clear."]);
      await picture("direct-message");
    });
  });

  describe("the first steps", () => {
    it("are ticked that were done before anyone looked at them", async () => {
      await window.command("Welcome: Open Walkthrough...");
      await window.choose("Work with your agents");
      const steps = page.locator(".getting-started-step");
      await steps.nth(2).locator(".codicon-getting-started-step-checked").waitFor();
      const ticked = await steps.locator(".codicon-getting-started-step-checked").count();
      assert.deepEqual([ticked, await steps.count()], [3, 5]);
      await picture("walkthrough");
    });
  });

  describe("the account", () => {
    let account: Frame;

    it("has no violations that axe finds, in four themes", async () => {
      await window.command("svc: Show the Account");
      account = await window.documentWith("svc-account-dialog input, svc-account-dialog vscode-button");
      await look(account, "account");
    });

    it("says when the daemon is gone, as the other views do, and goes on when it is back", async () => {
      // The focus is in a field of the tab, and the editor gets its keys.
      await window.command("View: Move Editor into Right Group");
      await window.openSideBar();
      await window.command("svc: Show a Group's Connections");
      const views = [
        await window.documentWith("svc-account-dialog"),
        await window.documentWith("svc-connections-dialog"),
        await window.documentWith("svc-ticker"),
      ];
      await daemon.kill();
      for (const view of views) await view.locator(".offline").waitFor();
      await picture("offline");
      await daemon.start();
      for (const view of views) await view.locator(".offline").waitFor({ state: "detached" });
    });
  });
});
