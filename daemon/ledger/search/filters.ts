/**
 * The filters of a ledger's segments: found when a search first needs them, created alongside other
 * work.
 */
import type { Clock, Timer } from "../../../platform/clock.ts";
import { Pace } from "../files/pace.ts";
import type { Segment } from "../files/segments.ts";
import { decodeLine } from "../format/line.ts";
import type { History } from "../history.ts";
import {
  BLOCK_BYTES,
  type Candidates,
  coverable,
  type Filter,
  loadFilter,
  readCandidates,
  widthFor,
  writeFilter,
} from "./filter-file.ts";
import { BlockGrams, SLOTS } from "./grams.ts";
import { foldedTexts } from "./text-match.ts";

const QUIET_MS = 30_000;

/**
 * Only one filter is created at a time in the whole process, because its rows take some megabytes.
 */
let turn: Promise<void> = Promise.resolve();

export class Filters {
  readonly #history: History;
  readonly #clock: Clock;
  readonly #leastBytes: number;
  readonly #found = new WeakMap<Segment, Filter | null>();
  readonly #wanted = new Set<Segment>();
  /** Whose filter couldn't be made: not before someone asks for all of them. */
  readonly #failed = new WeakSet<Segment>();
  #work: Promise<void> | null = null;
  #running: Promise<void> | null = null;
  #timer: Timer | null = null;
  #isClosed = false;

  /** A filter is made for `leastBytes` or more that have none. */
  constructor(history: History, clock: Clock, leastBytes: number) {
    this.#history = history;
    this.#clock = clock;
    this.#leastBytes = leastBytes;
  }

  /**
   * Which blocks of the segment may match; null when nothing is known. What is missing for the next
   * search is begun.
   */
  async candidates(segment: Segment, slots: readonly number[], pace: Pace): Promise<Candidates | null> {
    this.#look(segment);
    if (pace.isOver) await pace.pause();
    const filter = this.#found.get(segment) ?? null;
    if (this.#lacks(segment)) void this.#make([segment]);
    try {
      return filter === null ? null : readCandidates(this.#history, segment, filter, slots);
    } catch {
      return null;
    }
  }

  /**
   * Creates what sealed segments lack, once none was sealed for a while, so that filling segment
   * after segment isn't slowed down.
   */
  completeSoon(): void {
    this.#timer?.cancel();
    const make = (): void => {
      this.#timer = null;
      void this.complete();
    };
    this.#timer = this.#isClosed ? null : this.#clock.after(QUIET_MS, make, { background: true });
  }

  /** Makes what sealed segments lack. */
  async complete(): Promise<void> {
    const pace = new Pace(this.#clock);
    const missing: Segment[] = [];
    for (const segment of this.#history.segments.filter(({ sealed }) => sealed)) {
      if (this.#isClosed) return;
      this.#failed.delete(segment);
      this.#look(segment);
      if (this.#lacks(segment)) missing.push(segment);
      if (pace.isOver) await pace.pause();
    }
    await this.#make(missing);
  }

  /** Stops what is being made. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#running;
  }

  /** Finds the segment's filter if that wasn't tried yet. One that can't be read counts as none. */
  #look(segment: Segment): void {
    if (this.#found.has(segment)) return;
    let filter: Filter | null = null;
    try {
      filter = loadFilter(this.#history, segment)?.filter ?? null;
    } catch {
      // A search will say so when the segment itself can't be read.
    }
    this.#found.set(segment, filter);
  }

  #lacks(segment: Segment): boolean {
    if (this.#failed.has(segment)) return false;
    const covered = this.#found.get(segment)?.bytes ?? 0;
    return coverable(segment) - covered >= this.#leastBytes;
  }

  #make(segments: readonly Segment[]): Promise<void> {
    for (const segment of segments) this.#wanted.add(segment);
    if (this.#isClosed || this.#wanted.size === 0) return Promise.resolve();
    this.#work ??= this.#makeAll().finally(() => {
      this.#work = null;
    });
    return this.#work;
  }

  async #makeAll(): Promise<void> {
    for (const segment of this.#wanted) {
      const before = turn;
      turn = before.then(() => {
        this.#running = this.#makeOne(segment);
        return this.#running;
      });
      await turn;
      this.#wanted.delete(segment);
    }
  }

  /** Filters only save time: a disk that refuses them stops nothing. */
  async #makeOne(segment: Segment): Promise<void> {
    if (this.#isClosed) return;
    try {
      const bytes = coverable(segment);
      const rows = await this.#rows(segment, bytes);
      if (rows === null) return;
      await writeFilter(this.#history, segment, bytes, rows);
      this.#found.delete(segment);
    } catch {
      this.#failed.add(segment);
    }
  }

  /**
   * Rows for the first `bytes` bytes, continuing where the present filter ends; null if the ledger
   * has been closed.
   */
  async #rows(segment: Segment, bytes: number): Promise<Uint32Array | null> {
    const history = this.#history;
    const width = widthFor(bytes);
    const present = loadFilter(history, segment);
    const rows = present === null ? new Uint32Array(SLOTS * width) : widened(present.rows, width);
    const grams = new BlockGrams();
    const pace = new Pace(this.#clock);
    let position = present === null ? 0 : present.filter.bytes - (present.filter.bytes % BLOCK_BYTES);
    while (position < bytes) {
      if (this.#isClosed) return null;
      const block = Math.floor(position / BLOCK_BYTES);
      const end = addBlock(history, segment, block, grams);
      grams.moveTo(rows, width, block);
      position = Math.max(end, (block + 1) * BLOCK_BYTES);
      if (pace.isOver) await pace.pause();
    }
    return this.#isClosed ? null : rows;
  }
}

/** Adds the texts of the lines that begin in the block; returns where the last of them ends. */
function addBlock(history: History, segment: Segment, block: number, grams: BlockGrams): number {
  const { first, last } = linesOf(history, segment, block);
  if (first > last) return 0;
  const start = history.index.position(first);
  const end = history.endOf(segment, last);
  const bytes = history.readBytes(segment, start, end);
  for (let ordinal = first; ordinal <= last; ordinal += 1) {
    const event = decodeLine(history.lineIn(bytes, start, segment, ordinal));
    if (event !== null) for (const text of foldedTexts(event)) grams.add(text);
  }
  return end;
}

/** The events whose lines begin in the block; none when `first` is after `last`. */
export function linesOf(history: History, segment: Segment, block: number): { first: number; last: number } {
  const start = block * BLOCK_BYTES;
  const last = history.ordinalAt(segment, start + BLOCK_BYTES - 1);
  return { first: start === 0 ? segment.first : history.ordinalAt(segment, start - 1) + 1, last };
}

/** The same rows with room for more blocks. */
function widened(rows: Uint32Array, width: number): Uint32Array {
  const narrow = rows.length / SLOTS;
  if (narrow === width) return rows;
  const wide = new Uint32Array(SLOTS * width);
  for (let slot = 0; slot < SLOTS; slot += 1) {
    for (let word = 0; word < narrow; word += 1) wide[slot * width + word] = rows[slot * narrow + word]!;
  }
  return wide;
}
