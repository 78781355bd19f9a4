/** The face of the ledger room: what a Group's ledger takes and gives. */
import type { LedgerEvent } from "../../shared/events.ts";

/** What a caller hands over; the ledger adds `v`, `group_id` and, unless given, `id` and `ts`. */
export interface NewEvent {
  id?: string;
  ts?: string;
  kind: string;
  scope_key: string;
  by: string;
  data: Record<string, unknown>;
  /**
   * Idempotency key, already qualified by its owner (sender and `client_id`). Kept in the index of keys for as long as the event
   * exists. The event's data must hold what `keyOf` needs to find the same key again in a rebuild.
   */
  key?: string;
}

/** Position of an event in append order over the whole history, from 0. Never reused; stable over compaction and restart. */
export type Ordinal = number;

export interface Placed {
  ordinal: Ordinal;
  event: LedgerEvent;
}

/**
 * Follows the ledger: rebuilt from it, then fed by every append in order. `apply` must not throw for events of unknown shape.
 * `checkpoint` and `restore` let an open skip what lies in sealed segments; a checkpoint that doesn't restore is thrown away.
 */
export interface Projection {
  readonly name: string;
  /** Raises when the meaning of a checkpoint changes. */
  readonly version: number;
  /** False for lines of this kind that `apply` would ignore, so that a rebuild needn't parse them. */
  wants(kind: string): boolean;
  apply(event: LedgerEvent, ordinal: Ordinal): void;
  reset(): void;
  checkpoint(): Uint8Array;
  restore(bytes: Uint8Array): void;
}

export interface PageRequest {
  /** Events before (older than) or after this one, without it; both absent means the newest. */
  before?: string | undefined;
  after?: string | undefined;
  limit: number;
  kinds?: ReadonlySet<string> | undefined;
}

/** Events oldest first. `more` says whether further events lie in the direction of travel. */
export interface Page {
  events: LedgerEvent[];
  more: boolean;
}

export interface SearchRequest {
  query: string;
  before?: string | undefined;
  limit: number;
  kinds?: ReadonlySet<string> | undefined;
}
