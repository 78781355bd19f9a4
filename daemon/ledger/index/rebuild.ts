/** Reads lines back into index and projections: the linear scan of an open. */
import type { OpenFile } from "../../../platform/files.ts";
import type { Segment } from "../files/segments.ts";
import { corrupt } from "../files/storage.ts";
import { decodeLine, SPACE } from "../format/line.ts";
import type { History } from "../history.ts";
import { ParsedHead } from "../parsed-head.ts";
import type { EventHead, Projection } from "../types.ts";
import { EventColumns } from "./event-columns.ts";
import { atOnce, type Steps, scanLines } from "./line-scan.ts";
import { SegmentScan } from "./segment-scan.ts";

/** A projection and the ordinal from which it still needs events. */
export interface Follower {
  projection: Projection;
  from: number;
}

/** Bytes `[from, to)` of a segment: whole lines. */
interface Part {
  from: number;
  to: number;
}

interface HeldLine {
  event: ParsedHead;
  position: number;
}

export class Rebuild {
  readonly #history: History;
  readonly #followers: Follower[];
  readonly #scan: SegmentScan;
  /** Of the file that is read now. */
  #columns: EventColumns | null = null;
  readonly #wanted = new Map<string, Follower[]>();
  /** Who wants the kind of the last event: the next one is often of the same. */
  #kind: string | null = null;
  #interested: Follower[] = [];

  constructor(history: History, followers: Follower[]) {
    this.#history = history;
    this.#followers = followers;
    this.#scan = new SegmentScan(history.options.group_id, history.options.keyOf);
  }

  /** Whether someone needs the events `[first, end)` besides the index. */
  isNeeded(end: number): boolean {
    return this.#followers.some((follower) => follower.from < end);
  }

  /**
   * The next part of a sealed segment into index and projections, in steps. Every line must be an
   * event.
   */
  *part(segment: Segment, file: OpenFile, part: Part): Steps<void> {
    const columns = this.#emptyColumns(part.to - part.from);
    const first = segment.first + segment.count;
    const end = yield* this.#lines(file, part, first, (head, position) =>
      this.#scan.enter(head, position, columns),
    );
    yield* this.#history.take(columns);
    segment.count += columns.count;
    checkEnd(segment, part, end);
  }

  /** A part that the index has, past projections alone. Its first event is the `first`. */
  *past(segment: Segment, file: OpenFile, part: Part, first: number): Steps<void> {
    checkEnd(segment, part, yield* this.#lines(file, part, first));
  }

  *#lines(
    file: OpenFile,
    { from, to }: Part,
    first: number,
    enter?: (head: EventHead, position: number) => void,
  ): Steps<number> {
    let ordinal = first;
    return yield* scanLines(file, from, to, (bytes, start, end, position) => {
      const head = this.#scan.read(bytes, start, end);
      if (head === null) return false;
      enter?.(head, position);
      this.#feed(head, ordinal);
      ordinal += 1;
      return true;
    });
  }

  /**
   * The active file: the same, up to its end, which is the first blank, unterminated or unparsable
   * line. Lines from `doubtful` on may belong to a batch that was never acknowledged and are fully
   * parsed. An atomic batch without its last line counts as unwritten. Returns the end.
   */
  active(segment: Segment, file: OpenFile, from: number, size: number, doubtful: number): number {
    const start = this.#start(segment, from);
    const columns = this.#emptyColumns(size - start);
    let ordinal = start === 0 ? segment.first : segment.first + segment.count;
    let held: HeldLine[] = [];
    const enter = (head: EventHead, position: number): void => {
      if (position >= from) this.#scan.enter(head, position, columns);
      this.#feed(head, ordinal);
      ordinal += 1;
    };
    const lines = scanLines(file, start, size, (bytes, at, to, position) => {
      if (at === to) return false;
      if (position < from || position < doubtful) {
        const head = this.#scan.read(bytes, at, to);
        if (head === null) return false;
        enter(head, position);
        return true;
      }
      const event = decodeLine(bytes.toString("utf8", at, to));
      if (event === null || event.group_id !== this.#history.options.group_id) return false;
      held.push({ event: new ParsedHead(event), position });
      if (bytes[to - 1] === SPACE) return true;
      for (const line of held) enter(line.event, line.position);
      held = [];
      return true;
    });
    const end = atOnce(lines);
    atOnce(this.#history.take(columns));
    segment.count += columns.count;
    return held[0]?.position ?? end;
  }

  #emptyColumns(bytes: number): EventColumns {
    this.#columns ??= new EventColumns(bytes);
    this.#columns.clear();
    return this.#columns;
  }

  /** Where reading begins when the index knows everything before `from`. */
  #start(segment: Segment, from: number): number {
    return this.isNeeded(segment.first + segment.count) ? 0 : from;
  }

  #feed(head: EventHead, ordinal: number): void {
    if (head.kind !== this.#kind) {
      this.#kind = head.kind;
      this.#interested = this.#followersOf(head.kind);
    }
    for (const { from, projection } of this.#interested) if (ordinal >= from) projection.apply(head, ordinal);
  }

  #followersOf(kind: string): Follower[] {
    let wanted = this.#wanted.get(kind);
    if (wanted === undefined) {
      wanted = this.#followers.filter((follower) => follower.projection.wants(kind));
      this.#wanted.set(kind, wanted);
    }
    return wanted;
  }
}

function checkEnd({ number }: Segment, { to }: Part, end: number): void {
  if (end === to) return;
  throw corrupt("A sealed ledger segment has a line that isn't an event.", { number, position: end });
}
