/**
 * What the person has read (docs/core-model.md#reading): messages and notices to them in ledger
 * order, and where the unread ones begin. The latest read ones are kept, so that they can be marked
 * unread again without a look at the history.
 */
import { LIMITS } from "../../../shared/limits.ts";
import { Backlog } from "./backlog.ts";

export class PersonReading {
  readonly #entries: Backlog;
  #read: number;
  #cursor: number;

  constructor(entries = new Backlog(), read = 0, cursor = -1) {
    this.#entries = entries;
    this.#read = read;
    this.#cursor = cursor;
  }

  /** Throws unless `encode` made the text, with this many read entries. */
  static decode(text: string, read: number, cursor: number): PersonReading {
    const entries = Backlog.decode(text);
    if (read > entries.count) throw new Error("more was read than there is");
    return new PersonReading(entries, read, cursor);
  }

  /** Base64 of all entries, for a checkpoint. */
  encode(): string {
    return this.#entries.encode();
  }

  /** How many are unread. */
  get count(): number {
    return this.#entries.count - this.#read;
  }

  /** How many read ones are kept. */
  get read(): number {
    return this.#read;
  }

  /** Whatever has this ordinal or an earlier one is read. */
  get cursor(): number {
    return this.#cursor;
  }

  /** Ordinal of the unread entry at `place`, counted from the oldest. */
  at(place: number): number {
    return this.#entries.at(this.#read + place);
  }

  /** How many unread entries are at or before this ordinal. */
  countThrough(ordinal: number): number {
    return Math.max(0, this.#entries.countThrough(ordinal) - this.#read);
  }

  /**
   * Ordinal of the oldest kept entry at or after this one, if it is read; null if nothing from
   * there on is.
   */
  readFrom(ordinal: number): number | null {
    const place = this.#entries.countThrough(ordinal - 1);
    return place < this.#read ? this.#entries.at(place) : null;
  }

  /** Adds an unread entry after all others. */
  push(ordinal: number, id: string): void {
    this.#entries.push(ordinal, id);
  }

  /** Everything up to this event is read. False if it was, or isn't one of these. */
  readThrough(id: string): boolean {
    const place = this.#entries.find(id);
    if (place < this.#read) return false;
    this.#cursor = this.#entries.at(place);
    this.#read = place + 1;
    const over = this.#read - LIMITS.reading.kept;
    if (over <= 0) return true;
    this.#entries.drop(over);
    this.#read -= over;
    return true;
  }

  /** Everything from this event on is unread. False if it was, or isn't one that is kept. */
  unreadFrom(id: string): boolean {
    const place = this.#entries.find(id);
    if (place < 0 || place >= this.#read) return false;
    this.#cursor = this.#entries.at(place) - 1;
    this.#read = place;
    return true;
  }
}
