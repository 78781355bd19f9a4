/**
 * The part of a Group's ledger that is in the document: a contiguous run of events, bounded, that
 * grows at the visible end and is trimmed at the other (docs/interface.md#the-feed-is-a-window).
 * Pure: no time, no network, no document.
 */
import type { LedgerEvent } from "../../shared/events.ts";

export const WINDOW_ROWS = 240;
/** Ids that are remembered beyond the window, so that an event that comes twice counts once. */
const REMEMBERED = 1000;

export class FeedWindow {
  #rows: LedgerEvent[] = [];
  readonly #ids = new Set<string>();
  readonly #recent = new Set<string>();
  /** Older events exist than the first row. */
  hasOlder = false;
  /** Newer events exist than the last row. */
  hasNewer = false;
  /** Events that came while the person was looking elsewhere. */
  unseen = 0;

  get rows(): readonly LedgerEvent[] {
    return this.#rows;
  }

  get first(): LedgerEvent | undefined {
    return this.#rows[0];
  }

  get last(): LedgerEvent | undefined {
    return this.#rows.at(-1);
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  find(id: string): LedgerEvent | undefined {
    return this.#ids.has(id) ? this.#rows.find((event) => event.id === id) : undefined;
  }

  /** Shows a page instead of what was there. */
  reset(events: readonly LedgerEvent[], more: { older: boolean; newer: boolean }): void {
    this.#rows = [];
    this.#ids.clear();
    this.hasOlder = more.older;
    this.hasNewer = more.newer;
    if (!more.newer) this.unseen = 0;
    for (const event of events) this.#push(event);
  }

  /** Adds older events before the first row. Rows over the limit leave at the new end. */
  prepend(events: readonly LedgerEvent[], hasOlder: boolean): void {
    const fresh = events.filter((event) => !this.#ids.has(event.id));
    for (const event of fresh) this.#ids.add(event.id);
    this.#rows = [...fresh, ...this.#rows];
    this.hasOlder = hasOlder;
    for (const event of this.#rows.splice(WINDOW_ROWS)) {
      this.#ids.delete(event.id);
      this.hasNewer = true;
    }
  }

  /** Adds newer events after the last row. Rows over the limit leave at the old end. */
  append(events: readonly LedgerEvent[], hasNewer: boolean): void {
    for (const event of events) this.#push(event);
    this.hasNewer = hasNewer;
    if (!hasNewer) this.unseen = 0;
    this.#trimOldest();
  }

  /**
   * Takes an event that has just happened. `following` says that the person is looking at the
   * newest row. Otherwise a full window doesn't move under their eyes, and the event is counted
   * instead. Returns whether it was new.
   */
  accept(event: LedgerEvent, following: boolean): boolean {
    if (this.#ids.has(event.id) || this.#recent.has(event.id)) return false;
    this.#remember(event.id);
    if (!following) this.unseen += 1;
    if (this.hasNewer) return true;
    if (!following && this.#rows.length >= WINDOW_ROWS) {
      this.hasNewer = true;
      return true;
    }
    this.#push(event);
    this.#trimOldest();
    return true;
  }

  #push(event: LedgerEvent): void {
    if (this.#ids.has(event.id)) return;
    this.#ids.add(event.id);
    this.#rows.push(event);
  }

  #trimOldest(): void {
    const surplus = this.#rows.length - WINDOW_ROWS;
    if (surplus <= 0) return;
    for (const event of this.#rows.splice(0, surplus)) this.#ids.delete(event.id);
    this.hasOlder = true;
  }

  #remember(id: string): void {
    this.#recent.add(id);
    if (this.#recent.size > REMEMBERED) {
      const oldest = this.#recent.values().next().value;
      if (oldest !== undefined) this.#recent.delete(oldest);
    }
  }
}
