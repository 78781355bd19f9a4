/**
 * What Actors do, as it reaches the Workbench: over the Group's stream, over the global one, and
 * without either. And over nothing else.
 */

import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page, Request } from "playwright-core";
import type { StreamMessage } from "../../shared/streams.ts";
import { verifies } from "../requirements.ts";
import { until } from "../support/until.ts";
import { measure } from "./at-rest.ts";
import { startFakeClaude } from "./fake-claude.ts";
import { openGroup, Setting, useSetting } from "./setting.ts";

const PATIENCE = { timeout: 60_000 };
/** Longer than any poll takes to come. */
const A_MINUTE = 60_000;
/** And shorter than the silence after which the page doubts its stream. */
const TWO_POLLS = 12_000;
const NOTIFIERS = ["notify-send", "dbus-send", "gdbus", "busctl", "kdialog", "zenity", "osascript", "wall"];

/** Notes what the page would show outside of itself. */
const RECORD = `globalThis.told = [];
globalThis.Notification = class {
  static permission = "granted";
  static requestPermission() { told.push("asked for permission"); return Promise.resolve("granted"); }
  constructor(title) { told.push(title); }
};
if (globalThis.ServiceWorkerRegistration)
  ServiceWorkerRegistration.prototype.showNotification = (title) => Promise.resolve(told.push(title));`;

