/**
 * Other instances of the account in one page: the list, the frame, its states, what clears them,
 * and a page in the frame that lies. Real daemons on names of their own over HTTPS; where the page
 * in the frame has to misbehave, the browser gets one in its place.
 */
import assert from "node:assert/strict";
import { text as textIn } from "node:stream/consumers";
import type { Browser, BrowserContext, Frame, Locator, Page, Route } from "playwright-core";
import { API_PREFIX } from "../../shared/names.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";
import { FailingProxy } from "../account/failing-proxy.ts";
import { type TestBrowser, TestService } from "../account/service.ts";
import { link, renamed, secured } from "../peers/account/linked-side.ts";
import type { Side } from "../peers/direct/two-homes.ts";
import { verifies } from "../requirements.ts";
import { TestAuthority } from "../support/certificates.ts";
import { textOf } from "../support/events.ts";
import { MachineClock } from "../support/manual-clock.ts";
import { until } from "../support/until.ts";
import { violations } from "./axe.ts";
import { launchBrowser } from "./setting.ts";

const GROUP = "g_000000000001";

type Status = ResultOf<"connect_status">;

/** A page in the frame that does nothing by itself, and lets the test say what it posts. */
const PUPPET = `<!doctype html><title>puppet</title><body>puppet<script>
  window.heard = [];
  addEventListener("message", ({ data, origin }) => heard.push({ data, origin }));
</script>`;

