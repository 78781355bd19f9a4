/**
 * Two instances of one account: the lab in a frame of the office's page. Real daemons on names of
 * their own over HTTPS. Where the page in the frame has to misbehave, the browser gets a puppet in
 * its place.
 */
import assert from "node:assert/strict";
import type { Browser, BrowserContext, Frame, Locator, Page, Route } from "playwright-core";
import { API_PREFIX } from "../../shared/names.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";
import { FailingProxy } from "../account/failing-proxy.ts";
import { TestService } from "../account/service.ts";
import { link, renamed, secured } from "../peers/account/linked-side.ts";
import type { Side } from "../peers/direct/two-homes.ts";
import { TestAuthority } from "../support/certificates.ts";
import { MachineClock } from "../support/manual-clock.ts";
import { until } from "../support/until.ts";
import { underName } from "./instances-window.ts";
import { launchBrowser } from "./setting.ts";

export type Status = ResultOf<"connect_status">;

/** A page in the frame that does nothing by itself, and lets the test say what it posts. */
const PUPPET = `<!doctype html><title>puppet</title><body>puppet<script>
  window.heard = [];
  addEventListener("message", ({ data, origin }) => heard.push({ data, origin }));
</script>`;

export const answerPuppet = (route: Route) => route.fulfill({ contentType: "text/html", body: PUPPET });

/** Of the puppet's Groups, which are counted from 1. */
export function groupId(at: number): string {
  return `g_00000000000${at}`;
}

class FramedLab {
  /** A page of the office. Each test has one of its own. */
  page!: Page;
  /** Where the person is signed in to the office. */
  context!: BrowserContext;
  office!: Side;
  officeOrigin!: string;
  side!: Side;
  origin!: string;
  /** Between the account service and everything else. */
  proxy!: FailingProxy;
  /** Frame ids that the office's pages asked proofs for since the test began, in order. */
  asked: string[] = [];
  #isClockStopped = false;
  /** How many pages were sent into frames since then. */
  loads = 0;
  /** What the office's `connect_status` says instead. */
  told: ((result: Status) => object | number | null) | null = null;
  #authority!: TestAuthority;
  #service!: TestService;
  #browser!: Browser;