describe("Workbench: what Actors do", function () {
  this.timeout(180_000);
  let setting: Setting;

  useSetting((opened) => {
    setting = opened;
  });

  const word = (page: Page, text: string) =>
    page.locator("[data-actor=ann] .actor-word", { hasText: text }).waitFor(PATIENCE);

  /** Lets through what `passes` of what the daemon says over its streams. */
  const filtered = (passes: (message: StreamMessage) => boolean) => (page: Page) =>
    page.routeWebSocket(/events\/ws/, (socket) => {
      const server = socket.connectToServer();
      socket.onMessage((data) => server.send(data));
      server.onMessage((data) => {
        if (passes(JSON.parse(String(data)) as StreamMessage)) socket.send(data);
      });
    });

  /** Requests for Groups and Actors, without what belongs to the composer. */
  function lists(page: Page) {
    const asked: string[] = [];
    const open = new Set<Request>();
    page.on("request", (request) => {
      const path = new URL(request.url()).pathname.replace(/.*\/api\/v1/, "");
      if (request.method() !== "GET" || !/^\/groups(\/[^/]+(\/actors)?)?$/.test(path)) return;
      asked.push(path);
      open.add(request);
    });
    for (const event of ["requestfinished", "requestfailed"] as const)
      page.on(event as "requestfinished", (request) => open.delete(request));
    /** What was asked for is answered, and the answer has been used. */
    const settled = () =>
      until("the page is quiet", async () => {
        const before = asked.length;
        await page.evaluate(() => fetch("/api/v1/web-access/session").then((answer) => answer.text()));
        return open.size === 0 && asked.length === before;
      });
    return { asked, settled };
  }

  it("follows the ledger of the open Group without asking for anything", async () => {
    verifies("WRK-011");
    const actor = await startFakeClaude(setting, "by-ledger");
    let isFollowing = false;
    const prepare = filtered(({ type }) => {
      if (type === "subscribed") isFollowing = true;
      return type !== "actors";
    });
    const { page } = await setting.window({ prepare });
    await openGroup(page, actor.title);
    await word(page, "idle");
    const { asked, settled } = lists(page);
    // The stream's beginning reads everything once.
    await until("the page follows", () => isFollowing);
    await settled();
    asked.length = 0;
    await setting.owner.result("send", { group_id: actor.group_id, text: "use a TOOL", to: ["ann"] });
    await word(page, "working");
    actor.endTool();
    await word(page, "idle");
    await settled();
    assert.equal(asked.join(), "");
  });

  it("is read again when the global stream says that Actors changed", async () => {
    verifies("WRK-012");
    const actor = await startFakeClaude(setting, "by-global");
    const { page } = await setting.window({ prepare: filtered(({ type }) => type !== "event") });
    await openGroup(page, actor.title);
    await word(page, "idle");
    const { asked } = lists(page);
    await setting.owner.result("send", { group_id: actor.group_id, text: "use a TOOL", to: ["ann"] });
    await word(page, "working");
    assert.ok(asked.includes(`/groups/${actor.group_id}/actors`), asked.join());
    actor.endTool();
    await word(page, "idle");
  });

  it("is polled for while the stream is broken, as long as the page is visible", async () => {
    verifies("WRK-013");
    const actor = await startFakeClaude(setting, "by-polling");
    let isBroken = true;
    const prepare = async (page: Page): Promise<void> => {
      await page.clock.install();
      await page.routeWebSocket(/events\/ws/, (socket) => {
        if (isBroken) void socket.close();
        else socket.connectToServer();
      });
    };
    const { page } = await setting.window({ expected: /WebSocket/, prepare });
    await openGroup(page, actor.title);
    await word(page, "idle");
    await page.locator(".offline", { hasText: "Can’t reach the daemon" }).waitFor();
    await setting.owner.result("group_create", { title: "came meanwhile" });
    await setting.owner.result("send", { group_id: actor.group_id, text: "use a TOOL", to: ["ann"] });
    await word(page, "working");
    await page.locator(".group-row", { hasText: "came meanwhile" }).waitFor(PATIENCE);

    const { asked, settled } = lists(page);
    await page.clock.runFor(A_MINUTE);
    await until("polls while visible", () => asked.filter((path) => path === "/groups").length >= 2);
    assert.ok(asked.includes(`/groups/${actor.group_id}/actors`));

    // As text: what the test's compiler adds to functions with a name isn't known in the page.
    const show = (state: "hidden" | "visible") =>
      page.evaluate(`Object.defineProperty(document, "visibilityState", { get: () => "${state}", configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));`);
    await show("hidden");
    await settled();
    asked.splice(0);
    await page.clock.runFor(A_MINUTE);
    await settled();
    assert.equal(asked.join(), "");
    await show("visible");
    await until("a poll at once", () => asked.includes("/groups"));

    isBroken = false;
    await page.locator(".offline").waitFor({ state: "detached", ...PATIENCE });
    await settled();
    asked.splice(0);
    await page.clock.runFor(TWO_POLLS);
    await settled();
    assert.equal(asked.join(), "", "nobody polls beside the stream");
    actor.endTool();
    await word(page, "idle");
  });

  it("marks who waits for the person: in its row, at its Group, in the title, and for those who listen", async () => {
    const actor = await startFakeClaude(setting, "waits");
    const { page } = await setting.window({ reducedMotion: true });
    await openGroup(page, actor.title);
    await word(page, "idle");
    const badge = page.locator(".group-row", { hasText: actor.title }).locator(".badge");
    assert.equal(await badge.count(), 0);
    await setting.owner.result("send", { group_id: actor.group_id, text: "TOOL, WAIT", to: ["ann"] });
    await page.locator(".ticker-item", { hasText: "Bash waits for permission" }).waitFor(PATIENCE);
    await word(page, "waiting for you");
    await badge.filter({ hasText: "1" }).waitFor(PATIENCE);
    await page.locator("body > [role=status]", { hasText: "ann: waiting for you" }).waitFor(PATIENCE);
    await until("the title says so", async () => (await page.title()).startsWith("(1) waits"));
    const row = page.locator("[data-actor=ann]");
    assert.match(String(await row.getAttribute("aria-label")), /^ann, waiting for you, /);
    const ticker = row.locator(".ticker");
    assert.equal(await ticker.getAttribute("aria-live"), "off");
    assert.equal(await ticker.getAttribute("aria-label"), "What ann does");
    const motion = await measure(
      ticker.locator(".ticker-item"),
      (element) => getComputedStyle(element).animationName,
    );
    assert.equal(motion, "none");
    actor.endTool();
    await word(page, "idle");
    await badge.waitFor({ state: "detached", ...PATIENCE });
  });

  it("begins with the daemon where the Group's settings say so", async () => {
    const actor = await startFakeClaude(setting, "begins");
    const { page } = await setting.window();
    await openGroup(page, actor.title);
    await page.locator("svc-group-header button[aria-haspopup=menu]").first().click();
    await page.locator(".menu-item", { hasText: "Group settings" }).click();
    await page.locator("dialog[open] vscode-checkbox", { hasText: "with the daemon" }).click();
    await page.locator("dialog[open] .button", { hasText: "Save" }).click();
    await page.locator("dialog[open]").waitFor({ state: "detached", ...PATIENCE });
    const { settings } = await setting.owner.result("group_show", { group_id: actor.group_id });
    assert.equal(settings.start_actors, true);
  });

  it("shows the whole of a terminal to whoever looks at it in a smaller window", async () => {
    const actor = await startFakeClaude(setting, "large");
    const { page: large } = await setting.window({ width: 1600, height: 1000 });
    const pane = (page: Page) => page.locator('section[aria-label="Terminal of ann"]');
    const open = async (page: Page): Promise<void> => {
      await page.locator("[data-actor=ann]").hover();
      await page.locator('[aria-label="Terminal of ann"]').click();
      await pane(page).locator(".xterm-rows", { hasText: "ready" }).waitFor(PATIENCE);
    };
    await openGroup(large, actor.title);
    await open(large);
    await pane(large).locator("vscode-button").click();
    await pane(large).locator(".terminal-state", { hasText: "writing here" }).waitFor(PATIENCE);
    const { page } = await setting.window({ width: 360, height: 700, touch: true });
    await page.locator(".bottom-tab", { hasText: "Groups" }).click();
    await openGroup(page, actor.title);
    await page.locator(".bottom-tab", { hasText: "Actors" }).click();
    await open(page);
    await until("it is as wide as the writer's", () =>
      pane(page)
        .locator(".terminal-place")
        .evaluate(
          (place) =>
            place.scrollWidth > 2 * place.clientWidth && getComputedStyle(place).overflowX === "auto",
        ),
    );
    const black = await measure(
      pane(page).locator(".xterm-viewport"),
      (viewport) => getComputedStyle(viewport).backgroundColor,
    );
    assert.equal(black, "rgba(0, 0, 0, 0)", "nothing of another colour below the rows");
  });

  it("notifies no desktop: no program is run, no bus is called, no browser is asked", async () => {
    verifies("ACT-004");
    const folder = mkdtempSync(join(tmpdir(), "svc-notifiers-"));
    const called = join(folder, "called");
    for (const name of NOTIFIERS) {
      writeFileSync(join(folder, name), `#!/bin/sh\necho "${name} $*" >>'${called}'\n`);
      chmodSync(join(folder, name), 0o755);
    }
    let calls = 0;
    const bus = createServer((socket) => {
      calls += 1;
      socket.destroy();
    }).listen(join(folder, "bus"));
    const own = await Setting.open(setting.browser, {
      environment: {
        PATH: `${folder}:${process.env["PATH"]}`,
        DBUS_SESSION_BUS_ADDRESS: `unix:path=${join(folder, "bus")}`,
        DISPLAY: ":0",
      },
    });
    try {
      const actor = await startFakeClaude(own, "quiet");
      const { page } = await own.window({ prepare: (page) => page.addInitScript(RECORD) });
      await openGroup(page, actor.title);
      await own.owner.result("send", { group_id: actor.group_id, text: "use a TOOL, WAIT", to: ["ann"] });
      await page.locator(".ticker-item", { hasText: "Bash waits for permission" }).waitFor(PATIENCE);
      await word(page, "waiting for you");
      actor.endTool();
      await page.locator(".ticker-item", { hasText: "Bash is done" }).waitFor(PATIENCE);
      await word(page, "idle");
      assert.deepEqual(await page.evaluate("told"), []);
      own.check();
    } finally {
      await own.close();
      bus.close();
    }
    assert.equal(existsSync(called) ? readFileSync(called, "utf8") : "", "");
    assert.equal(calls, 0);
    rmSync(folder, { recursive: true });
  });
});
