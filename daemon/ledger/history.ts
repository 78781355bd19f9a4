/**
 * Everything durable that a Group ever recorded: index, segments, projections, and reading by
 * ordinal.
 */

import type { OpenFile } from "../../platform/files.ts";
import { Refusal } from "../../shared/errors.ts";
import type { LedgerEvent } from "../../shared/events.ts";
import type { LedgerDamage } from "../../shared/ledger-damage.ts";
import { Finding } from "./files/finding.ts";
import type { Segment } from "./files/segments.ts";
import { corrupt, pathOf, type Storage } from "./files/storage.ts";
import { isEventId, wordsOfId } from "./format/event-id.ts";
import { hashKey } from "./format/key-hash.ts";
import { decodeLine, LINE_FEED } from "./format/line.ts";
import type { EventColumns } from "./index/event-columns.ts";
import { EventIndex, NONE } from "./index/event-index.ts";
import type { Steps } from "./index/line-scan.ts";
import { REFERENCE_MEMBERS } from "./index/segment-scan.ts";
import { ParsedHead } from "./parsed-head.ts";
import type { EventHead, LedgerOptions, Ordinal } from "./types.ts";

/** Kinds have a code of one byte each; this one is for all that came too late to get their own. */
const OTHER_KIND = 255;
const OPEN_FILES = 8;
/** Events that are processed in one step. */
const TAKEN = 4096;
/** Events that are closer together than this are read with what is between them. */
const READ_GAP_BYTES = 64 * 1024;
const READ_BYTES = 4 * 1024 * 1024;

export class History {
  readonly index = new EventIndex();
  readonly segments: Segment[] = [];
  /** Between its lines there may be damaged ones. */
  isSalvaged = false;
  #damage: LedgerDamage | null = null;
  /** Told of each damage that is found while the ledger is open. */
  damaged: ((damage: LedgerDamage) => void) | null = null;
  readonly kinds: string[] = [];
  readonly #kindCodes = new Map<string, number>();
  readonly #open: Segment[] = [];
  #isClosed = false;
  readonly #id = new Uint32Array(4);
  readonly #key = new Uint32Array(2);
  readonly #source = new Uint32Array(4);
  readonly storage: Storage;
  readonly options: LedgerOptions;

  constructor(storage: Storage, options: LedgerOptions) {
    this.storage = storage;
    this.options = options;
  }

  get count(): number {
    return this.index.count;
  }

  /**
   * What is missing or damaged; null when nothing is known to be. Nothing is recorded on top of it.
   */
  get damage(): LedgerDamage | null {
    return this.#damage;
  }

  set damage(damage: LedgerDamage | null) {
    this.#damage = damage;
    if (damage !== null) this.damaged?.(damage);
  }

  /** An event that was recorded can't be read any more. */
  noteUnreadable(segment: Segment, ordinal: Ordinal): void {
    const known = this.#damage;
    if (known?.missing.some(({ first, last }) => first <= ordinal && ordinal <= last)) return;
    const problem = `${segment.name} has a damaged line at byte ${this.index.position(ordinal)}.`;
    if (known?.problems.includes(problem)) return;
    const finding = new Finding();
    for (const one of known?.problems ?? []) finding.note(one, segment.name, 0);
    for (const file of known?.files ?? []) finding.note(problem, file, 0);
    finding.note(problem, segment.name, 0);
    const ordinals = [ordinal];
    for (const { first, last } of known?.missing ?? [])
      for (let at = first; at <= last; at += 1) ordinals.push(at);
    const rest = (known?.missing_events ?? 0) - (ordinals.length - 1);
    finding.expect({ ordinals: ordinals.sort((a, b) => a - b), unplaced: Math.max(0, rest) });
    this.damage = finding.damage();
  }

