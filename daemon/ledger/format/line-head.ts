/**
 * What keys, references and projections need of an event, read from the raw line without parsing
 * it.
 */

import type { EventHead } from "../types.ts";
import { LAST_HEAD_MEMBER, LINE_START, MESSAGE_KIND } from "./line.ts";
import { hexWord, isPlainString, matches, Pattern, plainEnd, skipPlain, stringEnd } from "./line-bytes.ts";
import type { Gap, Opening, Place, Shape } from "./line-shapes.ts";

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const BACKSLASH = 92;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

const OPENINGS_MAX = 32;
/**
 * A message's shapes are in this many groups by the first bytes of data, where mode and recipients
 * stand.
 */
const SHAPE_GROUPS = 64;
const GROUPED_BYTES = 48;
const SHAPES_MAX = 16;
/** An opening with this many more misses than hits isn't worth more shapes. */
const MISSES_MAX = 1000;
const GAP_MEMBERS = new Set([
  "reply_to",
  "client_id",
  "event_id",
  "source_event_id",
  "delivery_id",
  "batch_id",
]);

/** The only one of them that its caller chooses; the others are ids. */
const CHOSEN_MEMBER = "client_id";

const MEMBER_SLOTS = 4;
const TS_LENGTH = 24;
const ID_AT = LINE_START.length;
const AFTER_ID = Buffer.from('","ts":"');
const TS_AT = ID_AT + 32 + AFTER_ID.length;
const AFTER_TS = Buffer.from('","kind":"');
const KIND_AT = TS_AT + TS_LENGTH + AFTER_TS.length;
const ID_START = new Pattern(Buffer.from(LINE_START), 0, LINE_START.length);
const ID_END = new Pattern(AFTER_ID, 0, AFTER_ID.length);
const AFTER_SCOPE = Buffer.from('"by":"');
const AFTER_BY = Buffer.from('"data":{');

/** A line of our layout. One object serves a whole scan: `place` moves it along. */
export class LineHead implements EventHead {
  readonly #afterKind: Buffer;
  #openings: Opening[] = [];
  #opening: Opening | null = null;
  #view: DataView = new DataView(new ArrayBuffer(0));
  readonly #names = new Map<string, Buffer>();
  #bytes: Buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;
  #dataAt = 0;
  /** Name start, name end, value start, value end of each member of data; filled on first use. */
  #members = new Int32Array(64 * MEMBER_SLOTS);
  #memberCount = -1;
  #headEnd = 0;
  #shape: Shape | null = null;
  /**
   * Where the parts of the shape begin in this line, and where the strings between them begin and
   * end.
   */
  readonly #parts = new Int32Array(GAP_MEMBERS.size + 1);
  readonly #gaps = new Int32Array(GAP_MEMBERS.size * 2);
  #valueStart = 0;
  #valueEnd = 0;
  #data: Record<string, unknown> | null = null;
  kind = "";

  constructor(groupId: string) {
    this.#afterKind = Buffer.from(`,"group_id":"${groupId}","scope_key":"`);
  }

