/**
 * Sessions of external Actors: who holds delivered messages (docs/core-model.md#actor). A session
 * lives while a connection holds its lease or a call is running, and for a while after its last
 * call. When it ends, the next one gets what it didn't acknowledge.
 */

import { type Clock, type Timer, timestamp } from "../../../platform/clock.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";

/** One Actor in one generation. */
export interface ActorIdentity {
  group_id: string;
  actor_id: string;
  generation: string;
}

/** Held by a connection for as long as it lasts. */
export interface Lease {
  /**
   * The connection is gone. The session ends if this was its last lease, and at once if its
   * messages are `lost`. Idempotent.
   */
  release(isLost?: boolean): void;
}

/**
 * Taken for an answer; the answer has left; acknowledged soon unless it turns out that it was never
 * read.
 */
type BatchState = "taken" | "answered" | "settling";

export interface Session {
  readonly identity: ActorIdentity;
  /** As its port named it; null for single calls without a session, which share one. */
  readonly name: string | null;
  /** When it began, and when it last called. */
  readonly since: string;
  lastCall: string;
  /** Batches delivered and not acknowledged. */
  readonly batches: Map<string, BatchState>;
  /** Bytes of the text that were given so far of messages that come in parts, by event. */
  readonly parts: Map<string, number>;
  /** A read waits for messages. */
  isWaiting: boolean;
  /** What the last batch held, until the session waits again, and when it was taken. */
  took: number;
  tookAt: string | null;
  /** It took something and hasn't called for long. */
  isQuiet: boolean;
  /**
   * Why the session is over; null while it lives. Running calls end with the refusal, or empty
   * without one.
   */
  over: { refusal: Refusal | null } | null;
}

interface Kept extends Session {
  readonly key: string;
  readonly leases: Set<() => void>;
  calls: number;
  /** Steps that `soon` will run. */
  steps: number;
  lastCallAt: number;
  timer: Timer | null;
}

export interface SessionsOptions {
  clock: Clock;
  /** The session is over and holds nothing. */
  ended: (session: Session) => void;
  /** `isQuiet` changed. */
  quiet: (session: Session) => void;
}

const IDLE_MS = LIMITS.actorSession.idleSeconds * 1000;
const QUIET_MS = LIMITS.actorSession.quietSeconds * 1000;

export class Sessions {
  readonly #clock: Clock;
  readonly #ended: SessionsOptions["ended"];
  readonly #quiet: SessionsOptions["quiet"];
  readonly #byKey = new Map<string, Kept>();
  readonly #byActor = new Map<string, Set<Kept>>();
  readonly #byBatch = new Map<string, Kept>();

  constructor(options: SessionsOptions) {
    this.#clock = options.clock;
    this.#ended = options.ended;
    this.#quiet = options.quiet;
  }

  /**
   * A connection holds the session. `ended` is called if the daemon ends it. Throws limit_reached.
   */
  open(identity: ActorIdentity, name: string, ended: () => void): Lease {
    const session = this.#session(identity, name);
    // One entry per lease, also when two share a callback.
    const lease = (): void => ended();
    session.leases.add(lease);
    return {
      release: (isLost = false) => {
        if (!session.leases.delete(lease) || session.leases.size > 0) return;
        if (isLost || session.steps === 0) this.#end(session);
      },
    };
  }