describe("Workbench: the account's other instances", function () {
  this.timeout(240_000);
  let authority: TestAuthority;
  let proxy: FailingProxy;
  let service: TestService;
  let ann: TestBrowser;
  let browser: Browser;
  let office: Side;
  let lab: Side;
  let context: BrowserContext;
  let page: Page;
  let officeOrigin: string;
  let labOrigin: string;
  /** Frame ids that the entry asked proofs for since the test began, in order. */
  let asked: string[] = [];
  /** How many pages were sent into frames since then. */
  let loads = 0;
  /** What `connect_status` says instead. */
  let told: ((result: Status) => object | number | null) | null = null;

  const list = () => page.locator("svc-instances");
  const row = () => list().locator(".instance-row", { hasText: "Lab" });
  const groupRows = () => list().locator(".remote-group-row");
  const saved = () => list().getByRole("button", { name: "Show the saved Groups of Lab" });
  const remote = () => page.locator("svc-remote");
  const failed = (code: string) => remote().locator(`.remote-failed[data-code=${code}]`).waitFor();
  const check = () => page.evaluate(() => dispatchEvent(new Event("focus")));
  const frame = (): Promise<Frame> =>
    until("the frame", async () => page.frames().find((one) => one.url().startsWith(labOrigin)) ?? null);
  /** The page in the frame posts this to the page around it. */
  const post = async (message: Record<string, unknown>, frameId = asked.at(-1)!) => {
    const whole = { channel: "svc.connect.frame.v1", frame_id: frameId, ...message };
    await (await frame()).evaluate((sent) => parent.postMessage(sent, "*"), whole);
  };
  const ready = async (deviceId?: string) => {
    const { connect } = await lab.client.result("connect_status", {});
    const device_id = deviceId ?? connect!.device_id;
    await post({ type: "ready", instance_id: lab.instance_id, device_id });
  };
  const groups = (...titles: string[]) =>
    post({
      type: "groups",
      groups: titles.map((title, at) => ({ group_id: id(at + 1), title, running: false })),
    });
  const id = (at: number) => GROUP.slice(0, -1) + String(at);
  /** The selections that the page in the frame was told. */
  const heard = async () => {
    const all = await (await frame()).evaluate(
      () => (window as unknown as { heard: { data: Record<string, unknown>; origin: string }[] }).heard,
    );
    // On a slow machine, renewals come between them.
    return all.filter(({ data }) => data["type"] === "select");
  };
  /** The daemon answers by itself again. */
  const confirmed = async () => {
    told = null;
    await check();
    await row().waitFor();
    await page.locator(".group-row", { hasText: "Office work" }).click();
    await remote().waitFor({ state: "detached" });
  };
  const alone = () => until("the frame's end", async () => page.frames().length === 1);
  const current = () => list().locator("[aria-current]").allInnerTexts();
  /** How many streams of the lab are open. */
  const streams = async () => {
    const metrics = await textIn(await lab.client.open("/metrics", {}));
    return Number(/^svc_streams (\d+)$/mu.exec(metrics)?.[1]);
  };
  /** From here on, the puppet is what frames show. */
  const answerPuppet = (route: Route) => route.fulfill({ contentType: "text/html", body: PUPPET });
  const lie = () => context.route(`${labOrigin}/ui/connect/`, answerPuppet);
  /** Clicks on it, and waits until a proof for a new frame is asked for. */
  const open = async (button: Locator) => {
    const before = asked.length;
    await button.click();
    await until("the proof", async () => asked.length > before);
  };
  const again = () => remote().getByRole("button", { name: "Try again" });
  /** Shows the lab with the puppet in the frame, signed in, with two Groups. */
  const show = async () => {
    await lie();
    await open(row());
    await ready();
    await groups("Rig", "Samples");
    await groupRows().first().waitFor();
  };
  /** Shows the lab where `pass` decides how late it is. How many proofs were asked for by then. */
  const shownForLong = async () => {
    await page.clock.install();
    await page.reload();
    await row().waitFor();
    await show();
    return asked.length;
  };
  const pass = async (seconds: number) => {
    // What is due within one step runs at once: a question would end after the next one begins.
    for (let passed = 0; passed < seconds; passed += 1) await page.clock.fastForward(1000);
  };
  const titles = () => groupRows().locator(".row-label").allInnerTexts();
  const settled = async (expected: string[]) =>
    until("the Groups", async () => JSON.stringify(await titles()) === JSON.stringify(expected));

  /** A profile of its own, which nobody has given or refused a permission yet. */
  const profile = async () => {
    const opened = await browser.newContext({
      ignoreHTTPSErrors: true,
      viewport: { width: 1280, height: 800 },
    });
    opened.on("request", (request) => {
      if (request.url() === `${officeOrigin}${API_PREFIX}/connect/open`)
        asked.push((request.postDataJSON() as { frame_id: string }).frame_id);
      if (request.url() === `${labOrigin}/ui/connect/`) loads += 1;
    });
    return opened;
  };
  /** A page of the office, where the person has signed in. */
  const entered = async (within: BrowserContext) => {
    const { url } = await office.client.result("login_link_create", {});
    const first = await within.newPage();
    await first.goto(officeOrigin + url.slice(url.indexOf("/#")));
    await first.locator("svc-workbench").waitFor();
    return first;
  };

  before(async () => {
    authority = new TestAuthority();
    proxy = await FailingProxy.open();
    service = await TestService.started({ origin: proxy.origin, clock: new MachineClock() });
    proxy.port = service.settings.port;
    ann = await service.member("Ann");
    [office, lab] = await Promise.all([
      secured("Office work", "office.localhost", authority),
      secured("Lab work", "lab.localhost", authority),
    ]);
    await Promise.all([link(office, ann), link(lab, ann)]);
    await renamed(lab, "Lab");
    await renamed(office, "Office");
    const originOf = async (side: Side) =>
      (await side.client.result("remote_access_show", {})).remote_access.origin!;
    [officeOrigin, labOrigin] = await Promise.all([originOf(office), originOf(lab)]);
    // As from the internet: the office's page needs the permission to reach the lab.
    browser = await launchBrowser({ publicPort: new URL(officeOrigin).port });
    context = await profile();
    await context.grantPermissions(["local-network-access"], { origin: officeOrigin });
    await context.route(`${officeOrigin}${API_PREFIX}/connect`, async (route) => {
      if (told === null) return route.continue();
      const changed = told(await office.client.result("connect_status", {}));
      if (changed === null) await route.abort();
      else if (typeof changed === "number") {
        const error = { code: "permission_denied", message: "No.", details: {} };
        await route.fulfill({ status: changed, json: { ok: false, error } });
      } else await route.fulfill({ json: { ok: true, result: changed } });
    });
    await (await entered(context)).close();
  });
  /** A tab of its own, which knows of nothing that other tests did. */
  beforeEach(async () => {
    page = await context.newPage();
    page.setDefaultTimeout(60_000);
    asked = [];
    loads = 0;
    await page.goto(officeOrigin);
    await row().waitFor();
  });
  after(async () => {
    await context?.close();
    await Promise.all([browser?.close(), office?.dispose(), lab?.dispose()]);
    await proxy?.close();
    await service?.dispose();
    authority?.remove();
  });
  afterEach(async () => {
    told = null;
    await page?.close();
    await context?.unroute(`${labOrigin}/ui/connect/`);
    assert.ok(loads <= new Set(asked).size, `${loads} pages in the frames ${asked.join(" ")}`);
  });

  it("opens one at its own origin, by a form, in a frame that may do no more than it needs", async () => {
    verifies("WB-001", "WB-028");
    await show();
    const element = remote().locator("iframe");
    assert.equal(
      await element.getAttribute("sandbox"),
      "allow-scripts allow-same-origin allow-forms allow-downloads allow-popups allow-popups-to-escape-sandbox",
    );
    assert.equal(
      await element.getAttribute("allow"),
      `clipboard-write ${labOrigin}; fullscreen ${labOrigin}`,
    );
    assert.equal((await frame()).url(), `${labOrigin}/ui/connect/`);
    assert.equal(await remote().locator("a.own-tab").getAttribute("href"), labOrigin);
    await settled(["Rig", "Samples"]);
    await groupRows().nth(1).click();
    await groupRows().first().click();
    const selections = await until("the selections", async () => {
      const all = await heard();
      return all.length === 2 ? all : null;
    });
    const revisions = selections.map(({ data, origin }): Record<string, unknown> => ({ ...data, origin }));
    assert.deepEqual(
      revisions.map(({ type, group_id: group, revision, origin }) => [type, group, revision, origin]),
      [
        ["select", id(2), 1, officeOrigin],
        ["select", id(1), 2, officeOrigin],
      ],
    );
  });

  it("says with how many Groups of other accounts one is connected, and opens its connections", async () => {
    verifies("WB-023");
    await show();
    const counts: [number | null, seconds: number][] = [
      [2, 120],
      [null, 120],
      [0, 120],
      [5, -1],
    ];
    await post({
      type: "groups",
      groups: counts.map(([count, seconds], at) => {
        const connection = { count, expires_at: new Date(Date.now() + seconds * 1000).toISOString() };
        return { group_id: id(at + 1), title: `Group ${at + 1}`, running: false, connection };
      }),
    });
    await settled(["Group 1", "Group 2", "Group 3", "Group 4"]);
    const marks = list().locator(".remote-connections");
    assert.deepEqual(await marks.evaluateAll((all) => all.map((one) => one.ariaLabel)), [
      "Connections of Group 1: connected with 2 Groups of other accounts",
      "Connections of Group 2: connections to other accounts aren’t confirmed now",
    ]);
    await groupRows().nth(1).click();
    await marks.first().click();
    const selections = await until("the selections", async () => {
      const all = (await heard()).map(({ data }) => [data["group_id"], data["revision"], data["action"]]);
      return all.length === 2 ? all : null;
    });
    assert.deepEqual(selections, [
      [id(2), 1, undefined],
      [id(1), 2, "connections"],
    ]);
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), "IFRAME");
  });

  it("takes reports of the latest revision alone, and never mounts the frame anew for others", async () => {
    verifies("WB-029", "WB-030");
    await show();
    await groupRows().nth(1).click();
    await groupRows().first().click();
    const element = await remote().locator("iframe").elementHandle();
    await (await frame()).evaluate(() => Object.assign(window, { mark: 7 }));
    await post({ type: "selected", group_id: id(2), revision: 1 });
    await post({ type: "selected", group_id: id(2), revision: 99 });
    await groups("Rig", "Samples", "Third");
    await settled(["Rig", "Samples", "Third"]);
    assert.deepEqual(
      (await current()).map((text) => text.trim().split("\n").at(-1)),
      ["Rig"],
    );
    await post({ type: "selected", group_id: id(2), revision: 2 });
    await until("the selection", async () => (await current()).some((text) => text.includes("Samples")));
    assert.ok(await element?.evaluate((one) => one.isConnected));
    assert.equal(await (await frame()).evaluate(() => (window as unknown as { mark: number }).mark), 7);
  });

  it("ignores what another origin, window or frame says, and what isn't a message", async () => {
    verifies("WB-031", "WB-032", "WB-033");
    await show();
    const forged = { type: "groups", groups: [{ group_id: id(9), title: "Forged", running: false }] };
    const whole = { channel: "svc.connect.frame.v1", frame_id: asked.at(-1)!, ...forged };
    // The page around it, which has another origin, and the same window with another id.
    await page.evaluate((sent) => postMessage(sent, "*"), whole);
    await post(forged, "6c1f6ad3-6b2b-4c50-8f0a-0c6a3a3a9a01");
    // A window below the frame has its origin.
    await (await frame()).evaluate(async (sent) => {
      const child = document.createElement("iframe");
      child.srcdoc = `<script>top.postMessage(${JSON.stringify(sent)}, "*")</script>`;
      const loaded = new Promise((resolve) => child.addEventListener("load", resolve));
      document.body.append(child);
      await loaded;
    }, whole);
    for (const wrong of [
      { ...forged, more: 1 },
      { type: "groups", groups: "all" },
      { type: "groups", groups: Array.from({ length: 4097 }, () => forged.groups[0]) },
      { type: "groups", groups: [{ ...forged.groups[0], secret: "x" }] },
      { type: "groups", groups: [{ ...forged.groups[0], title: "x".repeat(100_000) }] },
      { type: "select", group_id: id(9), revision: 3 },
      { type: "unheard" },
    ])
      await post(wrong);
    await (await frame()).evaluate(() => {
      for (const sent of [null, 1, "ready", [], { channel: "svc.connect.frame.v1" }])
        parent.postMessage(sent, "*");
    });
    // What was sent before this one has been heard.
    await post({ type: "selected", group_id: id(2), revision: 0 });
    await until("the selection", async () => (await current()).some((text) => text.includes("Samples")));
    assert.deepEqual(await titles(), ["Rig", "Samples"]);

    // The frame's own window and the right id, but a page of another origin.
    const elsewhere = `${officeOrigin}/elsewhere`;
    await page.route(elsewhere, answerPuppet);
    await remote()
      .locator("iframe")
      .evaluate((element, address) => element.setAttribute("src", address), elsewhere);
    const moved = await until(
      "the other page",
      () => page.frames().find((one) => one.url() === elsewhere) ?? null,
    );
    // The page hears it before this listener does.
    await page.evaluate(
      "globalThis.origins = []; addEventListener('message', ({ origin }) => origins.push(origin))",
    );
    await moved.evaluate((sent) => parent.postMessage(sent, "*"), whole);
    await until("it was heard", () => page.evaluate<boolean>("origins.length > 0"));
    assert.deepEqual(await page.evaluate("origins"), [officeOrigin]);
    assert.deepEqual(await titles(), ["Rig", "Samples"]);
  });

  it("stays usable while the page in the frame floods it", async () => {
    await show();
    await (await frame()).evaluate(
      (sent) => {
        for (let sends = 0; sends < 20_000; sends += 1) parent.postMessage(sent, "*");
      },
      { channel: "svc.connect.frame.v1", frame_id: asked.at(-1)!, type: "sidebar" },
    );
    await list().locator(".remote-group-row", { hasText: "Samples" }).click();
    await until("the selection", async () => (await heard()).some(({ data }) => data["revision"] === 1));
  });

  it("clears its Groups when it is locked there", async () => {
    verifies("WB-042");
    await show();
    await post({ type: "locked" });
    await groupRows().first().waitFor({ state: "detached" });
    await row().locator(".instance-state", { hasText: "not signed in" }).waitFor();
    await remote().locator(".remote-note").waitFor();
    assert.equal(await saved().count(), 0);
    await groups("Rig");
    await settled(["Rig"]);
  });

  it("has the list and the instance on pages of their own on a phone, and keeps the frame", async () => {
    await show();
    await (await frame()).evaluate(() => Object.assign(window, { mark: 7 }));
    await page.setViewportSize({ width: 360, height: 740 });
    const back = remote().getByRole("button", { name: "Show Groups" });
    const listed = async () => {
      await groupRows().first().waitFor();
      await remote().waitFor({ state: "hidden" });
    };
    const shown = async () => {
      await back.waitFor();
      await list().waitFor({ state: "hidden" });
    };
    const checkPage = async () => {
      assert.deepEqual(await violations(page), []);
      assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 360);
    };
    await shown();
    await checkPage();
    await back.click();
    await listed();
    await checkPage();
    await groupRows().nth(1).click();
    await shown();
    await post({ type: "sidebar" });
    await listed();
    // The browser may still send a click to the frame that was here until now.
    await row().press("Enter");
    await shown();
    assert.equal(await (await frame()).evaluate(() => (window as unknown as { mark: number }).mark), 7);
  });

  it("asks before a frame with unsaved input is left, and leaves it alone if told to stay", async () => {
    await show();
    const element = await remote().locator("iframe").elementHandle();
    await post({ type: "workspace_dirty", dirty: true });
    // It is said after everything before it has been heard.
    await groups("Rig");
    await settled(["Rig"]);
    const dialog = page.getByRole("dialog", { name: "Leave Lab?" });
    await page.locator(".group-row", { hasText: "Office work" }).click();
    await dialog.getByText("isn’t saved yet").waitFor();
    await dialog.getByRole("button", { name: "Stay" }).click();
    await dialog.waitFor({ state: "detached" });
    assert.ok(await element?.evaluate((one) => one.isConnected));
    await remote().getByRole("button", { name: "Close Lab" }).click();
    await dialog.waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await remote().getByRole("button", { name: "Close Lab" }).click();
    await dialog.waitFor();
    await post({ type: "workspace_dirty", dirty: false });
    await dialog.getByText("Nothing on Lab is unsaved any more.").waitFor();
    await dialog.getByRole("button", { name: "Leave" }).click();
    await alone();
    await show();
    await page.locator(".group-row", { hasText: "Office work" }).click();
    await alone();
    await page.locator(".group-title", { hasText: "Office work" }).waitFor();
    assert.equal(await dialog.count(), 0);
  });

  it("asks before a sign-out that ends a frame with unsaved input", async () => {
    await show();
    await post({ type: "workspace_dirty", dirty: true });
    await groups("Rig");
    await settled(["Rig"]);
    // The other tests need the session.
    await page.route(`${officeOrigin}${API_PREFIX}/web-access/logout`, (route) => route.abort());
    const dialog = page.getByRole("dialog", { name: "Leave Lab?" });
    const signOut = async () => {
      await page.getByRole("button", { name: "Settings" }).click();
      await page.getByRole("menuitem", { name: "Sign out" }).click();
      await dialog.waitFor();
    };
    await signOut();
    await dialog.getByRole("button", { name: "Stay" }).click();
    await dialog.waitFor({ state: "detached" });
    await signOut();
    await dialog.getByRole("button", { name: "Leave" }).click();
    await page.locator("svc-sign-in").waitFor();
    await alone();
  });

  it("goes where it was opened if that is confirmed soon, and not while the person works", async () => {
    await lie();
    await page.clock.install();
    const openAt = async () => {
      told = ({ connect }) => ({ connect: { ...connect, directory: null } });
      await page.goto(`${officeOrigin}/?instance=${lab.instance_id}`);
      await list().waitFor({ state: "attached" });
      await page.locator(".group-title", { hasText: "Office work" }).waitFor();
    };
    const listed = async () => {
      told = null;
      await check();
      await row().waitFor();
    };
    await openAt();
    await pass(30);
    await listed();
    assert.equal(await remote().count(), 0, "it is late");
    await openAt();
    await page.keyboard.press("Shift");
    await listed();
    assert.equal(await remote().count(), 0, "the person does something");
    await openAt();
    await listed();
    await remote().waitFor();
  });

  it("ends a frame that has expired or shows another instance, and opens it again", async () => {
    await show();
    await post({ type: "expired" });
    await failed("frame_expired");
    await row().locator(".instance-state", { hasText: "expired" }).waitFor();
    await alone();
    await open(again());
    await ready("dev_other");
    await failed("frame_stranger");
    await row().locator(".instance-state", { hasText: "stranger" }).waitFor();
    await alone();
    await open(again());
    await ready();
    await groups("Rig");
    await settled(["Rig"]);
  });

  it("loads itself again once for an instance that it may not frame yet", async () => {
    const isOpen = `${officeOrigin}${API_PREFIX}/connect/open`;
    const moved = "https://moved.localhost:1";
    told = ({ connect }) => {
      const instances = connect!.directory!.instances.map((entry) =>
        entry.instance_id === lab.instance_id ? { ...entry, public_origin: moved } : entry,
      );
      return { connect: { ...connect, directory: { ...connect!.directory, instances } } };
    };
    await page.route(isOpen, (route) =>
      route.fulfill({ json: { ok: true, result: { origin: moved, proof: {} } } }),
    );
    await check();
    await until("the list has its address", async () => (await row().getAttribute("title")) === moved);
    let loaded = 0;
    page.on("load", () => (loaded += 1));
    await row().click();
    await until("it has loaded itself again", async () => loaded === 1);
    await failed("frame_unlisted");
    await remote().getByRole("button", { name: "Open in its own tab" }).waitFor();
    assert.equal(loaded, 1);
  });

  it("says that this browser doesn't show a page that stays silent", async () => {
    await page.clock.install();
    await page.reload();
    await row().waitFor();
    await lie();
    await open(row());
    await frame();
    await pass(20);
    await failed("frame_silent");
    await remote().getByRole("button", { name: "Open in its own tab" }).waitFor();
  });

  it("says whether this browser blocks the local network, and shows what it may reach", async () => {
    const other = await profile();
    try {
      await page.close();
      page = await entered(other);
      page.setDefaultTimeout(60_000);
      await page.clock.install();
      await page.reload();
      await row().waitFor();
      // Without a window it asks nobody, and refuses.
      await open(row());
      await until("the page was sent", () => loads === 1);
      await pass(20);
      await failed("frame_local_network");
      await row().locator(".instance-state", { hasText: "blocked" }).waitFor();
      await remote()
        .locator(".remote-failed", { hasText: `your local network, where ${labOrigin} is` })
        .waitFor();
      const [tab] = await Promise.all([
        other.waitForEvent("page"),
        remote().locator(".remote-failed vscode-button", { hasText: "Open in its own tab" }).click(),
      ]);
      await tab.locator(".sign-in").waitFor();
      assert.equal(new URL(tab.url()).origin, labOrigin);
      const session = await other.newCDPSession(page);
      const { targetInfo } = await session.send("Target.getTargetInfo");
      const { browserContextId } = targetInfo;
      const permit = async (setting: "prompt" | "granted") => {
        for (const name of ["local-network-access", "loopback-network", "local-network"]) {
          const scope = browserContextId === undefined ? {} : { browserContextId };
          const permission = { permission: { name }, setting, origin: officeOrigin };
          await session.send("Browser.setPermission", { ...permission, ...scope });
        }
      };
      // A window would still ask. What the test answers for the page needs no permission.
      await permit("prompt");
      await other.route(`${labOrigin}/ui/connect/`, answerPuppet);
      await open(row());
      await frame();
      await pass(20);
      await failed("frame_silent");
      await remote().locator(".remote-failed", { hasText: "If this browser asks whether" }).waitFor();
      await other.unroute(`${labOrigin}/ui/connect/`, answerPuppet);
      await permit("granted");
      await row().click();
      await page.frameLocator("svc-remote iframe").locator(".sign-in").waitFor();
    } finally {
      await other.close();
    }
  });

  it("keeps the Groups of one that isn't shown, marked as saved", async () => {
    verifies("WB-036", "WB-037");
    await show();
    await page.locator(".group-row", { hasText: "Office work" }).click();
    await remote().waitFor({ state: "detached" });
    await alone();
    await saved().click();
    await list().locator(".saved-note", { hasText: "Saved" }).waitFor();
    await settled(["Rig", "Samples"]);
    // What isn't a list of Groups counts as nothing, whoever wrote it.
    await page.addInitScript(() => {
      if (top !== self) return;
      const kept = sessionStorage.getItem("svc/instances") ?? "";
      const damaged = kept.replace('"title":"Rig"', '"title":[]');
      sessionStorage.setItem("svc/instances", damaged);
      Object.assign(self, { isDamaged: damaged !== kept });
    });
    await page.reload();
    await row().waitFor();
    assert.equal(await saved().count(), 0);
    assert.equal(await page.evaluate("self.isDamaged"), true);
  });

  it("ends what is shown when directory or access expired, and shows it again once confirmed", async () => {
    verifies("WB-038", "WB-039");
    await show();
    told = ({ connect }) => ({ connect: { ...connect, directory: null } });
    await check();
    await failed("account_unavailable");
    await list().locator(".column-head").waitFor({ state: "detached" });
    await alone();
    await confirmed();
    await saved().waitFor();
    await show();
    told = () => null;
    // A question that comes before the page has heard that the last one failed takes its place.
    await until("the page gives up", async () => {
      const unanswered = page.waitForEvent("requestfailed");
      await check();
      await unanswered;
      await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(drawn)));
      return remote().locator(".remote-failed[data-code=account_unavailable]").isVisible();
    });
    await confirmed();
    await saved().waitFor();
  });

  for (const [what, member, value] of [
    ["device", "device_id", "dev_other"],
    ["origin", "public_origin", "https://moved.localhost:1"],
  ] as const) {
    it(`clears what belonged to another ${what} of the instance`, async () => {
      verifies("WB-040", "WB-041");
      await show();
      told = ({ connect }) => {
        const instances = connect!.directory!.instances.map((entry) =>
          entry.instance_id === lab.instance_id ? { ...entry, [member]: value } : entry,
        );
        return { connect: { ...connect, directory: { ...connect!.directory, instances } } };
      };
      await check();
      await failed("frame_moved");
      await row().waitFor();
      await confirmed();
      assert.equal(await saved().count(), 0);
    });
  }

  it("shows the own Group when the instance is no member of the account any more", async () => {
    await show();
    told = ({ connect }) => {
      const instances = connect!.directory!.instances.filter(
        ({ instance_id: instanceId }) => instanceId !== lab.instance_id,
      );
      return { connect: { ...connect, directory: { ...connect!.directory, instances } } };
    };
    await check();
    await remote().waitFor({ state: "detached" });
    await alone();
    assert.equal(await row().count(), 0);
    await page.locator(".group-title", { hasText: "Office work" }).waitFor();
    told = null;
    await check();
    await row().waitFor();
    assert.equal(await saved().count(), 0);
    assert.equal(await remote().count(), 0);
  });

  for (const [what, change] of [
    [
      "the account rejects this instance",
      ({ connect }) => ({ connect: { ...connect, directory: null, rejected: true } }),
    ],
    ["this instance is unlinked", () => ({ connect: null })],
    ["it is linked anew", ({ connect }) => ({ connect: { ...connect, device_id: "dev_new" } })],
    ["the person is no administrator any more", () => 403],
  ] satisfies [string, (status: Status) => object | number][]) {
    it(`forgets every instance when ${what}`, async () => {
      verifies("WB-043", "WB-044", "WB-045", "WB-046");
      await show();
      told = change;
      await check();
      await remote().waitFor({ state: "detached" });
      await alone();
      await confirmed();
      assert.equal(await saved().count(), 0);
      assert.equal(await page.evaluate(() => sessionStorage.getItem("svc/instances")), null);
    });
  }

  it("renews the proof every 45 seconds, and asks every 15 whether the person may still see it", async () => {
    verifies("LIM-013", "WB-062");
    const opened = await shownForLong();
    await pass(90);
    await until("two renewals", async () => asked.length >= opened + 2);
    assert.equal(asked.length, opened + 2);
    assert.equal(new Set(asked.slice(opened - 1)).size, 1, "of the same frame");
    told = () => 403;
    await pass(15);
    await remote().waitFor({ state: "detached" });
    await alone();
  });

  it("shows one whose proof can't be renewed any more as offline", async () => {
    const opened = await shownForLong();
    const error = { code: "connect_unreachable", message: "It can't be reached.", details: {} };
    const isOpen = `${officeOrigin}${API_PREFIX}/connect/open`;
    await page.route(isOpen, (route) => route.fulfill({ status: 503, json: { ok: false, error } }));
    await pass(90);
    await until("two tries", async () => asked.length >= opened + 2);
    assert.equal(await remote().locator(".remote-failed").count(), 0);
    await pass(45);
    await failed("connect_unreachable");
    await row().locator(".instance-state", { hasText: "offline since" }).waitFor();
  });

  it("ends what is shown when the daemon hangs", async () => {
    verifies("WB-039");
    await shownForLong();
    await page.route(`${officeOrigin}${API_PREFIX}/connect`, () => new Promise(() => {}));
    await pass(75);
    await failed("account_unavailable");
  });

  it("shows the other one's own Workbench: sign-in there, its Groups, and a message", async () => {
    verifies("WB-001", "WB-036", "WB-059", "WB-060");
    const inside = page.frameLocator("svc-remote iframe");
    await row().click();
    const { url } = await lab.client.result("login_link_create", {});
    await inside.locator("vscode-text-field input").fill(labOrigin + url.slice(url.indexOf("/#")));
    assert.equal(await groupRows().count(), 0);
    await inside.locator("vscode-button", { hasText: "Sign in" }).click();
    const lead = groupRows().filter({ hasText: "Lab work" });
    await lead.click();
    await inside.locator(".group-title", { hasText: "Lab work" }).waitFor();
    await inside.locator("svc-composer textarea").fill("Written in the office’s window");
    await inside.locator("svc-composer textarea").press("Control+Enter");
    await inside.locator("svc-message", { hasText: "Written in the office’s window" }).waitFor();
    const { events } = await lab.client.result("ledger_tail", { group_id: lab.group_id });
    const sent = events.find((event) => textOf(event) === "Written in the office’s window");
    assert.equal(sent?.by, "user");
    const cookies = (await context.cookies(labOrigin)).map(({ value }) => value);
    assert.notDeepEqual(cookies, []);
    await Promise.all([renamed(lab, "Lab"), renamed(office, "Office")]);
    for (const passed of proxy.passed)
      for (const secret of [...cookies, new URL(url).hash.slice("#login=".length)])
        assert.ok(!JSON.stringify(passed).includes(secret), passed.path);
    await until("it has a stream", async () => (await streams()) > 0);
    await page.locator(".group-row", { hasText: "Office work" }).click();
    await alone();
    await until("its streams have ended", async () => (await streams()) === 0);
    await row().click();
    await lead.waitFor();
    await inside.locator("svc-message", { hasText: "Written in the office’s window" }).waitFor();
    await page.locator(".group-row", { hasText: "Office work" }).click();
    await alone();
  });

  it("says what is wrong with an instance, and what helps", async () => {
    /** The list has it: what is clicked before that would be moved instead. */
    const reachedAt = async (origin: string | null) => {
      await lab.client.result("remote_access_set", { origin });
      await renamed(lab, "Lab");
      await renamed(office, "Office");
      await until("the list has its route", async () => {
        await check();
        return (await row().getAttribute("title")) === (origin ?? "No route to it is set");
      });
    };
    await reachedAt(null);
    await row().locator(".instance-state", { hasText: "no route" }).waitFor();
    await row().click();
    await failed("connect_route_missing");
    await reachedAt(labOrigin.replace("lab.", "office."));
    await row().click();
    await failed("connect_host_overlap");
    await remote().locator(".remote-failed vscode-button", { hasText: "Open in its own tab" }).waitFor();
    await reachedAt(labOrigin);
    await lab.daemon.stop();
    await row().click();
    await failed("connect_unreachable");
    await row().locator(".instance-state", { hasText: "offline since" }).waitFor();
  });
});
