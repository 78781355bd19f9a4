/**
 * HTTPS between simulated machines: requests that get lost, come late or again, and answers that
 * somebody else gives.
 */
import type { HttpAsked, HttpClient, HttpFailure, HttpOutcome } from "../../platform/http/client.ts";
import type { WebAnswer, WebRequest } from "./exchange.ts";
import { type Host, machineAddress, type SimulatedNetwork } from "./network.ts";
import type { World } from "./world.ts";

/** What answers at an origin. */
export interface WebSite {
  /** Null when nothing listens there now. */
  host: () => Host | null;
  /** Its machine is there but has no power. */
  isDark: () => boolean;
  answer: (request: WebRequest) => Promise<WebAnswer>;
  /** How often a request comes again. */
  copies: () => number;
}

const NOTHING = Buffer.alloc(0);
/** With what a proxy may hold a copy up. */
const LATE_MS = 30_000;

export class SimulatedWeb {
  readonly world: World;
  readonly network: SimulatedNetwork;
  readonly #sites = new Map<string, { machine: string; site: WebSite }>();
  /** Names that lead to another machine's site, by origin. */
  readonly misled = new Map<string, string>();

  constructor(world: World, network: SimulatedNetwork) {
    this.world = world;
    this.network = network;
  }

  add(machine: string, site: WebSite): void {
    this.#sites.set(originOf(machine), { machine, site });
  }

  /** The client of one run. */
  clientOf(host: Host): HttpClient {
    return {
      request: (asked) => new Sent(this, host, asked).outcome,
      close: () => {},
    };
  }

  find(url: URL): { machine: string; site: WebSite } | undefined {
    return this.#sites.get(this.misled.get(url.origin) ?? url.origin);
  }
}

/** One request on its way. */
class Sent {
  readonly outcome: Promise<HttpOutcome>;
  readonly #web: SimulatedWeb;
  readonly #host: Host;
  readonly #asked: HttpAsked;
  readonly #url: URL;
  #end: (outcome: HttpOutcome) => void = () => {};
  #escaped = false;

  constructor(web: SimulatedWeb, host: Host, asked: HttpAsked) {
    this.#web = web;
    this.#host = host;
    this.#asked = asked;
    this.#url = new URL(asked.url);
    const { signal, milliseconds } = asked;
    const aborted = (): void => this.#fail("aborted", "The daemon is shutting down.");
    this.outcome = new Promise((resolve) => {
      const timer = web.world.after(milliseconds, () => this.#fail("timeout", "It didn't answer in time."));
      this.#end = (outcome) => {
        this.#end = () => {};
        timer.cancel();
        signal.removeEventListener("abort", aborted);
        // Nobody is there any more to hear of it.
        if (!host.isOver) resolve(outcome);
      };
    });
    signal.addEventListener("abort", aborted);
    if (signal.aborted) aborted();
    else this.#later(() => this.#connect());
  }

  #later(task: () => void): void {
    this.#web.world.after(this.#web.network.delay(), task);
  }

  #fail(why: HttpFailure, reason: string): void {
    this.#end({ kind: "failed", why, escaped: this.#escaped, reason });
  }

  /** Who is there, if the way is open; what is said on a way that is cut is lost. */
  #there(): WebSite | null {
    const found = this.#web.find(this.#url);
    if (found === undefined) {
      this.#fail("unreachable", "Its name can't be resolved.");
      return null;
    }
    if (this.#web.network.areApart(this.#host.machine, found.machine)) return null;
    if (found.site.host() === null) {
      if (!found.site.isDark()) this.#fail("unreachable", "Nothing listens there.");
      return null;
    }
    return found.site;
  }

  #connect(): void {
    if (this.#host.isOver || this.#asked.signal.aborted || this.#there() === null) return;
    this.#escaped = true;
    const { method, headers, body } = this.#asked;
    let bytes: Buffer;
    try {
      bytes = body === null ? NOTHING : Buffer.concat(Array.from(body.parts, (part) => Buffer.from(part)));
    } catch {
      return this.#fail("unreachable", "A file couldn't be read.");
    }
    const from = machineAddress(this.#host.machine);
    const request = { method, url: this.#url, headers, body: bytes, from };
    this.#later(() => this.#arrive(request));
  }

  #arrive(request: WebRequest): void {
    const { world, network } = this.#web;
    const site = this.#there();
    if (site === null) return;
    if (network.chance.happens(site.copies())) {
      // A proxy sends it again, perhaps when another run answers there.
      world.after(network.chance.duration(1, LATE_MS), () => {
        if (site.host() !== null) void site.answer(request);
      });
    }
    void site.answer(request).then((answer) => this.#later(() => this.#take(answer)));
  }

  #take({ status, headers, body }: WebAnswer): void {
    const found = this.#web.find(this.#url);
    if (found !== undefined && this.#web.network.areApart(this.#host.machine, found.machine)) return;
    if (status >= 300 && status < 400) return this.#fail("invalid", "It answers with a redirect.");
    if (body.length > this.#asked.limit) return this.#fail("invalid", "Its answer is too large.");
    const plain = Object.entries(headers).map(([name, value]) => [name, String(value)]);
    this.#end({ kind: "answered", status, headers: Object.fromEntries(plain), body });
  }
}

/** Where a machine's Web listener is reached. */
export function originOf(machine: string): string {
  return `https://machine-${machine}.example`;
}
