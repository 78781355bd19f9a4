/**
 * Which record is worked on next (docs/protocol.md#scheduler): at most four at a time, one per
 * peer, with slots rotating among the peers that have work. Acceptance, completion and changes of
 * grants wake it. The scan once per second is the safety net and runs only while there are records.
 */

import type { Clock, Timer } from "../../../platform/clock.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { isDirect } from "../../../shared/wire/v1/fields.ts";
import { DELIVERY_NOTES } from "../../../shared/wire/v1/refusals.ts";
import type { GroupRegistry } from "../../groups/registry.ts";
import type { Authorities } from "../authorities.ts";
import type { Outbox } from "./outbox.ts";
import type { OutboxEntry } from "./outbox-entry.ts";
import { bindingOf, type OutboxWorker, type Step } from "./worker.ts";

interface Dependencies {
  clock: Clock;
  log: Log;
  outbox: Outbox;
  worker: Pick<OutboxWorker, "step">;
  authorities: Authorities;
  registry: Pick<GroupRegistry, "knows">;
}

/** Why and how long a record waits, in monotonic milliseconds. */
interface Wait {
  notBefore: number;
  /** It waits for the peer: the wait ends when a route to it opens. */
  forPeer: boolean;
  /** Attempts that failed although there was a route. */
  strikes: number;
  /** Its grant is gone, so it ends now. */
  isUrgent: boolean;
}

/** One way to a peer, and how it has failed. */
interface Way {
  failures: number;
  until: number;
  /** The last failure happened before anything left this process, so an open route needn't wait. */
  isClean: boolean;
  failedAt: number;
}

interface Peer {
  /** By Direct connection, and the Web's: one that fails doesn't keep others from theirs. */
  ways: Map<string, Way>;
  /** Turn in which it was last served. */
  turn: number;
  running: OutboxEntry | null;
}

/** All connections but Direct ones take it. */
const WEB = "web";

const { outbox: limits } = LIMITS;

