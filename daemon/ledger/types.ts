/** The face of the ledger: what a Group's ledger accepts and returns. */
import type { EventOf, LedgerEvent } from "../../shared/events.ts";
import type { LIMITS } from "../../shared/limits.ts";

/** What a caller hands over; the ledger adds `v`, `group_id` and, unless given, `id` and `ts`. */
export type NewEvent<Kind extends LedgerEvent["kind"] = LedgerEvent["kind"]> = Kind extends unknown
  ? Pick<EventOf<Kind>, "kind" | "scope_key" | "by" | "data"> & NewParts
  : never;

interface NewParts {
  id?: string;
  ts?: string;
  /**
   * Idempotency key, already qualified by its owner (sender and `client_id`). It is kept in the
   * index of keys for as long as the event exists. The event's data must contain what `keyOf` needs
   * to find the same key again in a rebuild.
   */
  key?: string | undefined;
}

/**
 * Position of an event in append order over the whole history, from 0. Never reused; stable over
 * compaction and restart.
 */
export type Ordinal = number;

export interface Placed<Kind extends LedgerEvent["kind"] = LedgerEvent["kind"]> {
  ordinal: Ordinal;
  event: EventOf<Kind>;
  /** The event's JSON, when it was appended just now. */
  json?: string;
}

/**
 * What keys and projections see of an event. During a rebuild it points into the raw line and is
 * reused for the next one, so nothing may keep it. For `chat.message`, `data` and `string` may know
 * only the members before `text`. For every other kind they know all.
 */
export interface EventHead {
  readonly id: string;
  readonly ts: string;
  readonly kind: string;
  readonly scope_key: string;
  readonly by: string;
  /**
   * Parsed on first use (about a microsecond). Prefer `string` where a rebuild meets every event.
   */
  readonly data: Record<string, unknown>;
  /** The member `name` of `data` when it is a string, without parsing the rest. */
  string(name: string): string | undefined;
}

/**
 * Follows the ledger: rebuilt from it, then updated by every append in order. `apply` must not
 * throw for events of unknown shape. `checkpoint` and `restore` let an open skip sealed segments. A
 * checkpoint that doesn't restore is discarded.
 */
export interface Projection {
  readonly name: string;
  /** Raises when the meaning of a checkpoint changes. */
  readonly version: number;
  /**
   * False for lines of this kind that `apply` would ignore, so that a rebuild needn't look at them.
   */
  wants(kind: string): boolean;
  apply(event: EventHead, ordinal: Ordinal): void;
  reset(): void;
  /**
   * The whole state. The same events give the same bytes, however often it was restored in between:
   * `verify` compares them.
   */
  checkpoint(): Uint8Array;
  /** Throws when the bytes aren't a checkpoint of this version; `reset` follows then. */
  restore(bytes: Uint8Array): void;
  /** A new, empty one of the same kind, for `verify`. */
  fresh(): Projection;
}

export interface PageRequest {
  /**
   * Events before (older than) or after this one, without it; both absent means those at an end.
   */
  before?: string | undefined;
  after?: string | undefined;
  /** The end to use if neither is given; the newest by default. */
  from?: "newest" | "oldest" | undefined;
  limit: number;
  kinds?: ReadonlySet<string> | undefined;
}

/** Events around one event: `before` older ones, the event itself, `after` newer ones. */
export interface WindowRequest {
  around: string;
  before: number;
  after: number;
  kinds?: ReadonlySet<string> | undefined;
}

/** Events oldest first; `older` and `newer` say whether further events lie on that side. */
export interface Window {
  events: LedgerEvent[];
  older: boolean;
  newer: boolean;
  unreadable?: string[];
}

/**
 * Events oldest first. `more` says whether further events lie in the direction of travel;
 * `unreadable` has the ids of those between them that the disk no longer holds.
 */
export interface Page {
  events: LedgerEvent[];
  more: boolean;
  unreadable?: string[];
}

export interface SearchRequest {
  /** Empty finds every event with a text. */
  query: string;
  before?: string | undefined;
  limit: number;
  kinds?: ReadonlySet<string> | undefined;
  /** Leaves out what it returns false for. */
  accepts?: ((event: LedgerEvent) => boolean) | undefined;
  /** Only these, in any order. */
  among?: readonly Ordinal[] | undefined;
}

/**
 * Matches oldest first. One call reads a bounded part of the history. `before` continues with older
 * events; null if that was all.
 */
export interface SearchPage extends Page {
  before: string | null;
}

/**
 * The idempotency key of an event in a rebuild: the same string that `NewEvent.key` had at the
 * append.
 */
export type KeyOf = (event: EventHead) => string | undefined;

export interface LedgerOptions {
  group_id: string;
  projections: Projection[];
  keyOf: KeyOf;
  /** Something was certainly recorded: an empty history is a damaged one. */
  isRecorded?: boolean;
  /** Smaller limits, for tests. */
  limits?: Partial<LedgerLimits>;
}

export type LedgerLimits = { [Name in keyof typeof LIMITS.ledger]: number };
