/**
 * The Workbench that shows other instances of the account in its page: what people wait for, what
 * stays in the page's memory, and what the daemons spend on frames that are open.
 */
import type { Browser, BrowserContext, CDPSession, Frame, Page } from "playwright-core";
import { LIMITS } from "../shared/limits.ts";
import { API_PREFIX, HEADERS } from "../shared/names.ts";
import { type TestBrowser, TestInstance, TestService } from "../test/account/service.ts";
import { InstancesWindow, underName } from "../test/browser/instances-window.ts";
import { launchBrowser } from "../test/browser/setting.ts";
import { link, renamed, secured } from "../test/peers/account/linked-side.ts";
import type { Side } from "../test/peers/direct/two-homes.ts";
import { TestAuthority } from "../test/support/certificates.ts";
import { ManualClock } from "../test/support/manual-clock.ts";
import { until } from "../test/support/until.ts";
import { requireBundles } from "./daemon.ts";
import { absolute, compare, type Figure, interleave, type Measurement, median } from "./figure.ts";
import { processorSeconds } from "./processes.ts";

const NAMES = {
  paint: "instances: first useful paint with 20 instances and 4,096 Groups, time",
  within: "instances: switch between two Groups of a remote instance, time",
  across: "instances: switch between Groups of two remote instances, time",
  memory: "instances: memory of the page after 50 switches",
  upkeep: "instances: renewals and rechecks of 20 instances, time",
} as const;

const INSTANCES = 20;
const GROUPS = 4096;
/** The real ones among the 20: the entry and two others. */
const REAL = 3;
const TICK_MS = 250;
const { frameRenewSeconds, frameCheckSeconds } = LIMITS.connect;

/** In each frame: which Group's conversation is there, and since when. */
const SHOWN = `(() => {
  if (top === self) return addEventListener("mousedown", () => (self.pressed = performance.timeOrigin + performance.now()), { capture: true });
  self.shown = { title: null, at: 0 };
  const look = () => {
    const title = document.querySelector(".group-title")?.textContent.trim();
    const is = title !== undefined && [...document.querySelectorAll("svc-message")].some((one) => one.textContent.includes("First words of " + title + "."));
    if (is && self.shown.title !== title) self.shown = { title, at: performance.timeOrigin + performance.now() };
  };
  new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true });
})()`;

/** In the page: when its conversation and the list of instances were first drawn. */
const PAINTED = `(() => {
  if (top !== self) return;
  const watch = new MutationObserver(() => {
    if (document.querySelector("svc-message") === null || document.querySelector(".instance-row") === null) return;
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => (self.painted = performance.now())));
  });
  watch.observe(document, { subtree: true, childList: true });
})()`;

interface InPage {
  pressed: number;
  painted?: number;
  shown: { title: string | null; at: number };
}
declare const self: InPage;

/** An instance with two Groups in which something was said. */
interface Machine {
  name: string;
  origin: string;
  side: Side;
  titles: readonly [string, string];
}

class Account {
  readonly authority = new TestAuthority();
  readonly #clock = new ManualClock({ start: Date.now() });
  readonly #ticking = setInterval(() => this.#clock.advance(Date.now() - this.#clock.now()), TICK_MS);
  readonly #machines: Machine[] = [];
  #service: TestService | null = null;

  async open(): Promise<void> {
    this.#service = await TestService.started({ clock: this.#clock });
  }

  member(name: string): Promise<TestBrowser> {
    return this.#service!.member(name);
  }

  async machine(member: TestBrowser, name: string): Promise<Machine> {
    const titles = [`${name} one`, `${name} two`] as const;
    const host = `${name.toLowerCase()}.localhost`;
    const side = await secured(titles[0], host, this.authority);
    const { client } = side;
    const { group_id: second } = await client.result("group_create", { title: titles[1] });
    await client.result("actor_add", { group_id: second, actor_id: "lead", runner: "external" });
    for (const [groupId, title] of [
      [side.group_id, titles[0]],
      [second, titles[1]],
    ] as const)
      await client.result("send", { group_id: groupId, to: ["lead"], text: `First words of ${title}.` });
    const { origin } = (await client.result("remote_access_show", {})).remote_access;
    await link(side, member);
    await renamed(side, name);
    const machine = { name, origin: origin!, side, titles };
    this.#machines.push(machine);
    return machine;
  }

