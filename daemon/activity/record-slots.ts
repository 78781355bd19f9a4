/**
 * The layout of an Actor's records in their file: one JSON document whose lines are equally long,
 * with a record or `null` on each. So the next revision of an activity replaces the previous one
 * with one small write within a page of memory, which a killed daemon can't leave half done.
 */
import * as z from "zod";
import { RuntimeActivityEvent } from "../../shared/activity/event.ts";
import { LIMITS } from "../../shared/limits.ts";

/** The latest revision of an activity, with its start. Durations need no more (ACT-047). */
export interface ActivityRecord {
  event: RuntimeActivityEvent;
  started_at: string;
}

/** By activity_id, oldest revision first. */
export type Records = ReadonlyMap<string, ActivityRecord>;

export interface PlacedWrite {
  bytes: Buffer;
  position: number;
}

interface Line {
  record: ActivityRecord;
  /**
   * Grows with each write and is stored at both ends, so that a mix of two after a crash is
   * recognized.
   */
  n: number;
  text: string;
}

/** A power of two, so that no line crosses a page boundary. */
const LEAST_WIDTH = 1024;
const LEAST_LINES = 16;
/** After each line. The last `null` closes the list. */
const LINE_END = ",\n";
const FILE_END = "null]}\n";

const Revision = z.int().min(0);
const record = { event: RuntimeActivityEvent, started_at: z.string() };

/** Version 1 had no slots: the records came one after another, oldest revision first. */
const FileContent = z.discriminatedUnion("v", [
  z.strictObject({
    v: z.literal(1),
    generation: z.string(),
    records: z.array(z.strictObject(record)).max(LIMITS.activity.records),
  }),
  z.strictObject({
    v: z.literal(2),
    /** Of the Actor. */
    generation: z.string(),
    records: z.array(
      z
        .strictObject({ n: Revision, ...record, end: Revision })
        .refine(({ n, end }) => n === end)
        .nullable(),
    ),
  }),
]);

export class RecordSlots {
  readonly #generation: string;
  readonly #lines: readonly (Line | null)[];
  /** Bytes of each line. */
  readonly #width: number;
  /** Of the next line that is written. */
  readonly #n: number;

  private constructor(generation: string, lines: readonly (Line | null)[], width: number, n: number) {
    this.#generation = generation;
    this.#lines = lines;
    this.#width = width;
    this.#n = n;
  }

  /** Lays out the records again, with room for more. */
  static of(generation: string, records: Records): RecordSlots {
    const lines: (Line | null)[] = Array.from(records.values(), lineOf);
    const n = lines.length;
    let room = LEAST_LINES;
    while (room <= lines.length) room *= 2;
    while (lines.length < room) lines.push(null);
    const texts = [headOf(generation), ...lines.map((line) => line?.text ?? "null")];
    const longest = Math.max(...texts.map((text) => Buffer.byteLength(text) + LINE_END.length));
    let width = LEAST_WIDTH;
    while (width < longest) width *= 2;
    return new RecordSlots(generation, lines, width, n);
  }

  /**
   * `slots` is null if the bytes must be rewritten before a record can be replaced in place. Throws
   * what JSON and Zod throw.
   */
  static read(bytes: Buffer): { generation: string; records: Records; slots: RecordSlots | null } {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    const { v, generation, records: found } = FileContent.parse(JSON.parse(text));
    if (v === 1) {
      const records = new Map(found.map((one) => [one.event.activity_id, one]));
      return { generation, records, slots: null };
    }
    const lines = found.slice(0, -1).map((one) => {
      if (one === null) return null;
      const { event, started_at: startedAt, n } = one;
      return lineOf({ event, started_at: startedAt }, n);
    });
    const records = new Map<string, ActivityRecord>();
    const present = lines.filter((line) => line !== null).sort((one, other) => one.n - other.n);
    for (const { record: kept } of present) {
      records.delete(kept.event.activity_id);
      records.set(kept.event.activity_id, kept);
    }
    if (records.size > LIMITS.activity.records) throw new RangeError("too many records");
    const n = 1 + (present.at(-1)?.n ?? -1);
    const slots = new RecordSlots(generation, lines, bytes.indexOf("\n") + 1, n);
    const isUsable = records.size === present.length && slots.bytes().equals(bytes);
    return { generation, records, slots: isUsable ? slots : null };
  }

  /** The whole file. */
  bytes(): Buffer {
    const width = this.#width;
    const head = padded(headOf(this.#generation), "\n", width);
    const lines = this.#lines.map((line) => padded(line?.text ?? "null", LINE_END, width));
    return Buffer.concat([head, ...lines, Buffer.from(FILE_END)]);
  }

  /**
   * The writes that leave the file with exactly `records`, each a whole line. Null if it takes more
   * than one new revision, or more room.
   */
  with(records: Records): { slots: RecordSlots; writes: PlacedWrite[] } | null {
    const gone: number[] = [];
    let at = -1;
    let changed = 0;
    let kept = 0;
    this.#lines.forEach((line, index) => {
      if (line === null) return;
      const now = records.get(line.record.event.activity_id);
      if (now === line.record) kept += 1;
      else if (now === undefined) gone.push(index);
      else {
        changed += 1;
        at = index;
      }
    });
    const added = records.size - kept - changed;
    if (changed + added > 1) return null;
    // The latest revision is at the end.
    const newest = changed + added === 0 ? undefined : [...records.values()].at(-1);
    if (added === 1) at = gone.pop() ?? this.#lines.indexOf(null);
    if (newest !== undefined && at < 0) return null;
    const lines = [...this.#lines];
    const writes: PlacedWrite[] = [];
    const put = (index: number, line: Line | null): void => {
      lines[index] = line;
      const bytes = padded(line?.text ?? "null", LINE_END, this.#width);
      writes.push({ bytes, position: (index + 1) * this.#width });
    };
    for (const index of gone) put(index, null);
    if (newest !== undefined) {
      const line = lineOf(newest, this.#n);
      if (Buffer.byteLength(line.text) + LINE_END.length > this.#width) return null;
      put(at, line);
    }
    return { slots: new RecordSlots(this.#generation, lines, this.#width, this.#n + 1), writes };
  }
}

function headOf(generation: string): string {
  return `{"v":2,"generation":${JSON.stringify(generation)},"records":[`;
}

function lineOf(record: ActivityRecord, n: number): Line {
  const { event, started_at: startedAt } = record;
  return { record, n, text: JSON.stringify({ n, event, started_at: startedAt, end: n }) };
}

function padded(text: string, end: string, width: number): Buffer {
  const bytes = Buffer.alloc(width, " ");
  bytes.write(text);
  bytes.write(end, width - end.length);
  return bytes;
}
