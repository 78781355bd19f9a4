/**
 * A network between simulated machines: bytes in order on each connection, in pieces and late; ways
 * that are cut and healed, connections that swallow what they are given, ends that vanish without a
 * word.
 */
import type {
  BindAddress,
  BoundListener,
  IncomingLink,
  Link,
  LinkHandler,
  Links,
} from "../../daemon/peers/direct/link.ts";
import type { Chance } from "../support/chance.ts";
import type { World } from "./world.ts";

/** One run of a daemon, as the network sees it. */
export interface Host {
  readonly machine: string;
  /** Base64 of its key. */
  readonly public_key: string;
  /** It was killed, or lost its power. */
  readonly isOver: boolean;
  /** Its machine answers for what isn't there any more. */
  readonly isReachable: boolean;
}

interface Listening {
  host: Host;
  accept: (link: IncomingLink) => void;
}

type Parcel = { bytes: Uint8Array } | { end: string | null };

/** The longest way when all is well; milliseconds. */
export const USUAL_DELAY_MS = 20;
/** What a connection takes without the other end's having got it. */
const BUFFER_BYTES = 64 * 1024;

class End implements Link {
  readonly peer_key: string;
  readonly host: Host;
  other!: End;
  /** What is sent is taken and lost. */
  isSwallowing = false;
  isClosed = false;
  /** Called when this end is closed. */
  readonly closed: (() => void)[] = [];
  readonly #network: SimulatedNetwork;
  readonly #arrived: Uint8Array[] = [];
  #handler: LinkHandler | null = null;
  #end: { reason: string | null } | undefined;
  /** True time at which the last parcel arrives. */
  #lastArrival = 0;
  #underWay = 0;
  readonly #waiting: (() => void)[] = [];
  /** What is on its way, in order. */
  readonly #line: Parcel[] = [];
  /** How many of the line's parcels wait at a cut. */
  #held = 0;

  constructor(network: SimulatedNetwork, host: Host, peerKey: string) {
    this.#network = network;
    this.host = host;
    this.peer_key = peerKey;
  }

