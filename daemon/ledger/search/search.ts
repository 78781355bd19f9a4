/**
 * Text search from the newest event backwards, one block of the disk at a time. Blocks whose filter
 * excludes the text are skipped.
 */

import type { Clock } from "../../../platform/clock.ts";
import type { LedgerEvent } from "../../../shared/events.ts";
import { Pace } from "../files/pace.ts";
import type { Segment } from "../files/segments.ts";
import { decodeLine } from "../format/line.ts";
import type { History } from "../history.ts";
import type { Ordinal, SearchPage, SearchRequest } from "../types.ts";
import { BLOCK_BYTES, type Candidates } from "./filter-file.ts";
import { type Filters, linesOf } from "./filters.ts";
import { querySlots } from "./grams.ts";
import { AsciiFinder, folded, holds } from "./text-match.ts";

/** Of given events, this many are read by one call. */
const AMONG_AT_ONCE = 1000;

/**
 * One call reads at most `scanBytes` and says where to continue. It never occupies the event loop
 * for more than a few milliseconds.
 */
export async function search(
  history: History,
  filters: Filters,
  request: SearchRequest,
  scanBytes: number,
  clock: Clock,
): Promise<SearchPage> {
  const scan = new Scan(history, request);
  if (request.among !== undefined) return searchAmong(history, scan, request, request.among, clock);
  const slots = querySlots(scan.query);
  const pace = new Pace(clock);
  let next = request.before === undefined ? history.count - 1 : history.knownOrdinal(request.before) - 1;
  while (next >= 0 && !scan.isFull && scan.bytesRead < scanBytes) {
    const segment = history.segmentOf(next);
    const candidates = slots === null ? null : await filters.candidates(segment, slots, pace);
    history.checkOpen();
    while (next >= segment.first && !scan.isFull && scan.bytesRead < scanBytes) {
      const block = Math.floor(history.index.position(next) / BLOCK_BYTES);
      const nearest = nearestBlock(candidates, block);
      if (nearest === block) next = scan.block(segment, block, next);
      else next = nearest < 0 ? segment.first - 1 : linesOf(history, segment, nearest).last;
      if (!pace.isOver) continue;
      await pace.pause();
      history.checkOpen();
    }
  }
  return scan.page(next);
}

/** Reads only the given events, newest first, and at most a bounded number of them. */
async function searchAmong(
  history: History,
  scan: Scan,
  { before }: SearchRequest,
  among: readonly Ordinal[],
  clock: Clock,
): Promise<SearchPage> {
  const pace = new Pace(clock);
  const end = before === undefined ? history.count : history.knownOrdinal(before);
  const newestFirst = among.filter((ordinal) => ordinal < end).sort((a, b) => b - a);
  let looked = 0;
  for (const ordinal of newestFirst) {
    if (scan.isFull || looked === AMONG_AT_ONCE) break;
    for (const event of history.readMany([ordinal])) scan.take(event);
    looked += 1;
    if (!pace.isOver) continue;
    await pace.pause();
    history.checkOpen();
  }
  return scan.page(looked < newestFirst.length ? newestFirst[looked]! : -1);
}

/** The block itself or the nearest one before it that may match, -1 for none. */
function nearestBlock(candidates: Candidates | null, block: number): number {
  if (candidates === null || block * BLOCK_BYTES >= candidates.bytes) return block;
  for (let at = block; at >= 0; at -= 1) {
    if ((candidates.bits[at >>> 5]! & (1 << (at & 31))) !== 0) return at;
  }
  return -1;
}

class Scan {
  readonly query: string;
  bytesRead = 0;
  /** Ids of events that may match, but can't be read. */
  readonly unreadable: string[] = [];
  readonly #history: History;
  readonly #request: SearchRequest;
  /** The query as written in raw JSON. */
  readonly #escaped: string;
  readonly #finder: AsciiFinder | null;
  /** Newest first; one more than the limit says that there are more. */
  readonly #found: LedgerEvent[] = [];

  constructor(history: History, request: SearchRequest) {
    this.#history = history;
    this.#request = request;
    this.query = folded(request.query);
    this.#escaped = folded(JSON.stringify(this.query).slice(1, -1));
    this.#finder = AsciiFinder.of(this.#escaped);
  }

  get isFull(): boolean {
    return this.#found.length > this.#request.limit;
  }

  /**
   * Takes the matches among the block's events up to `last`, newest first; returns the event before
   * the block.
   */
  block(segment: Segment, block: number, last: Ordinal): Ordinal {
    const history = this.#history;
    const { first } = linesOf(history, segment, block);
    const start = history.index.position(first);
    const bytes = history.readBytes(segment, start, history.endOf(segment, last));
    this.bytesRead += bytes.length;
    const finder = this.#finder;
    if (finder === null || hasForeignEscape(bytes) || !finder.suits(bytes)) {
      if (mayHold(bytes.toString("utf8"), this.#escaped))
        for (let ordinal = last; ordinal >= first && !this.isFull; ordinal -= 1)
          this.#line(segment, bytes, start, ordinal);
      return first - 1;
    }
    let from = bytes.length;
    while (from > 0 && !this.isFull) {
      const at = finder.lastIn(bytes, from - 1);
      if (at < 0) break;
      const ordinal = history.ordinalAt(segment, start + at);
      this.#line(segment, bytes, start, ordinal);
      from = history.index.position(ordinal) - start;
    }
    return first - 1;
  }

  #line(segment: Segment, bytes: Buffer, start: number, ordinal: Ordinal): void {
    const history = this.#history;
    const { kinds } = this.#request;
    if (kinds !== undefined && !history.isOf(kinds, ordinal)) return;
    const line = history.lineIn(bytes, start, segment, ordinal);
    if (!mayHold(line, this.#escaped)) return;
    const event = decodeLine(line);
    if (event !== null && event.id === history.index.id(ordinal)) this.take(event);
    else this.#unreadable(ordinal);
  }

  #unreadable(ordinal: Ordinal): void {
    this.unreadable.push(this.#history.index.id(ordinal));
    this.#history.noteUnreadable(this.#history.segmentOf(ordinal), ordinal);
  }

  /** Takes the event if it matches, whatever its kind. */
  take(event: LedgerEvent): void {
    if (holds(event, this.query) && this.#request.accepts?.(event) !== false) this.#found.push(event);
  }

  /** `next` is the newest event that wasn't looked at. */
  page(next: Ordinal): SearchPage {
    const events = this.#found.slice(0, this.#request.limit);
    let before: string | null = null;
    if (this.isFull) before = events.at(-1)!.id;
    else if (next >= 0) before = this.#history.index.id(next + 1);
    const { unreadable } = this;
    return {
      events: events.reverse(),
      more: before !== null,
      before,
      ...(unreadable.length === 0 ? {} : { unreadable }),
    };
  }
}

const FOREIGN_ESCAPES = ["\\u", "\\/"];

/** A text may be written with escapes other than those of `JSON.stringify`. */
function hasForeignEscape(json: string | Buffer): boolean {
  return FOREIGN_ESCAPES.some((escape) => json.includes(escape));
}

function mayHold(json: string, escaped: string): boolean {
  return hasForeignEscape(json) || folded(json).includes(escaped);
}
