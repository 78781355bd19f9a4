/** Reads lines back into index and projections: the linear scan of an open. */
import type { OpenFile } from "../platform/files.ts";
import { NONE } from "./event-index.ts";
import { type History, REFERENCE_MEMBERS } from "./history.ts";
import { KeyHash } from "./key-hash.ts";
import { decodeLine, SPACE } from "./line.ts";
import { LineHead } from "./line-head.ts";
import { atOnce, type Steps, scanLines } from "./line-scan.ts";
import { ParsedHead } from "./parsed-head.ts";
import type { Segment } from "./segments.ts";
import { corrupt } from "./storage.ts";
import type { EventHead, KeyRule, Projection } from "./types.ts";

/** A projection and the ordinal from which it still needs events. */
export interface Follower {
  projection: Projection;
  from: number;
}

interface HeldLine {
  event: ParsedHead;
  position: number;
}

/** How the keys of a shape's events are found: not at all, each for itself, or from what they share. */
type ShapeKey = typeof NO_KEY | typeof OWN_KEYS | { prefix: KeyHash; member: string };
const NO_KEY = "none";
const OWN_KEYS = "own";

function shapeKey(key: string | KeyRule | undefined): ShapeKey {
  if (key === undefined) return NO_KEY;
  return typeof key === "string" ? OWN_KEYS : { prefix: new KeyHash().add(key.prefix), member: key.member };
}

export class Rebuild {
  readonly #history: History;
  readonly #followers: Follower[];
  readonly #head: LineHead;
  readonly #id = new Uint32Array(4);
  readonly #key = new Uint32Array(2);
  readonly #source = new Uint32Array(4);
  readonly #hash = new KeyHash();
  readonly #keys = new WeakMap<object, ShapeKey>();
  readonly #wanted = new Map<string, Follower[]>();
  /** What follows from the kind of the last line: the next one is often of the same. */
  #kind: string | null = null;
  #code = 0;
  #member: string | undefined;
  #interested: Follower[] = [];

  constructor(history: History, followers: Follower[]) {
    this.#history = history;
    this.#followers = followers;
    this.#head = new LineHead(history.options.group_id);
  }

  /** Whether someone needs the events `[first, end)` besides the index. */
  isNeeded(end: number): boolean {
    return this.#followers.some((follower) => follower.from < end);
  }

  /** A sealed segment, in steps: from `from` on into the index too, before that for projections alone. Every line must be an event. */
  *sealed(segment: Segment, file: OpenFile, from: number): Steps<void> {
    let ordinal = segment.first;
    const start = this.isNeeded(segment.first + segment.count) ? 0 : from;
    if (start > 0) ordinal = segment.first + segment.count;
    const end = yield* scanLines(file, start, segment.bytes, (bytes, at, to, position) => {
      const isNew = position >= from;
      if (!this.#line(bytes, at, to, position, isNew ? -1 : ordinal)) return false;
      ordinal += 1;
      if (isNew) segment.count += 1;
      return true;
    });
    if (end !== segment.bytes)
      throw corrupt("A sealed ledger segment has a line that isn't an event.", {
        number: segment.number,
        position: end,
      });
  }

  /**
   * The active file: the same, up to its end, which is the first blank, unterminated or unparsable line. Lines from `doubtful` on may
   * belong to a batch that was never acknowledged and are parsed whole; an atomic batch without its last line counts as unwritten.
   * Returns the end.
   */
  active(segment: Segment, file: OpenFile, from: number, size: number, doubtful: number): number {
    let ordinal = segment.first;
    const start = this.isNeeded(segment.first + segment.count) ? 0 : from;
    let held: HeldLine[] = [];
    const lines = scanLines(file, start, size, (bytes, at, to, position) => {
      if (at === to) return false;
      if (position < from || position < doubtful) {
        if (!this.#line(bytes, at, to, position, position < from ? ordinal : -1)) return false;
        ordinal += 1;
        if (position >= from) segment.count += 1;
        return true;
      }
      const event = decodeLine(bytes.toString("utf8", at, to));
      if (event === null) return false;
      held.push({ event: new ParsedHead(event), position });
      if (bytes[to - 1] === SPACE) return true;
      for (const line of held) this.#enter(line.event, line.position);
      segment.count += held.length;
      held = [];
      return true;
    });
    const end = atOnce(lines);
    return held[0]?.position ?? end;
  }

  /** One line into index (unless `known` is its ordinal) and projections. False when it isn't an event. */
  #line(bytes: Buffer, start: number, end: number, position: number, known: number): boolean {
    let to = end;
    while (to > start && bytes[to - 1] === SPACE) to -= 1;
    const head = this.#head;
    if (!head.place(bytes, start, to) || !head.idWords(this.#id)) {
      const event = decodeLine(bytes.toString("utf8", start, end));
      if (event === null) return false;
      const parsed = new ParsedHead(event);
      if (known >= 0) this.#feed(parsed, known);
      else this.#enter(parsed, position);
      return true;
    }
    if (known >= 0) {
      this.#feed(head, known);
      return true;
    }
    const history = this.#history;
    if (head.kind !== this.#kind) this.#meetKind(head.kind);
    const member = this.#member;
    const refers = member !== undefined && head.memberWords(member, this.#source);
    const source = refers ? history.sourceOf(this.#source) : NONE;
    const key = this.#findKey(head) ? this.#key : null;
    const ordinal = history.index.add(this.#id, position, this.#code, key, source);
    for (const { from, projection } of this.#interested) if (ordinal >= from) projection.apply(head, ordinal);
    return true;
  }

  /** The line's key into `#key`; false when it has none. */
  #findKey(head: LineHead): boolean {
    const { shape } = head;
    if (shape !== null) {
      let key = this.#keys.get(shape);
      if (key === undefined) {
        key = shapeKey(this.#history.options.keyOf(head));
        this.#keys.set(shape, key);
      }
      if (key === NO_KEY) return false;
      if (key !== OWN_KEYS && head.hashMember(key.member, this.#hash.beginWith(key.prefix))) {
        this.#hash.finish(this.#key);
        return true;
      }
    }
    const key = this.#history.keyOf(head);
    if (key === undefined) return false;
    this.#hash.begin().add(key).finish(this.#key);
    return true;
  }

  #meetKind(kind: string): void {
    this.#kind = kind;
    this.#code = this.#history.kindCode(kind);
    this.#member = REFERENCE_MEMBERS[kind];
    this.#interested = this.#followersOf(kind);
  }

  #enter(head: EventHead, position: number): void {
    this.#feed(head, this.#history.enter(head, this.#history.keyOf(head), position));
  }

  #feed(head: EventHead, ordinal: number): void {
    for (const follower of this.#followersOf(head.kind)) {
      if (ordinal >= follower.from) follower.projection.apply(head, ordinal);
    }
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