  /** Instances that the directory lists and nobody asks. */
  async others(member: TestBrowser, count: number): Promise<void> {
    for (let number = 0; number < count; number += 1) {
      const device = await this.#service!.device(member);
      const registered = await device.register(new TestInstance(), {
        public_origin: `https://other-${number}.localhost:8848`,
      });
      if (registered.status !== 200) throw new Error(`not registered: ${JSON.stringify(registered.body)}`);
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#ticking);
    await Promise.all(this.#machines.map(({ side }) => side.dispose()));
    await this.#service?.dispose();
    this.authority.remove();
  }
}

/** A window of its own at an entry, whose person is signed in there. */
async function entered(browser: Browser, entry: Machine, script: string): Promise<InstancesWindow> {
  const context = await browser.newContext({
    ignoreHTTPSErrors: true,
    viewport: { width: 1280, height: 800 },
  });
  await context.addInitScript(script);
  const window = new InstancesWindow(await context.newPage());
  const { url } = await entry.side.client.result("login_link_create", {});
  await window.open(underName(url, entry.origin), []);
  await window.page.locator(".instance-row").first().waitFor();
  return window;
}

/** What a page keeps in its storage of the instances that it showed. */
async function keepGroups({ page }: InstancesWindow, entry: Machine): Promise<void> {
  const { connect } = await entry.side.client.result("connect_status", {});
  const { account_origin: accountOrigin, device_id: own, directory } = connect!;
  const others = directory!.instances.filter(({ device_id: device }) => device !== own);
  const saved = others.map(({ instance_id: id, device_id, public_origin }, at) => {
    const count = Math.floor(GROUPS / others.length) + (at < GROUPS % others.length ? 1 : 0);
    const groups = Array.from({ length: count }, (_, number) => ({
      group_id: `g_${`${at}`.padStart(4, "0")}${`${number}`.padStart(8, "0")}`,
      title: `A Group of a project, with number ${number}`,
      running: false,
    }));
    return [id, { device_id, origin: public_origin, groups, at: Date.now() }];
  });
  const kept = { binding: `${accountOrigin} ${own}`, saved: Object.fromEntries(saved) };
  await page.context().addInitScript((text) => {
    if (top === window) sessionStorage.setItem("svc/instances", text);
  }, JSON.stringify(kept));
}

/** Milliseconds from the reload until something useful is there. */
async function paint({ page }: InstancesWindow): Promise<number> {
  await page.reload();
  const painted = await page.waitForFunction(() => self.painted);
  return (await painted.jsonValue())!;
}

async function firstPaint(
  account: Account,
  browser: Browser,
  entry: Machine,
  rounds: number,
): Promise<Figure> {
  const bob = await account.member("Bob");
  const small = await account.machine(bob, "Small");
  await account.others(bob, 1);
  await renamed(small.side, small.name);
  const [many, one] = [await entered(browser, entry, PAINTED), await entered(browser, small, PAINTED)];
  await keepGroups(many, entry);
  // The first time also fills the browser's caches.
  for (const window of [many, one]) await paint(window);
  const rows = await many.page.locator(".instance-row").count();
  const saved = await many.page.getByRole("button", { name: /^Show the saved Groups/u }).count();
  if (rows !== INSTANCES - 1 || saved !== rows) throw new Error(`${rows} rows, ${saved} with saved Groups`);
  const times = await interleave(rounds, { ours: () => paint(many), theirs: () => paint(one) });
  for (const { page } of [many, one]) await page.context().close();
  return compare({
    name: NAMES.paint,
    unit: "ms",
    value: times.ours,
    against: "with one other instance and no Groups of it",
    against_value: times.theirs,
    goal: 1.5,
    floor: 1.5,
    better: "lower",
  });
}

async function frameOf(page: Page, { origin }: Machine): Promise<Frame> {
  return until("the frame", () => page.frames().find((one) => one.url().startsWith(origin)));
}

/** Milliseconds from the press on a row until the conversation of `title` is there. */
async function switched({ page }: InstancesWindow, to: Machine, row: string, title: string): Promise<number> {
  const before = page.frames().at(-1);
  await page.locator(`svc-instances ${row}`, { hasText: row === ".instance-row" ? to.name : title }).click();
  if (row === ".instance-row") await until("the frame before it ends", () => before?.isDetached());
  const frame = await frameOf(page, to);
  const shown = await frame.waitForFunction(
    (wanted) => (self.shown?.title === wanted ? self.shown.at : null),
    title,
  );
  return (await shown.jsonValue())! - (await page.evaluate(() => self.pressed));
}

/** Bytes in use in the page and in the frame that it shows, after a collection. */
async function heapOf(context: BrowserContext, page: Page, to: Machine): Promise<number> {
  let sum = 0;
  for (const part of [page, await frameOf(page, to)]) {
    const session: CDPSession = await context.newCDPSession(part);
    await session.send("HeapProfiler.collectGarbage");
    sum += (await session.send("Runtime.getHeapUsage")).usedSize;
    await session.detach();
  }
  return sum;
}

async function switches(window: InstancesWindow, lab: Machine, studio: Machine, count: number) {
  const { page } = window;
  const within: number[] = [];
  for (let turn = 0; turn < count; turn += 1) {
    const title = lab.titles[(turn + 1) % 2]!;
    within.push(await switched(window, lab, ".remote-group-row", title));
  }
  const across: number[] = [];
  const cross = async (to: Machine) => across.push(await switched(window, to, ".instance-row", to.titles[0]));
  await cross(studio);
  const before = await heapOf(page.context(), page, studio);
  for (let turn = 0; turn < count; turn += 1) await cross(turn % 2 === 0 ? lab : studio);
  const after = await heapOf(page.context(), page, count % 2 === 0 ? studio : lab);
  const time = (name: string, values: readonly number[]) =>
    absolute({
      name,
      unit: "ms",
      value: median(values),
      against: "ms",
      goal: 300,
      floor: 800,
      better: "lower",
    });
  return [
    time(NAMES.within, within),
    time(NAMES.across, across),
    compare({
      name: NAMES.memory,
      unit: "MB",
      value: after / 1e6,
      against: "after one",
      against_value: before / 1e6,
      goal: 1.3,
      floor: 1.3,
      better: "lower",
    }),
  ];
}

/**
 * Processor time of all daemons for each call of `work`, in seconds, once they have done it as
 * often as 20 frames do in some minutes.
 */
async function costOf(machines: readonly Machine[], work: () => Promise<void>, count: number) {
  for (let turn = 0; turn < count; turn += 1) await work();
  const spent = () => machines.reduce((sum, { side }) => sum + processorSeconds(side.daemon.pid), 0);
  const before = spent();
  for (let turn = 0; turn < count; turn += 1) await work();
  return (spent() - before) / count;
}

/**
 * What a page and its frame ask as long as it is open, as often in a row as it takes to measure it;
 * then for 20 such frames at their pace.
 */
async function upkeep(
  { page }: InstancesWindow,
  machines: readonly Machine[],
  shown: Machine,
  opening: { body: string; csrf: string },
  count: number,
): Promise<Figure> {
  const frame = await frameOf(page, shown);
  const { frame_id: frameId } = JSON.parse(opening.body) as { frame_id: string };
  const asked = { ...opening, path: `${API_PREFIX}/connect/open`, header: HEADERS.csrf };
  const renew = async () => {
    const proof = await page.evaluate(async ({ path, header, csrf, body }) => {
      const headers = { "content-type": "application/json", [header]: csrf };
      const { result } = await (await fetch(path, { method: "POST", headers, body })).json();
      return JSON.stringify(result.proof);
    }, asked);
    await post(frame, `${API_PREFIX}/connect/frame`, proof);
    // Its Groups' connections, for the page's list.
    await read(frame, `${API_PREFIX}/connect?connect_frame=${frameId}`);
  };
  const recheck = async () => {
    await read(page, `${API_PREFIX}/connect`);
    await read(frame, `${API_PREFIX}/connect/frame?frame_id=${frameId}&connect_frame=${frameId}`);
  };
  const renewal = await costOf(machines, renew, count);
  const check = await costOf(machines, recheck, count);
  const share = INSTANCES * (renewal / frameRenewSeconds + check / frameCheckSeconds);
  return absolute({
    name: NAMES.upkeep,
    unit: "% of a core",
    value: share * 100,
    against: "% of a core",
    goal: 1,
    floor: 1,
    better: "lower",
  });
}

async function post(frame: Frame, path: string, body: string): Promise<void> {
  const status = await frame.evaluate(
    async ([to, sent]) =>
      (await fetch(to, { method: "POST", headers: { "content-type": "application/json" }, body: sent }))
        .status,
    [path, body] as const,
  );
  if (status !== 200) throw new Error(`${path} answers ${status}`);
}

async function read(of: Page | Frame, path: string): Promise<void> {
  const status = await of.evaluate(async (from) => (await fetch(from)).status, path);
  if (status !== 200) throw new Error(`${path} answers ${status}`);
}

export const instances: Measurement = {
  figures: Object.values(NAMES),
  needsBrowser: true,
  async run({ short }) {
    await requireBundles();
    const account = new Account();
    const browser = await launchBrowser({ whole: true });
    try {
      await account.open();
      const ann = await account.member("Ann");
      const [lab, studio] = [await account.machine(ann, "Lab"), await account.machine(ann, "Studio")];
      await account.others(ann, INSTANCES - REAL);
      const entry = await account.machine(ann, "Office");
      // Each learns who else belongs to the account when it asks the next time.
      for (const { side, name } of [lab, studio, entry]) await renamed(side, name);
      const figures = [await firstPaint(account, browser, entry, short ? 1 : 9)];
      const window = await entered(browser, entry, SHOWN);
      const opened: { body: string; csrf: string }[] = [];
      window.page.on("request", (request) => {
        if (request.url() !== `${entry.origin}${API_PREFIX}/connect/open`) return;
        opened.push({ body: request.postData()!, csrf: request.headers()[HEADERS.csrf.toLowerCase()]! });
      });
      for (const one of [studio, lab]) {
        const { url } = await one.side.client.result("login_link_create", {});
        await window.signIn(one.name, underName(url, one.origin), one.titles[0]);
      }
      figures.push(...(await switches(window, lab, studio, short ? 4 : 50)));
      figures.push(await upkeep(window, [entry, studio], studio, opened.at(-1)!, short ? 5 : 200));
      return figures;
    } finally {
      await browser.close();
      await account.close();
    }
  },
};
