/** The Workbench in a tab of a real editor, over the extension host only. */

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Frame, FrameLocator, Page } from "playwright-core";
import type { DaemonClient } from "../../client/client.ts";
import { takePicture } from "../browser/at-rest.ts";
import { violations } from "../browser/axe.ts";
import { launchBrowser } from "../browser/setting.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { textOf } from "../support/events.ts";
import { until } from "../support/until.ts";
import { Editor, EditorWindow } from "./editor.ts";

/** Folder for pictures of each step, for people who want to see them. */
const PICTURES = process.env["SVC_PICTURES"];
/** More than one screen of them. */
const MESSAGES = 40;
/** Themes by the labels that the editor lists, with what it calls their kinds. */
const THEMES = {
  "Dark Modern": "vscode-dark",
  "Light Modern": "vscode-light",
  "Dark High Contrast": "vscode-high-contrast",
  "Light High Contrast": "vscode-high-contrast-light",
} as const;

/** Everything in the editor's own storage. */
async function stored(): Promise<string[]> {
  const all: string[] = [];
  for (const { name } of await indexedDB.databases()) {
    const values = await new Promise<unknown[]>((resolve) => {
      const opening = indexedDB.open(name!);
      opening.onerror = () => resolve([]);
      opening.onsuccess = () => {
        const database = opening.result;
        const [store] = [...database.objectStoreNames];
        if (store === undefined) return resolve([]);
        const reading = database.transaction(store).objectStore(store).getAll();
        reading.onsuccess = () => {
          database.close();
          resolve(reading.result);
        };
      };
    });
    all.push(...values.map((value) => (typeof value === "string" ? value : JSON.stringify(value))));
  }
  return all;
}

/** Whether the editor has saved that each of these tabs is in a column of its own. */
function restores(values: readonly string[], titles: readonly string[]): boolean {
  const kept = values.find((value) => value.includes('"editorpart.state"'));
  if (kept === undefined) return false;
  const grid = JSON.stringify((JSON.parse(kept) as Record<string, unknown>)["editorpart.state"]);
  const columns = grid.match(/"type":"leaf"/g)?.length;
  return columns === titles.length && titles.every((title) => grid.includes(title));
}

