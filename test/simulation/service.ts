/**
 * The account service as it is, without its listener: its store on a disk that never lies, its
 * clock, and what may stand in front of it.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import type { RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { COUNTED, type Counted, Limits } from "../../account/limits.ts";
import { Metrics } from "../../account/metrics.ts";
import { Operator } from "../../account/operator.ts";
import { ServiceKey } from "../../account/secrets.ts";
import { appOf } from "../../account/service.ts";
import type { Settings } from "../../account/settings.ts";
import { openStore, type Store } from "../../account/store/store.ts";
import type { Log } from "../../platform/log.ts";
import { Refusal } from "../../shared/errors.ts";
import { type Answer, TestBrowser } from "../account/service.ts";
import { type Chance, SeededRandom } from "../support/chance.ts";
import { served, type WebAnswer, type WebRequest } from "./exchange.ts";
import type { Host } from "./network.ts";
import { originOf, type SimulatedWeb } from "./web.ts";
import { SimulatedClock, type Wall, type World } from "./world.ts";

/** Its name among the machines. */
export const SERVICE = "account";
const STORE_FILE = "account.sqlite";
const SECOND = 1000;

/**
 * - `down`: nothing listens there.
 * - `silent`: it takes requests and answers none.
 * - `slow`: it answers late, often later than anybody waits.
 * - `garbage`, `redirect`: something in front of it answers, with or without having asked it.
 * - `other`: what it answers to one device comes to another.
 */
export type ServiceTrouble = "down" | "silent" | "slow" | "garbage" | "redirect" | "other";

/** A store of this version, made once for all seeds of a process. */
let template: Promise<Store> | null = null;

function freshFolder(): string {
  return mkdtempSync(join(tmpdir(), "svc-simulated-account-"));
}

async function templateStore(log: Log): Promise<Store> {
  const folder = freshFolder();
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return openStore({ folder, database: null, log });
}

/** Its collectors watch the process, so that one is enough for all seeds. */
const METRICS = new Metrics();

/** Counts on simulated time. */
class SimulatedLimits extends Limits {
  readonly #world: World;
  readonly #counts = new Map<string, { until: number; count: number }>();

  constructor(world: World) {
    super({ pool: null });
    this.#world = world;
  }

  override async count(what: Counted, key: string): Promise<void> {
    const { points, seconds } = COUNTED[what];
    const { time } = this.#world;
    const name = `${what} ${key}`;
    const known = this.#counts.get(name);
    const counted =
      known !== undefined && known.until > time ? known : { until: time + seconds * SECOND, count: 0 };
    counted.count += 1;
    this.#counts.set(name, counted);
    if (counted.count <= points) return;
    const details = { retry_after_seconds: Math.ceil((counted.until - time) / SECOND) };
    throw new Refusal("rate_limited", { details });
  }
}

export class SimulatedService implements Host {
  readonly machine = SERVICE;
  readonly public_key = "";
  readonly isOver = false;
  readonly isReachable = true;
  readonly wall: Wall = { offset: 0 };
  readonly origin = originOf(SERVICE);
  trouble: ServiceTrouble | null = null;
  /** Errors that nobody expects. */
  readonly unexpected: string[] = [];
  readonly #world: World;
  readonly #web: SimulatedWeb;
  readonly #chance: Chance;
  readonly #random: SeededRandom;
  readonly #clock: SimulatedClock;
  readonly #folder = freshFolder();
  readonly #key: ServiceKey;
  readonly #limits: SimulatedLimits;
  #store!: Store;
  #app!: RequestListener;
  #answering = 0;
  #isRestoring = false;
  /** The last good answer to each device, by path. */
  readonly #last = new Map<string, Map<string, Buffer>>();

  private constructor(world: World, web: SimulatedWeb) {
    this.#world = world;
    this.#web = web;
    this.#chance = world.chance.stream(SERVICE);
    this.#random = new SeededRandom(this.#chance.stream("random"));
    this.#clock = new SimulatedClock(world, this.wall);
    this.#key = new ServiceKey(this.#random.bytes(32));
    this.#limits = new SimulatedLimits(world);
  }