export class Scheduler {
  readonly #deps: Dependencies;
  readonly #waits = new WeakMap<OutboxEntry, Wait>();
  readonly #peers = new Map<string, Peer>();
  readonly #running = new Set<Promise<void>>();
  readonly #abort = new AbortController();
  readonly #stops: (() => void)[] = [];
  #turn = 0;
  #timer: Timer | null = null;
  #isScanning = false;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  start(): void {
    for (const entry of this.#deps.outbox.entries()) this.#takeUp(entry);
    this.#stops.push(
      this.#deps.authorities.onChange(() => this.#grantsChanged()),
      this.#deps.authorities.onReachable((instanceId) => this.#reachable(instanceId)),
    );
    this.wake();
  }

  /** Looks for work now. */
  wake(): void {
    if (this.#abort.signal.aborted || this.#isScanning) return;
    this.#isScanning = true;
    try {
      this.#retire();
      this.#assign();
    } finally {
      this.#isScanning = false;
    }
    this.#arm();
  }

  /** A Group is available again, so its records needn't wait longer. */
  groupOpened(groupId: string): void {
    for (const entry of this.#deps.outbox.entries()) {
      if (entry.source.group_id === groupId) this.#waitOf(entry).notBefore = 0;
    }
    this.wake();
  }

  /** Waits for running work. Requests to peers end at once. */
  async close(): Promise<void> {
    for (const stop of this.#stops.splice(0)) stop();
    this.#abort.abort();
    this.#timer?.cancel();
    this.#timer = null;
    await Promise.all(this.#running);
  }

  #arm(): void {
    if (this.#timer !== null || this.#deps.outbox.size === 0) return;
    const tick = (): void => {
      this.#timer = null;
      this.wake();
    };
    this.#timer = this.#deps.clock.after(limits.scanSeconds * 1000, tick, { background: true });
  }

  #assign(): void {
    const now = this.#deps.clock.monotonic();
    const wall = this.#deps.clock.now();
    const best = new Map<string, OutboxEntry>();
    for (const entry of this.#deps.outbox.entries()) {
      const peer = this.#peerOf(entry.peer);
      if (peer.running !== null || !this.#isDue(entry, now, wall)) continue;
      const rival = best.get(entry.peer);
      if (rival === undefined || this.#comesBefore(entry, rival)) best.set(entry.peer, entry);
    }
    const turns = [...best.values()].sort((a, b) => this.#peerOf(a.peer).turn - this.#peerOf(b.peer).turn);
    for (const entry of turns) {
      if (this.#running.size >= limits.jobs) return;
      this.#run(entry);
    }
  }

  #isDue(entry: OutboxEntry, now: number, wall: number): boolean {
    const wait = this.#waitOf(entry);
    if (wait.isUrgent) return true;
    if (wait.notBefore > now) return false;
    // Work whose time is over ends without asking the peer.
    return this.#wayOf(entry).until <= now || entry.deliver_before <= wall;
  }

  /** In order of acceptance, but a job that keeps failing on its route lets others go first. */
  #comesBefore(one: OutboxEntry, other: OutboxEntry): boolean {
    const strikes = this.#waitOf(one).strikes - this.#waitOf(other).strikes;
    return strikes === 0 ? one.sequence < other.sequence : strikes < 0;
  }

  #run(entry: OutboxEntry): void {
    const peer = this.#peerOf(entry.peer);
    peer.running = entry;
    this.#turn += 1;
    peer.turn = this.#turn;
    this.#waitOf(entry).isUrgent = false;
    const running = this.#job(entry).finally(() => {
      peer.running = null;
      this.#running.delete(running);
      this.wake();
    });
    this.#running.add(running);
  }

  async #job(entry: OutboxEntry): Promise<void> {
    try {
      const step = await this.#deps.worker.step(entry, this.#abort.signal);
      await this.#settle(entry, step);
    } catch (error) {
      this.#deps.log.error("outbox_job", { delivery_id: entry.delivery_id, ...errorFields(error) });
      this.#waitOf(entry).notBefore = this.#deps.clock.monotonic() + limits.retrySecondsMin * 1000;
    }
  }

  async #settle(entry: OutboxEntry, step: Step): Promise<void> {
    const way = this.#wayOf(entry);
    if (step.answered) {
      way.failures = 0;
      way.until = 0;
    }
    if (step.kind === "ended") return;
    const { clock, outbox } = this.#deps;
    const now = clock.monotonic();
    const wait = this.#waitOf(entry);
    let seconds: number;
    if (step.kind === "peer") {
      seconds = backoff(way.failures);
      way.failures += 1;
      way.until = now + seconds * 1000;
      way.failedAt = now;
      way.isClean = !step.escaped;
      if (step.tried) wait.strikes += 1;
    } else seconds = step.seconds ?? backoff(entry.progress.attempts);
    wait.forPeer = step.kind === "peer";
    // Its window may end before that.
    const left = entry.deliver_before - clock.now();
    const milliseconds = left > 0 ? Math.min(seconds * 1000, left) : seconds * 1000;
    wait.notBefore = now + milliseconds;
    if (this.#abort.signal.aborted) return;
    await outbox.postpone(entry, {
      next_attempt_at: new Date(clock.now() + milliseconds).toISOString(),
      last_error: step.error,
    });
  }

  /**
   * A route to the peer opened: jobs that wait for that continue, after the shortest backoff if
   * something may have arrived before.
   */
  #reachable(instanceId: string): void {
    const peer = this.#peers.get(instanceId);
    if (peer !== undefined) {
      const now = this.#deps.clock.monotonic();
      for (const way of peer.ways.values())
        way.until = way.isClean ? 0 : Math.min(way.until, way.failedAt + limits.retrySecondsMin * 1000);
      for (const entry of this.#deps.outbox.entries()) {
        const wait = this.#waitOf(entry);
        if (entry.peer === instanceId && wait.forPeer)
          wait.notBefore = Math.min(wait.notBefore, Math.max(now, this.#wayOf(entry).until));
      }
    }
    this.wake();
  }

  /** Work whose grant is gone ends now. Work that was unavailable may continue. */
  #grantsChanged(): void {
    for (const entry of this.#deps.outbox.entries()) {
      const { state } = this.#deps.authorities.forBinding(bindingOf(entry));
      const wait = this.#waitOf(entry);
      if (state === "gone") wait.isUrgent = true;
      else if (state === "granted" && entry.progress.last_error?.code === "connect_unavailable")
        wait.notBefore = 0;
    }
    this.wake();
  }

  /** Removes records whose Group was deleted or reset, without a trace (OUT-036, OUT-037). */
  #retire(): void {
    const { outbox, registry } = this.#deps;
    for (const entry of outbox.entries()) {
      if (!registry.knows(entry.source.group_id) || outbox.isPast(entry)) this.#remove(entry);
    }
  }

  #remove(entry: OutboxEntry): void {
    try {
      this.#deps.outbox.remove(entry);
    } catch (error) {
      this.#deps.log.warn("outbox_retire", { delivery_id: entry.delivery_id, ...errorFields(error) });
    }
  }

  /** A record of an earlier run waits for the rest of its time, at most a minute by this clock. */
  #takeUp(entry: OutboxEntry): void {
    const {
      next_attempt_at: nextAttemptAt,
      last_error: lastError,
      attempts,
      needs_receipt: needsReceipt,
    } = entry.progress;
    if (nextAttemptAt === null) return;
    const { clock } = this.#deps;
    const left = Math.min(Date.parse(nextAttemptAt) - clock.now(), limits.retrySecondsMax * 1000);
    const until = clock.monotonic() + Math.max(0, left);
    const forPeer = lastError?.code === DELIVERY_NOTES.unreachable.code;
    this.#waits.set(entry, { notBefore: until, forPeer, strikes: needsReceipt ? 1 : 0, isUrgent: false });
    if (!forPeer) return;
    const way = this.#wayOf(entry);
    way.until = Math.max(way.until, until);
    way.failures = Math.max(way.failures, attempts);
    way.isClean &&= !needsReceipt;
    way.failedAt = clock.monotonic();
  }

  #waitOf(entry: OutboxEntry): Wait {
    let wait = this.#waits.get(entry);
    if (wait === undefined) {
      wait = { notBefore: 0, forPeer: false, strikes: 0, isUrgent: false };
      this.#waits.set(entry, wait);
    }
    return wait;
  }

  #peerOf(instanceId: string): Peer {
    let peer = this.#peers.get(instanceId);
    if (peer === undefined) {
      peer = { ways: new Map(), turn: 0, running: null };
      this.#peers.set(instanceId, peer);
    }
    return peer;
  }

  /** The way that a record takes to its peer. */
  #wayOf({ peer, connection_id: connectionId }: OutboxEntry): Way {
    const { ways } = this.#peerOf(peer);
    const key = connectionId !== null && isDirect(connectionId) ? connectionId : WEB;
    let way = ways.get(key);
    if (way === undefined) {
      way = { failures: 0, until: 0, isClean: true, failedAt: 0 };
      ways.set(key, way);
    }
    return way;
  }
}

/** Seconds to wait after this many failures in a row (LIM-044). */
function backoff(failures: number): number {
  const { backoffSeconds } = LIMITS.connect;
  return backoffSeconds[Math.min(failures, backoffSeconds.length - 1)]!;
}