  receive(handler: LinkHandler): void {
    this.#handler = handler;
    for (const bytes of this.#arrived.splice(0)) this.#handler?.data(bytes);
    if (this.#end !== undefined) this.#tellEnd();
  }

  send(bytes: Uint8Array, sent: () => void): void {
    if (this.host.isOver || this.isClosed) return;
    const { chance } = this.#network;
    const copy = new Uint8Array(bytes);
    const cut = chance.happens(0.2) ? chance.between(0, copy.length) : copy.length;
    for (const part of [copy.subarray(0, cut), copy.subarray(cut)]) {
      if (part.length > 0) this.#dispatch({ bytes: part });
    }
    const taken = (): void => {
      if (!this.host.isOver && !this.isClosed) sent();
    };
    if (this.#underWay <= BUFFER_BYTES) this.#network.world.turns.put(taken);
    else this.#waiting.push(taken);
  }

  close(): void {
    this.#handler = null;
    if (this.host.isOver) return;
    this.end(null);
  }

  /** The last that is said from here. */
  end(reason: string | null): void {
    if (this.isClosed) return;
    this.isClosed = true;
    for (const told of this.closed.splice(0)) told();
    this.#dispatch({ end: reason });
    this.#network.forget(this);
  }

  /** A way is open again. */
  healed(): void {
    for (; this.#held > 0; this.#held -= 1) this.#carry();
  }

  #dispatch(parcel: Parcel): void {
    this.#line.push(parcel);
    if ("bytes" in parcel) this.#underWay += parcel.bytes.length;
    this.#carry();
  }

  /** The line's next parcel that nothing carries yet arrives after a while. */
  #carry(): void {
    const { world } = this.#network;
    const delay = this.#network.delay();
    this.#lastArrival = Math.max(this.#lastArrival, world.time + delay);
    world.after(this.#lastArrival - world.time, () => this.#arrive());
  }

  #arrive(): void {
    if (this.isSwallowing) return;
    if (this.#network.isCut(this, this.other)) {
      this.#held += 1;
      return;
    }
    const parcel = this.#line.shift()!;
    if ("bytes" in parcel) this.#underWay -= parcel.bytes.length;
    const { other } = this;
    if (other.host.isOver) {
      if (other.host.isReachable) this.#reset();
      return;
    }
    if (this.#underWay <= BUFFER_BYTES) for (const taken of this.#waiting.splice(0)) taken();
    if ("end" in parcel) other.arriveEnd(parcel.end);
    else if (other.isClosed) this.#reset();
    else other.#take(parcel.bytes);
  }

  /** The other machine knows nothing of this connection. */
  #reset(): void {
    const { world } = this.#network;
    world.after(this.#network.delay(), () => {
      if (!this.host.isOver) this.arriveEnd("The connection was reset.");
    });
  }

  #take(bytes: Uint8Array): void {
    if (this.#end !== undefined) return;
    if (this.#handler === null) this.#arrived.push(bytes);
    else this.#handler.data(bytes);
  }

  arriveEnd(reason: string | null): void {
    if (this.isClosed || this.#end !== undefined) return;
    this.#end = { reason };
    this.#network.forget(this);
    if (this.#handler !== null) this.#tellEnd();
  }

  #tellEnd(): void {
    const handler = this.#handler;
    this.#handler = null;
    handler?.ended(this.#end?.reason ?? null);
  }
}

export class SimulatedNetwork {
  readonly world: World;
  readonly chance: Chance;
  /** The longest way now; milliseconds. */
  delayMax = USUAL_DELAY_MS;
  readonly #listening = new Map<string, Listening>();
  readonly #ends = new Set<End>();
  /** Pairs of machines that don't reach each other. */
  readonly #cuts = new Set<string>();

  constructor(world: World) {
    this.world = world;
    this.chance = world.chance.stream("network");
  }

  /** How long something is on its way now. */
  delay(): number {
    return this.chance.duration(1, this.delayMax);
  }

  isCut(one: { host: Host }, other: { host: Host }): boolean {
    return this.#cuts.has(pairOf(one.host.machine, other.host.machine));
  }

  areApart(one: string, other: string): boolean {
    return this.#cuts.has(pairOf(one, other));
  }

  cut(one: string, other: string): void {
    this.#cuts.add(pairOf(one, other));
  }

  heal(one: string, other: string): void {
    this.#cuts.delete(pairOf(one, other));
    for (const end of this.#ends) end.healed();
  }

  /** A connection that swallows what one end sends; says whose, or null when there is none. */
  swallow(): [from: string, to: string] | null {
    const ends = [...this.#ends].filter((end) => !end.isSwallowing && !end.host.isOver);
    if (ends.length === 0) return null;
    const end = this.chance.one(ends);
    end.isSwallowing = true;
    return [end.host.machine, end.other.host.machine];
  }

  /** All swallowing connections end. */
  settle(): void {
    for (const end of this.#ends) {
      if (!end.isSwallowing && !end.other.isSwallowing) continue;
      for (const one of [end, end.other]) if (!one.host.isOver) one.arriveEnd("The connection timed out.");
    }
  }

  /** The process of `host` is gone. With its machine running the other ends hear of it. */
  gone(host: Host): void {
    for (const [at, { host: listening }] of this.#listening)
      if (listening === host) this.#listening.delete(at);
    for (const end of this.#ends) {
      if (end.host !== host) continue;
      if (host.isReachable) end.end("The connection was reset.");
      else this.#ends.delete(end);
    }
  }

  forget(end: End): void {
    // What it sent may be on its way, or wait at a cut.
    if (end.isClosed && end.other.isClosed) {
      this.#ends.delete(end);
      this.#ends.delete(end.other);
    }
  }

  linksOf(host: Host): Links {
    return {
      listen: async (at, accept): Promise<BoundListener> => {
        const key = keyOf(at);
        if (this.#listening.has(key)) throw Object.assign(new Error("EADDRINUSE"), { code: "EADDRINUSE" });
        const listening = { host, accept };
        if (!host.isOver) this.#listening.set(key, listening);
        return {
          close: async () => {
            if (this.#listening.get(key) === listening) this.#listening.delete(key);
          },
        };
      },
      connect: (at, peerKey, signal) => this.#connect(host, at, peerKey, signal),
    };
  }

  #connect(host: Host, at: BindAddress, peerKey: string, signal: AbortSignal): Promise<Link> {
    const { world } = this;
    const delay = (): number => this.delay();
    return new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(new Error("The attempt was abandoned.")));
      if (signal.aborted) reject(new Error("The attempt was abandoned."));
      const fail = (message: string): void => void world.after(delay(), () => reject(new Error(message)));
      world.after(delay(), () => {
        const listening = this.#listening.get(keyOf(at));
        const machine = machineOf(at);
        if (host.isOver || this.areApart(host.machine, machine)) return;
        if (listening === undefined)
          return this.isDark(machine) ? undefined : fail("The connection was refused.");
        if (listening.host.public_key !== peerKey) return fail("The other side has another key.");
        const here = new End(this, host, listening.host.public_key);
        const there = new End(this, listening.host, host.public_key);
        here.other = there;
        there.other = here;
        this.#ends.add(here);
        this.#ends.add(there);
        const secured = new Promise<Link>((done) => void world.after(delay(), () => done(there)));
        listening.accept({
          address: machineAddress(host.machine),
          secure: () => secured,
          destroy: () => there.close(),
          whenClosed: (told) => void there.closed.push(told),
        });
        world.after(delay() * 2, () => {
          if (host.isOver) return;
          if (signal.aborted) here.end(null);
          else resolve(here);
        });
      });
    });
  }

  /** Whether a machine has no power; set by who switches it. */
  isDark: (machine: string) => boolean = () => false;
}

/** Machines are numbers in words; each has one address. */
export function machineAddress(machine: string): string {
  return `192.0.2.${machine}`;
}

function machineOf({ host }: BindAddress): string {
  return host.slice("192.0.2.".length);
}

function keyOf({ host, port }: BindAddress): string {
  return `${host}:${port}`;
}

function pairOf(one: string, other: string): string {
  return one < other ? `${one} ${other}` : `${other} ${one}`;
}