  static async started(world: World, web: SimulatedWeb): Promise<SimulatedService> {
    const service = new SimulatedService(world, web);
    template ??= templateStore(service.#log);
    (await template).backup(join(service.#folder, STORE_FILE));
    await service.#open(service.#folder);
    web.add(SERVICE, {
      host: () => (service.trouble === "down" || service.#isRestoring ? null : service),
      isDark: () => false,
      copies: () => 0,
      answer: (request) => service.#answer(request),
    });
    return service;
  }

  /** Whether people can use its pages. */
  get isUsable(): boolean {
    return this.trouble === null && !this.#isRestoring;
  }

  /** What the operator does at the store. No backup replaces it meanwhile. */
  async operate<Result>(work: (operator: Operator) => Promise<Result>): Promise<Result> {
    const settings = this.#settings;
    this.#answering += 1;
    try {
      return await work(
        new Operator({ store: this.#store, settings, clock: this.#clock, random: this.#random }),
      );
    } finally {
      this.#answering -= 1;
    }
  }

  /** A browser that is signed in under this name. */
  async member(name: string): Promise<TestBrowser> {
    const browser = new TestBrowser(this.origin, (_origin, path, question) => this.#page(path, question));
    await browser.submit("/login", "/login/development", { name });
    return browser;
  }

  /** Copies the store as it is. Returns the way to go on with that copy. */
  backup(): () => Promise<void> {
    const folder = join(this.#folder, `backup-${this.#random.uuid()}`);
    mkdirSync(folder);
    this.#store.backup(join(folder, STORE_FILE));
    return () => this.#restore(folder);
  }

  async dispose(): Promise<void> {
    await this.#store.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #settings(): Settings {
    return {
      folder: this.#folder,
      database: null,
      host: "127.0.0.1",
      port: 443,
      origin: this.origin,
      proxies: 1,
      developmentLogin: true,
      minimumVersion: null,
      issuer: null,
    };
  }

  get #log(): Log {
    const note = (event: string, fields?: object): void => {
      this.unexpected.push(`${event} ${JSON.stringify(fields ?? {})}`);
    };
    return { debug: () => {}, info: () => {}, warn: note, error: note };
  }

  async #open(folder: string): Promise<void> {
    this.#store = await openStore({ folder, database: null, log: this.#log });
    // The disk under this store doesn't fail, and nobody waits for it.
    await sql`pragma synchronous = off`.execute(this.#store.db);
    this.#app = appOf(this.#settings, {
      clock: this.#clock,
      random: this.#random,
      log: this.#log,
      http: this.#web.clientOf(this),
      store: this.#store,
      key: this.#key,
      limits: this.#limits,
      metrics: METRICS,
      signal: new AbortController().signal,
      trouble: async () => null,
    });
  }

  async #restore(folder: string): Promise<void> {
    this.#isRestoring = true;
    // What was begun is answered first.
    while (this.#answering > 0) await new Promise<void>((resolve) => void this.#world.after(100, resolve));
    await this.#store.close();
    await this.#open(folder);
    this.#isRestoring = false;
  }

  async #served(request: WebRequest): Promise<WebAnswer> {
    this.#answering += 1;
    try {
      return await served(this.#app, request);
    } finally {
      this.#answering -= 1;
    }
  }

  async #page(
    path: string,
    {
      method = "GET",
      headers = {},
      body = "",
    }: { method?: string; headers?: object; body?: string | Uint8Array } = {},
  ): Promise<Answer> {
    if (!this.isUsable) throw new Error("The pages of the account service don't answer.");
    const answer = await this.#served({
      method,
      url: new URL(path, this.origin),
      headers: headers as Record<string, string>,
      body: Buffer.from(body),
      from: "127.0.0.1",
    });
    const cookies = { "set-cookie": [answer.headers["set-cookie"] ?? []].flat() };
    return { ...answer, headers: { ...answer.headers, ...cookies }, body: answer.body.toString("utf8") };
  }

  async #answer(request: WebRequest): Promise<WebAnswer> {
    const device = request.headers["authorization"] ?? "";
    const { pathname } = request.url;
    switch (this.trouble) {
      case "silent":
        return new Promise(() => {});
      case "slow": {
        await this.#wait();
        const answer = await this.#served(request);
        await this.#wait();
        return answer;
      }
      case "redirect":
        return { status: 302, headers: { location: "https://elsewhere.example/" }, body: Buffer.alloc(0) };
      case "garbage":
        return this.#garbage(this.#chance.happens(0.5) ? await this.#served(request) : null);
      case "other": {
        const answer = await this.#served(request);
        const others = [...(this.#last.get(pathname) ?? [])].filter(([other]) => other !== device);
        return others.length === 0 ? answer : { ...answer, status: 200, body: this.#chance.one(others)[1] };
      }
      case "down":
      case null: {
        const answer = await this.#served(request);
        if (answer.status === 200 && device !== "") {
          const known = this.#last.get(pathname) ?? new Map<string, Buffer>();
          this.#last.set(pathname, known.set(device, answer.body));
        }
        return answer;
      }
    }
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#world.after(this.#chance.duration(1, 30 * SECOND), resolve);
    });
  }

  #garbage(answer: WebAnswer | null): WebAnswer {
    const page = Buffer.from("<!doctype html><title>Welcome</title>");
    const cut = (answer?.body ?? page).subarray(0, this.#chance.below(answer?.body.length ?? 8));
    const status = this.#chance.one([200, 200, 200, 400, 401, 403, 404, 409, 429, 500, 502, 503]);
    const body = this.#chance.one([page, cut, Buffer.alloc(0), Buffer.from("{}"), Buffer.from("null")]);
    return { status, headers: status === 503 ? { "retry-after": "30" } : {}, body };
  }
}