  async start(): Promise<void> {
    this.#authority = new TestAuthority();
    this.proxy = await FailingProxy.open();
    this.#service = await TestService.started({ origin: this.proxy.origin, clock: new MachineClock() });
    this.proxy.port = this.#service.settings.port;
    const ann = await this.#service.member("Ann");
    [this.office, this.side] = await Promise.all([
      secured("Office work", "office.localhost", this.#authority),
      secured("Lab work", "lab.localhost", this.#authority),
    ]);
    await Promise.all([link(this.office, ann), link(this.side, ann)]);
    await this.rename();
    const originOf = async (side: Side) =>
      (await side.client.result("remote_access_show", {})).remote_access.origin!;
    [this.officeOrigin, this.origin] = await Promise.all([originOf(this.office), originOf(this.side)]);
    // As from the internet: the office's page needs the permission to reach the lab.
    this.#browser = await launchBrowser({ whole: true, publicPort: new URL(this.officeOrigin).port });
    this.context = await this.profile();
    await this.context.grantPermissions(["local-network-access"], { origin: this.officeOrigin });
    await this.context.route(`${this.officeOrigin}${API_PREFIX}/connect`, (route) => this.#tell(route));
    await (await this.entered(this.context)).close();
  }

  async stop(): Promise<void> {
    await this.context?.close();
    await Promise.all([this.#browser?.close(), this.office?.dispose(), this.side?.dispose()]);
    await this.proxy?.close();
    await this.#service?.dispose();
    this.#authority?.remove();
  }

  /** A tab of its own, which knows of nothing that other tests did. */
  async visit(): Promise<void> {
    this.page = await this.context.newPage();
    this.page.setDefaultTimeout(60_000);
    this.asked = [];
    this.loads = 0;
    await this.page.goto(this.officeOrigin);
    await this.row().waitFor();
  }

  async leave(): Promise<void> {
    this.told = null;
    // Every page of the context has the same clock, the next ones too.
    if (this.#isClockStopped) await this.page.clock.resume();
    this.#isClockStopped = false;
    await this.page?.close();
    await this.context?.unroute(this.frameAddress);
    const { asked, loads } = this;
    assert.ok(loads <= new Set(asked).size, `${loads} pages in the frames ${asked.join(" ")}`);
  }

  /** A profile of its own, which nobody has given or refused a permission yet. */
  async profile(): Promise<BrowserContext> {
    const opened = await this.#browser.newContext({
      ignoreHTTPSErrors: true,
      viewport: { width: 1280, height: 800 },
    });
    opened.on("request", (request) => {
      if (request.url() === this.openAddress)
        this.asked.push((request.postDataJSON() as { frame_id: string }).frame_id);
      if (request.url() === this.frameAddress) this.loads += 1;
    });
    return opened;
  }

  /** A page of the office, where the person has signed in. */
  async entered(within: BrowserContext): Promise<Page> {
    const { url } = await this.office.client.result("login_link_create", {});
    const first = await within.newPage();
    await first.goto(underName(url, this.officeOrigin));
    await first.locator("svc-workbench").waitFor();
    return first;
  }

  /** Both have their names, and know what the service knows. */
  async rename(): Promise<void> {
    await renamed(this.side, "Lab");
    await renamed(this.office, "Office");
  }

  /** Where the office's page asks for proofs. */
  get openAddress(): string {
    return `${this.officeOrigin}${API_PREFIX}/connect/open`;
  }

  /** Of the page in the frame. */
  get frameAddress(): string {
    return `${this.origin}/ui/connect/`;
  }

  async #tell(route: Route): Promise<void> {
    if (this.told === null) return route.continue();
    const changed = this.told(await this.office.client.result("connect_status", {}));
    if (changed === null) await route.abort();
    else if (typeof changed === "number") {
      const error = { code: "permission_denied", message: "No.", details: {} };
      await route.fulfill({ status: changed, json: { ok: false, error } });
    } else await route.fulfill({ json: { ok: true, result: changed } });
  }

  list(): Locator {
    return this.page.locator("svc-instances");
  }

  row(): Locator {
    return this.list().locator(".instance-row", { hasText: "Lab" });
  }

  groupRows(): Locator {
    return this.list().locator(".remote-group-row");
  }

  titles(): Promise<string[]> {
    return this.groupRows().locator(".row-label").allInnerTexts();
  }

  async settled(expected: string[]): Promise<void> {
    await until("the Groups", async () => JSON.stringify(await this.titles()) === JSON.stringify(expected));
  }

  saved(): Locator {
    return this.list().getByRole("button", { name: "Show the saved Groups of Lab" });
  }

  remote(): Locator {
    return this.page.locator("svc-remote");
  }

  async failed(code: string): Promise<void> {
    await this.remote().locator(`.remote-failed[data-code=${code}]`).waitFor();
  }

  /** The office's page asks its daemon now. */
  async check(): Promise<void> {
    await this.page.evaluate(() => dispatchEvent(new Event("focus")));
  }

  /** The office's own Group is shown instead, unless something isn't saved. */
  async chooseOffice(): Promise<void> {
    await this.page.locator(".group-row", { hasText: "Office work" }).click();
  }

  async alone(): Promise<void> {
    await until("the frame's end", async () => this.page.frames().length === 1);
  }

  frame(): Promise<Frame> {
    const find = () => this.page.frames().find((one) => one.url().startsWith(this.origin)) ?? null;
    return until("the frame", async () => find());
  }

  /** From here on, the puppet is what frames show. */
  async lie(): Promise<void> {
    await this.context.route(this.frameAddress, answerPuppet);
  }

  /** Clicks on it, and waits until a proof for a new frame is asked for. */
  async open(button: Locator): Promise<void> {
    const before = this.asked.length;
    await button.click();
    await until("the proof", async () => this.asked.length > before);
  }

  /** Shows the lab with the puppet in the frame, signed in, with two Groups. */
  async show(): Promise<void> {
    await this.lie();
    await this.open(this.row());
    await this.ready();
    await this.groups("Rig", "Samples");
    await this.groupRows().first().waitFor();
  }

  /** The page in the frame posts this to the page around it. */
  async post(message: Record<string, unknown>, frameId = this.asked.at(-1)!): Promise<void> {
    const whole = { channel: "svc.connect.frame.v1", frame_id: frameId, ...message };
    await (await this.frame()).evaluate((sent) => parent.postMessage(sent, "*"), whole);
  }

  async ready(deviceId?: string): Promise<void> {
    const { connect } = await this.side.client.result("connect_status", {});
    const device_id = deviceId ?? connect!.device_id;
    await this.post({ type: "ready", instance_id: this.side.instance_id, device_id });
  }

  async groups(...titles: string[]): Promise<void> {
    await this.post({
      type: "groups",
      groups: titles.map((title, at) => ({ group_id: groupId(at + 1), title, running: false })),
    });
  }

  /** With the clock of the page installed: from now on it goes on with `pass` alone. */
  async stopClock(): Promise<void> {
    const now = await this.page.evaluate<number>("Date.now()");
    // It can't be stopped in the past.
    await this.page.clock.pauseAt(now + 5000);
    this.#isClockStopped = true;
  }

  /** With the clock of the page installed. */
  async pass(seconds: number): Promise<void> {
    // What is due within one step runs at once: a question would end after the next one begins.
    for (let passed = 0; passed < seconds; passed += 1) await this.page.clock.fastForward(1000);
  }
}

/** Both for the tests of a describe, and a page of the office for each of them. */
export function useFramedLab(): FramedLab {
  const lab = new FramedLab();
  before(() => lab.start());
  beforeEach(() => lab.visit());
  afterEach(() => lab.leave());
  after(() => lab.stop());
  return lab;
}