  /** A call of the session, which is created if it is new. Throws limit_reached. */
  touch(identity: ActorIdentity, name: string | null): Session {
    const session = this.#session(identity, name);
    session.lastCallAt = this.#clock.monotonic();
    session.lastCall = timestamp(this.#clock);
    this.#hush(session, false);
    return session;
  }

  /**
   * A call starts that may take long. The session doesn't end by idling before the returned
   * function is called.
   */
  enter(session: Session): () => void {
    const kept = session as Kept;
    kept.calls += 1;
    return () => {
      kept.calls -= 1;
      kept.lastCallAt = this.#clock.monotonic();
    };
  }

  /**
   * Runs `step` after the given milliseconds unless the session ends before. Without a lease the
   * session ends then.
   */
  soon(session: Session, milliseconds: number, step: () => Promise<void>): void {
    const kept = session as Kept;
    const held = kept.leases.size > 0;
    kept.steps += 1;
    const run = async (): Promise<void> => {
      if (kept.over === null) await step();
      kept.steps -= 1;
      if (held && kept.steps === 0 && kept.leases.size === 0) this.#end(kept);
    };
    this.#clock.after(milliseconds, () => void run(), { background: true });
  }

  /** The session took a batch. False when it has ended in the meantime. */
  hold(session: Session, batchId: string): boolean {
    const kept = session as Kept;
    if (kept.over !== null) return false;
    kept.batches.set(batchId, "taken");
    this.#byBatch.set(batchKey(kept.identity, batchId), kept);
    return true;
  }

  /** The batch was acknowledged or taken back. */
  drop(actor: BatchOwner, batchId: string): void {
    const key = batchKey(actor, batchId);
    this.#byBatch.get(key)?.batches.delete(batchId);
    this.#byBatch.delete(key);
  }

  /** Whether a living session holds the batch. */
  isHeld(actor: BatchOwner, batchId: string): boolean {
    return this.#byBatch.has(batchKey(actor, batchId));
  }

  /** Living sessions of an Actor, whatever its generation. */
  of(groupId: string, actorId: string): Iterable<Session> {
    return this.#byActor.get(`${groupId}/${actorId}`) ?? [];
  }

  /**
   * Ends the sessions that `isOver` picks. Running calls end with `refusal`, or empty without one.
   */
  endWhere(isOver: (identity: ActorIdentity) => boolean, refusal: Refusal | null): void {
    for (const session of this.#byKey.values()) {
      if (!isOver(session.identity)) continue;
      const leases = [...session.leases];
      this.#end(session, refusal);
      for (const ended of leases) ended();
    }
  }

  #session(identity: ActorIdentity, name: string | null): Kept {
    const { group_id: groupId, actor_id: actorId, generation } = identity;
    const key = `${groupId}/${actorId}/${generation}/${name === null ? "" : `/${name}`}`;
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const actor = `${groupId}/${actorId}`;
    const siblings = this.#byActor.get(actor) ?? new Set();
    if (siblings.size >= LIMITS.actorSession.perActor) {
      const limit = LIMITS.actorSession.perActor;
      throw new Refusal("limit_reached", {
        specifics: `The Actor has ${limit} sessions, which is the limit.`,
        remedy: "End one of its processes.",
        details: { limit },
      });
    }
    const now = timestamp(this.#clock);
    const session: Kept = {
      key,
      identity: { group_id: groupId, actor_id: actorId, generation },
      name,
      since: now,
      lastCall: now,
      batches: new Map(),
      parts: new Map(),
      isWaiting: false,
      took: 0,
      tookAt: null,
      isQuiet: false,
      over: null,
      leases: new Set(),
      calls: 0,
      steps: 0,
      lastCallAt: this.#clock.monotonic(),
      timer: null,
    };
    this.#byKey.set(key, session);
    siblings.add(session);
    this.#byActor.set(actor, siblings);
    this.#watch(session, IDLE_MS);
    return session;
  }

  #watch(session: Kept, milliseconds: number): void {
    session.timer = this.#clock.after(
      milliseconds,
      () => {
        const since = this.#clock.monotonic() - session.lastCallAt;
        const left = IDLE_MS - since;
        this.#hush(session, session.took > 0 && session.calls === 0 && since >= QUIET_MS);
        if (session.leases.size > 0 || session.calls > 0) this.#watch(session, IDLE_MS);
        else if (left > 0) this.#watch(session, left);
        else this.#end(session);
      },
      { background: true },
    );
  }

  #hush(session: Kept, isQuiet: boolean): void {
    if (session.isQuiet === isQuiet) return;
    session.isQuiet = isQuiet;
    this.#quiet(session);
  }

  #end(session: Kept, refusal: Refusal | null = null): void {
    if (session.over !== null) return;
    session.over = { refusal };
    session.timer?.cancel();
    session.leases.clear();
    this.#byKey.delete(session.key);
    const actor = `${session.identity.group_id}/${session.identity.actor_id}`;
    const siblings = this.#byActor.get(actor);
    siblings?.delete(session);
    if (siblings?.size === 0) this.#byActor.delete(actor);
    for (const batchId of session.batches.keys()) this.drop(session.identity, batchId);
    this.#ended(session);
  }
}

type BatchOwner = Pick<ActorIdentity, "group_id" | "actor_id">;

/**
 * An imported Group has the batches of its original, and no Actor may drop another's by naming it.
 */
function batchKey({ group_id: groupId, actor_id: actorId }: BatchOwner, batchId: string): string {
  return `${groupId}/${actorId}/${batchId}`;
}
