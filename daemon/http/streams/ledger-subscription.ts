/**
 * One client's position in one Group's ledger: first the events after a given one, then new
 * appends, without gap or duplicate. It uses ordinals: the next delivered event always follows the
 * last one, wherever it comes from.
 */
import type { LedgerEvent } from "../../../shared/events.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { Ordinal, Placed } from "../../ledger/types.ts";

/** What of a ledger streams need. */
export interface FollowedLedger {
  readonly lastOrdinal: Ordinal;
  ordinalOf(id: string): Ordinal | undefined;
  idOf(ordinal: Ordinal): string;
  read(ordinal: Ordinal): LedgerEvent;
  /** Without those that can't be read any more. */
  readMany(ordinals: readonly Ordinal[]): LedgerEvent[];
  follow(listener: (placed: readonly Placed[]) => void): () => void;
}

/** Events that were appended together, encoded once for all clients. */
export interface Batch {
  first: Ordinal;
  last: Ordinal;
  placed: readonly Placed[];
  /** The whole batch as server-sent events. */
  sse(): Buffer;
  /** Each event as JSON. */
  json(): readonly string[];
}

export interface LedgerSink {
  /** Whether more would only pile up; the sink calls `pump` when that has passed. */
  isFull(): boolean;
  /** Never refused: `isFull` is checked before. */
  past(event: LedgerEvent): void;
  live(batch: Batch): void;
  /** The event to resume after isn't known, or is too far back. */
  reload(): void;
}

export class LedgerSubscription {
  readonly #ledger: FollowedLedger;
  readonly #sink: LedgerSink;
  #next: Ordinal = 0;
  #live = false;
  #ended = false;

  constructor(ledger: FollowedLedger, sink: LedgerSink) {
    this.#ledger = ledger;
    this.#sink = sink;
  }

  /** Starts after this event, or with new events. */
  start(after: string | null): void {
    const last = this.#ledger.lastOrdinal;
    if (after === null) {
      this.#next = last + 1;
      this.#live = true;
      return;
    }
    const ordinal = this.#ledger.ordinalOf(after);
    if (ordinal === undefined || last - ordinal > LIMITS.stream.resumeEvents) {
      this.end();
      this.#sink.reload();
      return;
    }
    this.#next = ordinal + 1;
    this.pump();
  }

  /** The last event that was passed to the sink; null if there is none before. */
  get after(): string | null {
    return this.#next === 0 ? null : this.#ledger.idOf(this.#next - 1);
  }

  offer(batch: Batch): void {
    if (this.#ended || !this.#live || batch.last < this.#next) return;
    if (batch.first === this.#next) {
      this.#next = batch.last + 1;
      this.#sink.live(batch);
      return;
    }
    // Only a part is new, or something is missing in between. The past has everything.
    this.#live = false;
    this.pump();
  }

  /** Continues reading earlier events until the client is full or the present is reached. */
  pump(): void {
    while (!this.#ended && !this.#live && !this.#sink.isFull()) {
      if (this.#next > this.#ledger.lastOrdinal) {
        this.#live = true;
        return;
      }
      // One at a time: a page of large messages would be more than a client may leave waiting.
      const [event] = this.#ledger.readMany([this.#next]);
      this.#next += 1;
      // Damaged ones are passed over: doctor and the Group's own state tell of them.
      if (event !== undefined) this.#sink.past(event);
    }
  }

  end(): void {
    this.#ended = true;
  }
}