  /** Refuses with `shutting_down` if the ledger has been closed. */
  checkOpen(): void {
    if (this.#isClosed) throw new Refusal("shutting_down");
  }

  kindCode(kind: string): number {
    const known = this.#kindCodes.get(kind);
    if (known !== undefined) return known;
    if (this.kinds.length === OTHER_KIND) return OTHER_KIND;
    this.#kindCodes.set(kind, this.kinds.length);
    return this.kinds.push(kind) - 1;
  }

  /** Enters a durable event at `position` of the last segment; projections follow it. */
  append(event: LedgerEvent, key: string | undefined, position: number): Ordinal {
    const head = new ParsedHead(event);
    const ordinal = this.enter(head, key, position);
    for (const projection of this.options.projections) {
      if (projection.wants(event.kind)) projection.apply(head, ordinal);
    }
    return ordinal;
  }

  /** Enters events that were read from the files; what they refer to is older and here. */
  *take(events: EventColumns): Steps<void> {
    const { index } = this;
    const codes = Uint8Array.from(events.kinds, (kind) => this.kindCode(kind));
    const first = this.count;
    let place = 0;
    for (let from = 0; from < events.count; from += TAKEN) {
      const to = Math.min(from + TAKEN, events.count);
      index.extend(to - from, ({ ids, positions, kinds, keys }) => {
        ids.set(events.ids.subarray(from * 4, to * 4));
        positions.set(events.positions.subarray(from, to));
        keys.set(events.keys.subarray(from * 2, to * 2));
        for (let at = from; at < to; at += 1) kinds[at - from] = codes[events.codes[at]!]!;
      });
      const referred = place;
      while (place < events.referring && events.referrers[place]! < to) place += 1;
      const referrers = events.referrers.subarray(referred, place).map((at) => at - from);
      index.relateAll(first + from, referrers, events.references.subarray(referred * 4, place * 4));
      yield;
    }
  }

  /** Enters an event only into the index. */
  enter(head: EventHead, key: string | undefined, position: number): Ordinal {
    wordsOfId(head.id, this.#id);
    const member = REFERENCE_MEMBERS[head.kind];
    const reference = member === undefined ? undefined : head.string(member);
    let source = NONE;
    if (isEventId(reference)) {
      wordsOfId(reference, this.#source);
      const found = this.index.ordinalOf(this.#source);
      if (found >= 0) source = found;
    }
    if (key !== undefined) hashKey(key, this.#key);
    return this.index.add(
      this.#id,
      position,
      this.kindCode(head.kind),
      key === undefined ? null : this.#key,
      source,
    );
  }

  ordinalOf(id: string): Ordinal | undefined {
    if (!isEventId(id)) return undefined;
    wordsOfId(id, this.#id);
    const ordinal = this.index.ordinalOf(this.#id);
    return ordinal < 0 ? undefined : ordinal;
  }

  /** The event's idempotency key, in full. */
  keyOf(event: EventHead): string | undefined {
    return this.options.keyOf(event);
  }

  /** A fingerprint alone never decides: the key is compared with the event on disk. */
  byKey(key: string, from: Ordinal): Ordinal | undefined {
    hashKey(key, this.#key);
    const ordinal = this.index.findKey(this.#key, (found) => {
      const event = found >= from ? this.readMany([found])[0] : undefined;
      return event !== undefined && this.keyOf(new ParsedHead(event)) === key;
    });
    return ordinal < 0 ? undefined : ordinal;
  }

  segmentOf(ordinal: Ordinal): Segment {
    let low = 0;
    let high = this.segments.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.segments[middle]!.first <= ordinal) low = middle;
      else high = middle - 1;
    }
    return this.segments[low]!;
  }

  /** The last event of the segment whose line begins at or before `position`. */
  ordinalAt(segment: Segment, position: number): Ordinal {
    let low = segment.first;
    let high = segment.first + segment.count - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.index.position(middle) <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Where the event's line ends in its segment, its line feed included. */
  endOf(segment: Segment, ordinal: Ordinal): number {
    return ordinal + 1 < segment.first + segment.count ? this.index.position(ordinal + 1) : segment.bytes;
  }

  /** Refuses with `event_not_found`, or `event_unreadable` when its bytes are damaged. */
  read(ordinal: Ordinal): LedgerEvent {
    const [event] = this.readMany([ordinal]);
    if (event === undefined)
      throw new Refusal("event_unreadable", { details: { event_id: this.index.id(ordinal) } });
    return event;
  }

  /**
   * Events of ascending `ordinals`, without those whose bytes are damaged; neighbours come with one
   * read. `unreadable` is called for each that is left out.
   */
  readMany(ordinals: readonly Ordinal[], unreadable?: (ordinal: Ordinal) => void): LedgerEvent[] {
    const events: LedgerEvent[] = [];
    let at = 0;
    while (at < ordinals.length) {
      const ordinal = ordinals[at]!;
      if (!Number.isInteger(ordinal) || ordinal < 0 || ordinal >= this.count)
        throw new Refusal("event_not_found", { details: { ordinal } });
      const segment = this.segmentOf(ordinal);
      const start = this.index.position(ordinal);
      let end = this.endOf(segment, ordinal);
      let next = at + 1;
      while (next < ordinals.length && ordinals[next]! < segment.first + segment.count) {
        const following = ordinals[next]!;
        const followingEnd = this.endOf(segment, following);
        if (this.index.position(following) - end > READ_GAP_BYTES || followingEnd - start > READ_BYTES) break;
        end = followingEnd;
        next += 1;
      }
      const bytes = this.#bytesThere(segment, start, end);
      for (; at < next; at += 1) {
        const event = this.eventIn(bytes, start, segment, ordinals[at]!);
        if (event !== null) events.push(event);
        else {
          this.noteUnreadable(segment, ordinals[at]!);
          unreadable?.(ordinals[at]!);
        }
      }
    }
    return events;
  }

  /** Refuses with `ledger_corrupt` when the segment has become shorter. */
  readBytes(segment: Segment, start: number, end: number): Buffer {
    const bytes = this.#bytesThere(segment, start, end);
    if (bytes.length < end - start)
      throw corrupt("A ledger segment has become shorter.", { number: segment.number });
    return bytes;
  }

  /** What the segment still has of these bytes. */
  #bytesThere(segment: Segment, start: number, end: number): Buffer {
    const bytes = Buffer.allocUnsafe(end - start);
    return bytes.subarray(0, this.fileOf(segment).read(bytes, start));
  }

  /** The text of an event's line in `bytes`, which begin at `start` of its segment. */
  lineIn(bytes: Buffer, start: number, segment: Segment, ordinal: Ordinal): string {
    const from = this.index.position(ordinal) - start;
    const end = this.endOf(segment, ordinal) - start;
    const lineFeed = this.isSalvaged ? bytes.indexOf(LINE_FEED, from) : -1;
    return bytes.toString("utf8", from, lineFeed >= 0 && lineFeed < end ? lineFeed : end);
  }

  /** The event in `bytes`; null when the bytes are damaged. */
  eventIn(bytes: Buffer, start: number, segment: Segment, ordinal: Ordinal): LedgerEvent | null {
    const event = decodeLine(this.lineIn(bytes, start, segment, ordinal));
    return event?.id === this.index.id(ordinal) ? event : null;
  }

  /** The segment's file for reading; a few stay open. */
  fileOf(segment: Segment): OpenFile {
    if (segment.file !== null) return segment.file;
    const file = this.storage.files.open(pathOf(this.storage, segment.name), "read");
    segment.file = file;
    this.#open.push(segment);
    if (this.#open.length > OPEN_FILES) this.closeFile(this.#open[0]!);
    return file;
  }

  closeFile(segment: Segment): void {
    segment.file?.close();
    segment.file = null;
    const at = this.#open.indexOf(segment);
    if (at >= 0) this.#open.splice(at, 1);
  }

  /** Final: a task that runs in slices stops at its next one. */
  closeFiles(): void {
    this.#isClosed = true;
    for (const segment of this.segments) this.closeFile(segment);
  }

  /** Refuses with `event_not_found`. */
  knownOrdinal(id: string): Ordinal {
    const ordinal = this.ordinalOf(id);
    if (ordinal === undefined) throw new Refusal("event_not_found", { details: { event_id: id } });
    return ordinal;
  }

  isOf(kinds: ReadonlySet<string>, ordinal: Ordinal): boolean {
    const code = this.index.kind(ordinal);
    if (code !== OTHER_KIND) return kinds.has(this.kinds[code]!);
    const [event] = this.readMany([ordinal]);
    return event !== undefined && kinds.has(event.kind);
  }
}