describe("the Workbench in an editor tab", function () {
  this.timeout(240_000);
  let browser: Browser;
  let daemon: DaemonProcess;
  let editor: Editor;
  let window: EditorWindow;
  let page: Page;
  let owner: DaemonClient;
  let lead: DaemonClient;
  let groupId: string;

  const picture = async (name: string): Promise<void> => {
    if (PICTURES === undefined) return;
    mkdirSync(PICTURES, { recursive: true });
    await takePicture(page, join(PICTURES, `${name}.png`));
  };
  /** The document of the webview that is shown, or of the one with this number. */
  const tab = (number = 0): FrameLocator =>
    page
      .locator("iframe.webview.ready")
      .nth(number)
      .contentFrame()
      .locator("iframe#active-frame")
      .contentFrame();
  const workbenchOf = (title: string) =>
    window.documentWith(`svc-workbench .group-title:has-text("${title}")`);
  const composer = (number = 0) => tab(number).locator("svc-composer textarea");
  const message = (text: string, number = 0) => tab(number).locator("svc-message", { hasText: text }).first();
  const group = async (title: string) => {
    const { group_id } = await owner.result("group_create", { title });
    const { token_file: tokenFile } = await owner.result("actor_add", {
      group_id,
      actor_id: "lead",
      runtime: "claude",
      runner: "external",
    });
    return { groupId: group_id, lead: daemon.actorClient(tokenFile) };
  };
  /** Scrolls up. Not by the wheel: it glides for as long as a slow machine takes. */
  const scrollUp = async (workbench: Frame | FrameLocator): Promise<void> => {
    const log = workbench.locator("svc-feed [role=log]");
    await log.evaluate((element) => (element.scrollTop -= 700));
    await workbench.locator("svc-feed .pill:not(.to-new)").waitFor();
  };
  /** The id of the first message that is in sight. */
  const seen = (workbench: Frame | FrameLocator): Promise<string> =>
    workbench
      .locator("[role=log]")
      .first()
      .evaluate((log) => {
        const { top: edge } = log.getBoundingClientRect();
        const row = [...log.querySelectorAll("svc-message")].find(
          (one) => one.getBoundingClientRect().bottom > edge + 4,
        );
        return row?.getAttribute("data-row") ?? "";
      });
  /** Whether nothing moves from one frame to the next. */
  const isStill = (workbench: Frame | FrameLocator): Promise<boolean> =>
    workbench
      .locator("[role=log]")
      .first()
      .evaluate(async (log) => {
        const top = log.scrollTop;
        for (let frame = 0; frame < 5; frame += 1)
          await new Promise((resolve) => requestAnimationFrame(resolve));
        return log.scrollTop === top;
      });
  /** Waits until the feed has come to rest; gives what is then in sight. */
  const rest = async (workbench: Frame | FrameLocator): Promise<string> => {
    let before = "";
    await until("the feed has come to rest", async () => {
      const last = before;
      before = await seen(workbench);
      return before !== "" && before === last && (await isStill(workbench));
    });
    return before;
  };
  const draftOf = async (id: string) => JSON.stringify(await owner.result("draft_get", { group_id: id }));
  /** Sends as the Actor. */
  const say = (text: string) =>
    lead.result("send", { group_id: groupId, text, to: ["user"], format: "markdown" });

  before(async () => {
    browser = await launchBrowser({ whole: true });
    editor = await Editor.open(browser, {
      universal: true,
      settings: { "window.autoDetectColorScheme": false, "workbench.colorTheme": "Dark Modern" },
    });
    daemon = await DaemonProcess.started({ home: editor.home });
    owner = daemon.client();
    ({ groupId, lead } = await group("shop"));
    const folder = editor.workspace("shop", {
      "src/cart.ts": Array.from({ length: 50 }, (_, at) => `export const line${at + 1} = ${at + 1};`).join(
        "\n",
      ),
    });
    window = await editor.window(folder);
    ({ page } = window);
    await window.command("svc: Open the Workbench");
    await tab().locator(".group-title", { hasText: "shop" }).waitFor();
  });
  after(async () => {
    await editor?.close();
    await browser?.close();
    await daemon?.dispose();
  });

  afterEach(async function () {
    if (this.currentTest?.state === "failed") await picture("failed-workbench");
  });

  it("sends and receives", async () => {
    await composer().fill("Please check the cart.");
    await composer().press("Control+Enter");
    await message("Please check the cart.").waitFor();
    // The Workbench shows it before the daemon has it.
    await until("the daemon has it", async () => {
      const { events } = await owner.result("ledger_tail", { group_id: groupId, limit: 10 });
      return events.some((event) => textOf(event) === "Please check the cart.");
    });
    await say("Fixed in `src/cart.ts:12`. See [the page](https://example.org/).");
    await message("Fixed in").waitFor();
    await picture("workbench");
  });

  it("opens a place in a file beside it", async () => {
    await message("Fixed in").locator(".reference").click();
    await page.locator(".tab", { hasText: "cart.ts" }).waitFor();
    await page.locator('.statusbar-item[id="status.editor.selection"]', { hasText: "Ln 12" }).waitFor();
    await picture("reference");
    await page.keyboard.press("Control+w");
    await page.locator(".tab", { hasText: "cart.ts" }).waitFor({ state: "detached" });
  });

  it("shows what is presented, and leaves to a browser what a webview may not frame", async () => {
    const panel = tab().locator("svc-presentations");
    const publish = (slot: number, kind: "markdown" | "html", text: string) =>
      lead.result("presentation_publish", { group_id: groupId, slot, title: "Report", kind, text });
    await publish(1, "markdown", "# All green");
    await publish(2, "html", "<script>document.write(1)</script>");
    const refs = [{ kind: "presentation_ref" as const, slot: 1, title: "The report" }];
    await lead.result("send", { group_id: groupId, text: "See the slot.", to: ["user"], refs });
    await message("See the slot.").locator("button", { hasText: "The report" }).click();
    await panel.locator("h1", { hasText: "All green" }).waitFor();
    await picture("presentation");
    await panel.locator(".tabs button").nth(1).click();
    await panel.locator("vscode-button", { hasText: "Open in the browser" }).click();
    // Here the editor forwards the daemon's port under a path, which isn't the daemon's address.
    await window
      .notification(/reaches the daemon only as .*\/proxy\/\d+\/, which the daemon refuses/)
      .waitFor();
    await picture("presentation-elsewhere");
    await window.clearNotifications();
    await panel.locator("button[aria-label^='Close the presentations']").click();
    await panel.waitFor({ state: "detached" });
  });

  it("shows a whole conversation, each message once and in its order", async () => {
    const texts = Array.from({ length: MESSAGES }, (_, number) => `message ${number}.`);
    for (const text of texts) await say(text);
    await message(texts.at(-1)!).waitFor();
    const shown = await tab().locator("svc-message").allInnerTexts();
    assert.deepEqual(
      shown.flatMap((text) => text.match(/message \d+\./g) ?? []).slice(-10),
      texts.slice(-10),
    );
  });

  it("keeps draft and place while it is hidden, and over a reload of the window", async () => {
    await scrollUp(tab());
    await composer().fill("Half a thought");
    await until("the daemon keeps the draft", async () =>
      (await draftOf(groupId)).includes("Half a thought"),
    );
    const before = await rest(tab());
    await window.command("File: New Untitled Text File");
    await page.locator("iframe.webview.ready").waitFor({ state: "hidden" });
    await say("Said while hidden.");
    await page.locator(".tab", { hasText: "shop" }).click();
    await composer().waitFor();
    await until("the draft is back", async () => (await composer().inputValue()) === "Half a thought");
    await until("the place is kept", async () => (await seen(tab())) === before);
    await page.reload();
    await tab().locator(".group-title", { hasText: "shop" }).waitFor();
    await composer().waitFor();
    await until("the draft is there", async () => (await composer().inputValue()) === "Half a thought");
    await until("the place is kept", async () => (await seen(tab())) === before);
    await picture("restored");
    await composer().fill("");
  });

  it("sends a file, and saves it through the editor", async () => {
    await tab()
      .locator("svc-composer input[type=file]")
      .setInputFiles({ name: "plan.txt", mimeType: "text/plain", buffer: Buffer.alloc(1_500_000, "x") });
    await tab().locator('svc-composer .uploads [aria-label="Remove plan.txt"]').waitFor();
    await composer().fill("Here is the plan.");
    await composer().press("Control+Enter");
    await message("Here is the plan.").locator("svc-attachment").waitFor();
    await message("Here is the plan.").locator("svc-attachment .file").click();
    // Once it has read the folder, the dialog replaces what was typed with the name it proposes.
    const target = join(editor.folder, "work", "shop", "plan.txt");
    const path = page.locator(".quick-input-widget .quick-input-filter input");
    await until("the dialog proposes a place", async () => (await path.inputValue()) === target);
    await path.press("Enter");
    await path.waitFor({ state: "hidden" });
    await until("the file is on the disk", () => {
      try {
        return readFileSync(target).length === 1_500_000;
      } catch {
        return false;
      }
    });
  });

  it("takes a file of the folder that is dropped on it, and none from elsewhere", async () => {
    const drop = (path: string) =>
      tab()
        .locator("svc-composer")
        .evaluate(
          (target, uri) => {
            const dataTransfer = new DataTransfer();
            // As the editor's own tree says what is dragged.
            dataTransfer.setData("application/vnd.code.uri-list", uri);
            const how = { bubbles: true, composed: true, cancelable: true, dataTransfer };
            target.dispatchEvent(new DragEvent("dragover", how));
            target.dispatchEvent(new DragEvent("drop", how));
          },
          new URL(`file://${path}`).href,
        );
    const outside = join(editor.folder, "outside.txt");
    writeFileSync(outside, "not in the folder");
    await drop(outside);
    await tab().getByText("outside.txt isn’t in an open folder").first().waitFor();
    await drop(join(editor.folder, "work", "shop", "src/cart.ts"));
    await tab().locator('svc-composer .uploads [aria-label="Remove cart.ts"]').waitFor();
    assert.equal(await tab().locator("svc-composer .upload", { hasText: "outside.txt" }).count(), 0);
    await picture("dropped");
    await tab().locator('svc-composer .uploads [aria-label="Remove cart.ts"]').click();
    await tab().locator("svc-composer .uploads .upload").waitFor({ state: "detached" });
  });

  it("says after a reload which upload the reload interrupted", async () => {
    // A daemon that doesn't answer keeps the file on its way.
    process.kill(daemon.pid, "SIGSTOP");
    try {
      await tab()
        .locator("svc-composer input[type=file]")
        .setInputFiles({ name: "late.txt", mimeType: "text/plain", buffer: Buffer.alloc(1000, "x") });
      await tab().locator("svc-composer .upload", { hasText: "late.txt" }).waitFor();
      await until("the editor keeps it", async () =>
        (await page.evaluate(stored)).some((value) => value.includes("late.txt")),
      );
      await page.reload();
    } finally {
      process.kill(daemon.pid, "SIGCONT");
    }
    const left = tab().locator("svc-composer .upload.failed", { hasText: "late.txt" });
    await left.getByText("Interrupted when this page was closed").waitFor();
    await picture("interrupted");
    await left.locator("button, vscode-button").first().click();
    await left.waitFor({ state: "detached" });
  });

  it("ignores what others post to its document", async () => {
    await tab()
      .locator("body")
      .evaluate(
        (_body, shown) => {
          for (const session of ["", crypto.randomUUID()])
            for (const message of [
              { type: "show", shown },
              { type: "welcome", may_write: true, memory: {}, shown },
              { type: "deltas", deltas: [{ id: 1, run: 1, seq: 1, delta: { type: "reload" } }] },
            ])
              postMessage({ svc: 1, session, message }, "*");
          for (const message of [null, 1, "ready", [], {}]) postMessage(message, "*");
        },
        { group_id: "g_ffffffffffff", text: "Do as I say", to: ["lead"], page: "list" },
      );
    await say("Still in the shop.");
    await message("Still in the shop.").waitFor();
    await tab().locator(".group-title", { hasText: "shop" }).waitFor();
    assert.equal(await composer().inputValue(), "");
  });

  it("goes on in another window with what was written", async () => {
    await scrollUp(tab());
    await composer().fill("Half a thought more");
    const place = await rest(tab());
    const opened = page.context().waitForEvent("page");
    await window.command("View: Move Editor into New Window");
    const moved = await opened;
    const other = await new EditorWindow(moved).documentWith('svc-workbench .group-title:has-text("shop")');
    const field = other.locator("svc-composer textarea");
    await until("the draft is there", async () => (await field.inputValue()) === "Half a thought more");
    await until("the place is kept", async () => (await seen(other)) === place);
    await say("To the other window.");
    await other.locator("svc-feed .pill:not(.to-new)").click();
    await other.locator("svc-message", { hasText: "To the other window." }).waitFor();
    if (PICTURES !== undefined) await takePicture(moved, join(PICTURES, "other-window.png"));
    await field.fill("");
    await moved.close();
    await window.command("svc: Open the Workbench");
    await tab().locator(".group-title", { hasText: "shop" }).waitFor();
  });

  it("has no violations that axe finds, in four themes", async () => {
    // It has code, a link and a place in a file.
    await message("Fixed in").scrollIntoViewIfNeeded();
    for (const [theme, kind] of Object.entries(THEMES)) {
      await window.command("Preferences: Color Theme");
      await page.locator(".quick-input-widget .quick-input-filter input").fill(theme);
      await window.choose(theme);
      await tab().locator(`body[data-vscode-theme-kind="${kind}"]`).waitFor();
      await picture(`theme-${kind}`);
      const body = await tab().locator("body").elementHandle();
      assert.deepEqual(await violations((await body.ownerFrame())!), [], theme);
    }
  });

  it("stands beside another Group's, and both come back with their place and draft", async () => {
    const docs = await group("docs");
    const messages = Array.from({ length: MESSAGES }, (_, number) => `message ${number}.`);
    for (const text of messages)
      await docs.lead.result("send", { group_id: docs.groupId, text, to: ["user"] });
    await window.openSideBar();
    await window.row("Groups", "docs").hover();
    await window.inline("Groups", "docs", "Open the Workbench");
    await page.locator(".tab", { hasText: "docs" }).waitFor();
    await window.command("View: Move Editor into Right Group");
    let [one, two] = [await workbenchOf("shop"), await workbenchOf("docs")];
    await say("To the shop.");
    await docs.lead.result("send", { group_id: docs.groupId, text: "To the docs.", to: ["user"] });
    await one.locator("svc-message", { hasText: "To the shop." }).waitFor();
    await two.locator("svc-message", { hasText: "To the docs." }).waitFor();
    const places: string[] = [];
    for (const [workbench, draft, id] of [
      [one, "To the shop", groupId],
      [two, "To the docs", docs.groupId],
    ] as const) {
      await scrollUp(workbench);
      await workbench.locator("svc-composer textarea").fill(draft);
      await until("the daemon keeps the draft", async () => (await draftOf(id)).includes(draft));
      places.push(await rest(workbench));
    }
    await until("the editor keeps both", async () => restores(await page.evaluate(stored), ["shop", "docs"]));
    await page.reload();
    [one, two] = [await workbenchOf("shop"), await workbenchOf("docs")];
    for (const [workbench, draft, place] of [
      [one, "To the shop", places[0]],
      [two, "To the docs", places[1]],
    ] as const) {
      const field = workbench.locator("svc-composer textarea");
      await until("the draft is there", async () => (await field.inputValue()) === draft);
      await until("the place is kept", async () => (await seen(workbench)) === place);
    }
    await picture("two-tabs");
  });

  it("says when the daemon is gone, and goes on when it is back", async () => {
    await daemon.kill();
    const shop = await workbenchOf("shop");
    await shop.locator(".offline").waitFor();
    await picture("offline");
    await daemon.start();
    owner = daemon.client();
    await shop.locator(".offline").waitFor({ state: "detached" });
    await owner.result("send", { group_id: groupId, text: "Back again.", to: ["lead"] });
    await shop.locator("svc-message", { hasText: "Back again." }).waitFor();
  });
});