  /**
   * False if the line isn't of our layout; the head is then unusable. `end` is after the closing
   * brace.
   */
  place(bytes: Buffer, start: number, end: number): boolean {
    this.#memberCount = -1;
    this.#data = null;
    if (bytes !== this.#bytes) {
      this.#bytes = bytes;
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    }
    this.#start = start;
    this.#end = end;
    if (end - start < KIND_AT + 16 || bytes[end - 1] !== CLOSE_BRACE || bytes[end - 2] !== CLOSE_BRACE)
      return false;
    if (!ID_START.stands(this.#view, start) || !ID_END.stands(this.#view, start + ID_AT + 32)) return false;
    const opening = this.#knownOpening() ?? this.#newOpening();
    this.#opening = opening;
    if (opening === null) return false;
    this.kind = opening.kind;
    this.#dataAt = start + opening.dataAt;
    return true;
  }

  #knownOpening(): Opening | null {
    const openings = this.#openings;
    const at = this.#start + TS_AT + TS_LENGTH;
    for (let index = 0; index < openings.length; index += 1) {
      const opening = openings[index]!;
      if (at + opening.pattern.length > this.#end || !opening.pattern.stands(this.#view, at)) continue;
      if (index > 0) {
        openings[index] = openings[index - 1]!;
        openings[index - 1] = opening;
      }
      return opening;
    }
    return null;
  }

  /** Reads what no earlier line began with; null when it isn't our layout. */
  #newOpening(): Opening | null {
    const bytes = this.#bytes;
    const start = this.#start;
    const end = this.#end;
    if (!matches(bytes, start + TS_AT + TS_LENGTH, AFTER_TS)) return null;
    const kindEnd = plainEnd(bytes, start + KIND_AT, end);
    if (kindEnd < 0 || !matches(bytes, kindEnd + 1, this.#afterKind)) return null;
    const scope = kindEnd + 1 + this.#afterKind.length;
    const scopeEnd = plainEnd(bytes, scope, end);
    if (scopeEnd < 0 || bytes[scopeEnd + 1] !== COMMA || !matches(bytes, scopeEnd + 2, AFTER_SCOPE))
      return null;
    const by = scopeEnd + 2 + AFTER_SCOPE.length;
    const byEnd = plainEnd(bytes, by, end);
    if (byEnd < 0 || bytes[byEnd + 1] !== COMMA || !matches(bytes, byEnd + 2, AFTER_BY)) return null;
    const dataAt = byEnd + 2 + AFTER_BY.length;
    const opening: Opening = {
      pattern: new Pattern(bytes, start + TS_AT + TS_LENGTH, dataAt),
      kind: bytes.toString("utf8", start + KIND_AT, kindEnd),
      scope: scope - start,
      scopeEnd: scopeEnd - start,
      by: bytes.toString("utf8", by, byEnd),
      dataAt: dataAt - start,
      shapes: [],
      misses: 0,
    };
    if (this.#openings.length === OPENINGS_MAX) this.#openings.pop();
    this.#openings.push(opening);
    return opening;
  }

  /** The id as four words into `words`; false when it isn't 32 lowercase hex digits. */
  idWords(words: Uint32Array): boolean {
    for (let word = 0; word < 4; word += 1) {
      const value = hexWord(this.#view, this.#start + ID_AT + word * 8);
      if (value < 0) return false;
      words[word] = value;
    }
    return true;
  }

  get id(): string {
    return this.#bytes.toString("latin1", this.#start + ID_AT, this.#start + ID_AT + 32);
  }

  get ts(): string {
    return this.#bytes.toString("latin1", this.#start + TS_AT, this.#start + TS_AT + TS_LENGTH);
  }

  get scope_key(): string {
    const { scope, scopeEnd } = this.#opening!;
    return this.#bytes.toString("utf8", this.#start + scope, this.#start + scopeEnd);
  }

  get by(): string {
    return this.#opening!.by;
  }

  get data(): Record<string, unknown> {
    if (this.#data === null) {
      this.#findMembers();
      const json = `{${this.#bytes.toString("utf8", this.#dataAt, this.#headEnd)}}`;
      this.#data = JSON.parse(json) as Record<string, unknown>;
    }
    return this.#data;
  }

  string(name: string): string | undefined {
    if (this.#memberCount < 0) this.#findMembers();
    const place = this.#shape?.places.get(name);
    if (place !== undefined && place.gap < 0) return place.text;
    if (!this.#find(name) || this.#bytes[this.#valueStart] !== QUOTE) return undefined;
    const start = this.#valueStart;
    const end = this.#valueEnd;
    for (let at = start; at < end; at += 1) {
      const byte = this.#bytes[at]!;
      if (byte === BACKSLASH || byte > 127)
        return JSON.parse(this.#bytes.toString("utf8", start, end)) as string;
    }
    return this.#bytes.toString("latin1", start + 1, end - 1);
  }

  /** Words of a member that is an event id; false when it isn't there or isn't one. */
  memberWords(name: string, words: Uint32Array): boolean {
    if (!this.#find(name) || this.#valueEnd - this.#valueStart !== 34) return false;
    for (let word = 0; word < 4; word += 1) {
      const value = hexWord(this.#view, this.#valueStart + 1 + word * 8);
      if (value < 0) return false;
      words[word] = value;
    }
    return true;
  }

  /**
   * Leaves the place of the last member of that name, as JSON.parse would choose, in `#valueStart`
   * and `#valueEnd`.
   */
  #find(name: string): boolean {
    if (this.#memberCount < 0) this.#findMembers();
    return this.#shape === null ? this.#findAmongMembers(name) : this.#findInShape(this.#shape, name);
  }

  #findInShape(shape: Shape, name: string): boolean {
    const place = shape.places.get(name);
    if (place === undefined) return false;
    if (place.gap >= 0) {
      this.#valueStart = this.#gaps[place.gap * 2]!;
      this.#valueEnd = this.#gaps[place.gap * 2 + 1]!;
    } else {
      this.#valueStart = this.#parts[place.part]! + place.start;
      this.#valueEnd = this.#parts[place.part]! + place.end;
    }
    return true;
  }

  #findAmongMembers(name: string): boolean {
    let wanted = this.#names.get(name);
    if (wanted === undefined) {
      wanted = Buffer.from(JSON.stringify(name).slice(1, -1));
      this.#names.set(name, wanted);
    }
    for (let slot = (this.#memberCount - 1) * MEMBER_SLOTS; slot >= 0; slot -= MEMBER_SLOTS) {
      const start = this.#members[slot]!;
      if (this.#members[slot + 1]! - start !== wanted.length || !matches(this.#bytes, start, wanted))
        continue;
      this.#valueStart = this.#members[slot + 2]!;
      this.#valueEnd = this.#members[slot + 3]!;
      return true;
    }
    return false;
  }

  #findMembers(): void {
    const bytes = this.#bytes;
    const stopsAtText = this.kind === MESSAGE_KIND;
    this.#headEnd = this.#end - 2;
    this.#shape = this.#knownShape();
    this.#memberCount = 0;
    if (this.#shape !== null) return;
    const learns = this.#opening!.misses < MISSES_MAX;
    let at = this.#dataAt;
    let count = 0;
    while (at < this.#headEnd && bytes[at] === QUOTE) {
      const nameEnd = stringEnd(bytes, at, this.#end);
      const valueAt = nameEnd + 1;
      if (bytes[nameEnd] !== COLON) break;
      if (stopsAtText && isText(bytes, at + 1, nameEnd - 1)) {
        this.#headEnd = count === 0 ? this.#dataAt : at - 1;
        if (learns) this.#rememberShape(count, valueAt, false);
        break;
      }
      const valueEnd = this.#endOfValue(valueAt);
      if ((count + 1) * MEMBER_SLOTS > this.#members.length) this.#growMembers();
      const slot = count * MEMBER_SLOTS;
      this.#members[slot] = at + 1;
      this.#members[slot + 1] = nameEnd - 1;
      this.#members[slot + 2] = valueAt;
      this.#members[slot + 3] = valueEnd;
      count += 1;
      at = valueEnd + 1;
      if (valueEnd === this.#headEnd && learns) this.#rememberShape(count, this.#end, true);
    }
    this.#memberCount = count;
  }

  /** The shape of an earlier line that fits this one, with its places filled in. */
  #knownShape(): Shape | null {
    const opening = this.#opening!;
    const shapes = opening.shapes[this.#shapeGroup()];
    if (shapes === undefined) {
      opening.misses += 1;
      return null;
    }
    for (let index = 0; index < shapes.length; index += 1) {
      const shape = shapes[index]!;
      if (!this.#fits(shape)) continue;
      if (opening.misses > 0) opening.misses -= 1;
      // Frequent ones move to the front.
      if (index > 0) {
        shapes[index] = shapes[index - 1]!;
        shapes[index - 1] = shape;
      }
      return shape;
    }
    opening.misses += 1;
    return null;
  }

  #shapeGroup(): number {
    if (this.kind !== MESSAGE_KIND || this.#dataAt + GROUPED_BYTES > this.#end) return 0;
    let hash = 0;
    for (let at = 0; at < GROUPED_BYTES; at += 4)
      hash = Math.imul(hash ^ this.#view.getInt32(this.#dataAt + at, true), 0x9e3779b1);
    return (hash ^ (hash >>> 15)) & (SHAPE_GROUPS - 1);
  }

  /**
   * A shape that doesn't fit is mostly known by its parts, which stand where gaps of the usual
   * lengths leave them.
   */
  #fits({ parts, gaps, headEnd, isWhole }: Shape): boolean {
    const view = this.#view;
    const end = this.#end;
    let at = this.#dataAt;
    /** A bit for each gap that hasn't been examined. */
    let unseen = 0;
    for (let part = 0; part < parts.length; part += 1) {
      const pattern = parts[part]!;
      if (part > 0) {
        const { length, isFixed } = gaps[part - 1]!;
        const from = at;
        at += length;
        if (at + pattern.length <= end && pattern.stands(view, at)) unseen |= 1 << part;
        else {
          if (isFixed || view.getUint8(from) !== QUOTE) return false;
          // The byte before the first one not skipped takes the place of the opening quote.
          at = stringEnd(this.#bytes, skipPlain(view, from + 1, end) - 1, end);
          if (at + pattern.length > end || !pattern.stands(view, at)) return false;
        }
        this.#gaps[part * 2 - 2] = from;
        this.#gaps[part * 2 - 1] = at;
      } else if (at + pattern.length > end || !pattern.stands(view, at)) return false;
      this.#parts[part] = at;
      at += pattern.length;
    }
    if (isWhole && at !== end) return false;
    for (let gap = 0; gap < gaps.length; gap += 1) {
      const isUnseen = (unseen & (2 << gap)) !== 0;
      if (isUnseen && !isPlainString(view, this.#gaps[gap * 2]!, this.#gaps[gap * 2 + 1]!)) return false;
    }
    this.#headEnd = this.#parts[parts.length - 1]! + headEnd;
    return true;
  }

  /**
   * From the members just found; the last part ends at `partEnd`: where the text's value begins, or
   * with the line.
   */
  #rememberShape(count: number, partEnd: number, isWhole: boolean): void {
    const parts: Pattern[] = [];
    const gaps: Gap[] = [];
    const places = new Map<string, Place>();
    let from = this.#dataAt;
    for (let slot = 0; slot < count * MEMBER_SLOTS; slot += MEMBER_SLOTS) {
      const [nameStart, nameEnd, start, end] = this.#members.subarray(
        slot,
        slot + MEMBER_SLOTS,
      ) as unknown as [number, number, number, number];
      const name = JSON.parse(`"${this.#bytes.toString("utf8", nameStart, nameEnd)}"`) as string;
      const isGap = GAP_MEMBERS.has(name) && !places.has(name) && this.#bytes[start] === QUOTE;
      if (!isGap) {
        const isText = this.#bytes[start] === QUOTE;
        const text = isText ? (JSON.parse(this.#bytes.toString("utf8", start, end)) as string) : undefined;
        places.set(name, { gap: -1, part: parts.length, start: start - from, end: end - from, text });
        continue;
      }
      places.set(name, { gap: parts.length, part: 0, start: 0, end: 0, text: undefined });
      parts.push(new Pattern(this.#bytes, from, start));
      gaps.push({ length: end - start, isFixed: name !== CHOSEN_MEMBER });
      from = end;
    }
    parts.push(new Pattern(this.#bytes, from, partEnd));
    const group = this.#shapeGroup();
    const shapes = (this.#opening!.shapes[group] ??= []);
    if (shapes.length === SHAPES_MAX) shapes.pop();
    shapes.push({ parts, gaps, places, headEnd: this.#headEnd - from, isWhole });
  }

  #growMembers(): void {
    const wider = new Int32Array(this.#members.length * 2);
    wider.set(this.#members);
    this.#members = wider;
  }

  #endOfValue(from: number): number {
    const bytes = this.#bytes;
    let at = from;
    if (bytes[at] === QUOTE) return stringEnd(bytes, at, this.#end);
    let depth = 0;
    while (at < this.#end) {
      const byte = bytes[at]!;
      if (byte === QUOTE) {
        at = stringEnd(bytes, at, this.#end);
        continue;
      }
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1;
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        if (depth === 0) return at;
        depth -= 1;
      } else if (byte === COMMA && depth === 0) return at;
      at += 1;
    }
    return at;
  }
}

const TEXT = Buffer.from(LAST_HEAD_MEMBER);
function isText(bytes: Uint8Array, start: number, end: number): boolean {
  return end - start === TEXT.length && matches(bytes, start, TEXT);
}
