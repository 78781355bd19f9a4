/** What keys, references and projections need of an event, read from the raw line without parsing it. */
import type { LedgerEvent } from "../../shared/events.ts";
import { LAST_HEAD_MEMBER, LINE_START, MESSAGE_KIND } from "./line.ts";
import type { EventHead } from "./types.ts";

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const BACKSLASH = 92;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** Value of a hex digit by its code, 255 for any other byte. */
const HEX = new Uint8Array(256).fill(255);
for (let digit = 0; digit < 16; digit += 1) HEX[digit.toString(16).charCodeAt(0)] = digit;

/** Eight hex digits as a 32-bit number; -1 when one isn't a digit. */
export function hexWord(bytes: Uint8Array, at: number): number {
  const a = HEX[bytes[at]!]!;
  const b = HEX[bytes[at + 1]!]!;
  const c = HEX[bytes[at + 2]!]!;
  const d = HEX[bytes[at + 3]!]!;
  const e = HEX[bytes[at + 4]!]!;
  const f = HEX[bytes[at + 5]!]!;
  const g = HEX[bytes[at + 6]!]!;
  const h = HEX[bytes[at + 7]!]!;
  if ((a | b | c | d | e | f | g | h) > 15) return -1;
  return ((a << 28) | (b << 24) | (c << 20) | (d << 16) | (e << 12) | (f << 8) | (g << 4) | h) >>> 0;
}

/** Keeps one string per distinct short value, so that a million lines don't make a million equal strings. */
class Interner {
  readonly #buckets: ({ bytes: Uint8Array; text: string }[] | undefined)[] = [];

  text(bytes: Buffer, start: number, end: number): string {
    let hash = end - start;
    for (let at = start; at < end; at += 1) hash = (Math.imul(hash, 31) + bytes[at]!) | 0;
    const at = (hash ^ (hash >>> 8)) & 255;
    const bucket = (this.#buckets[at] ??= []);
    search: for (const entry of bucket) {
      if (entry.bytes.length !== end - start) continue;
      for (let at = 0; at < entry.bytes.length; at += 1) {
        if (entry.bytes[at] !== bytes[start + at]) continue search;
      }
      return entry.text;
    }
    const text = bytes.toString("utf8", start, end);
    if (bucket.length < 16) bucket.push({ bytes: Uint8Array.prototype.slice.call(bytes, start, end), text });
    return text;
  }
}

const MEMBER_SLOTS = 4;
const TS_LENGTH = 24;
const ID_AT = LINE_START.length;
const AFTER_ID = Buffer.from('","ts":"');
const TS_AT = ID_AT + 32 + AFTER_ID.length;
const AFTER_TS = Buffer.from('","kind":"');
const KIND_AT = TS_AT + TS_LENGTH + AFTER_TS.length;
const START = Buffer.from(LINE_START);
const AFTER_SCOPE = Buffer.from('"by":"');
const AFTER_BY = Buffer.from('"data":{');

/** A line of our layout. One object serves a whole scan: `place` moves it on. */
export class LineHead implements EventHead {
  readonly #afterKind: Buffer;
  readonly #interner = new Interner();
  readonly #names = new Map<string, Buffer>();
  #bytes: Buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;
  #scope = 0;
  #scopeEnd = 0;
  #by = 0;
  #byEnd = 0;
  #dataAt = 0;
  /** Name start, name end, value start, value end of each member of data; filled on first use. */
  #members = new Int32Array(64 * MEMBER_SLOTS);
  #memberCount = -1;
  #headEnd = 0;
  #data: Record<string, unknown> | null = null;
  kind = "";

  constructor(groupId: string) {
    this.#afterKind = Buffer.from(`,"group_id":"${groupId}","scope_key":"`);
  }

  /** False when the line isn't of our layout; the head is unusable then. `end` is behind the closing brace. */
  place(bytes: Buffer, start: number, end: number): boolean {
    this.#memberCount = -1;
    this.#data = null;
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
    if (end - start < KIND_AT + 16 || bytes[end - 1] !== CLOSE_BRACE || bytes[end - 2] !== CLOSE_BRACE)
      return false;
    if (!matches(bytes, start, START)) return false;
    if (!matches(bytes, start + ID_AT + 32, AFTER_ID)) return false;
    if (!matches(bytes, start + TS_AT + TS_LENGTH, AFTER_TS)) return false;
    const kindEnd = plainEnd(bytes, start + KIND_AT, end);
    if (kindEnd < 0 || !matches(bytes, kindEnd + 1, this.#afterKind)) return false;
    this.#scope = kindEnd + 1 + this.#afterKind.length;
    this.#scopeEnd = plainEnd(bytes, this.#scope, end);
    if (this.#scopeEnd < 0 || bytes[this.#scopeEnd + 1] !== COMMA) return false;
    if (!matches(bytes, this.#scopeEnd + 2, AFTER_SCOPE)) return false;
    this.#by = this.#scopeEnd + 2 + AFTER_SCOPE.length;
    this.#byEnd = plainEnd(bytes, this.#by, end);
    if (this.#byEnd < 0 || bytes[this.#byEnd + 1] !== COMMA || !matches(bytes, this.#byEnd + 2, AFTER_BY))
      return false;
    this.#dataAt = this.#byEnd + 2 + AFTER_BY.length;
    this.kind = this.#interner.text(bytes, start + KIND_AT, kindEnd);
    return true;
  }

  /** The id as four words into `words`; false when it isn't 32 lowercase hex digits. */
  idWords(words: Uint32Array): boolean {
    for (let word = 0; word < 4; word += 1) {
      const value = hexWord(this.#bytes, this.#start + ID_AT + word * 8);
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
    return this.#interner.text(this.#bytes, this.#scope, this.#scopeEnd);
  }

  get by(): string {
    return this.#interner.text(this.#bytes, this.#by, this.#byEnd);
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
    const at = this.#value(name);
    if (at < 0 || this.#bytes[this.#members[at + 2]!] !== QUOTE) return undefined;
    const start = this.#members[at + 2]!;
    const end = this.#members[at + 3]!;
    for (let at = start; at < end; at += 1) {
      const byte = this.#bytes[at]!;
      if (byte === BACKSLASH || byte > 127)
        return JSON.parse(this.#bytes.toString("utf8", start, end)) as string;
    }
    return this.#bytes.toString("latin1", start + 1, end - 1);
  }

  /** Words of a member that is an event id; false when it isn't there or isn't one. */
  memberWords(name: string, words: Uint32Array): boolean {
    const at = this.#value(name);
    if (at < 0 || this.#members[at + 3]! - this.#members[at + 2]! !== 34) return false;
    for (let word = 0; word < 4; word += 1) {
      const value = hexWord(this.#bytes, this.#members[at + 2]! + 1 + word * 8);
      if (value < 0) return false;
      words[word] = value;
    }
    return true;
  }

  /** Slot of the last member of that name, as JSON.parse would choose; -1 when there is none. */
  #value(name: string): number {
    if (this.#memberCount < 0) this.#findMembers();
    let wanted = this.#names.get(name);
    if (wanted === undefined) {
      wanted = Buffer.from(JSON.stringify(name).slice(1, -1));
      this.#names.set(name, wanted);
    }
    for (let slot = (this.#memberCount - 1) * MEMBER_SLOTS; slot >= 0; slot -= MEMBER_SLOTS) {
      const start = this.#members[slot]!;
      if (this.#members[slot + 1]! - start === wanted.length && matches(this.#bytes, start, wanted))
        return slot;
    }
    return -1;
  }

  #findMembers(): void {
    const bytes = this.#bytes;
    const stopsAtText = this.kind === MESSAGE_KIND;
    let at = this.#dataAt;
    let count = 0;
    this.#headEnd = this.#end - 2;
    while (at < this.#headEnd && bytes[at] === QUOTE) {
      const nameEnd = stringEnd(bytes, at, this.#end);
      const valueAt = nameEnd + 1;
      if (bytes[nameEnd] !== COLON) break;
      if (stopsAtText && isText(bytes, at + 1, nameEnd - 1)) {
        this.#headEnd = count === 0 ? this.#dataAt : at - 1;
        break;
      }
      const valueEnd = this.#valueEnd(valueAt);
      if ((count + 1) * MEMBER_SLOTS > this.#members.length) this.#growMembers();
      const slot = count * MEMBER_SLOTS;
      this.#members[slot] = at + 1;
      this.#members[slot + 1] = nameEnd - 1;
      this.#members[slot + 2] = valueAt;
      this.#members[slot + 3] = valueEnd;
      count += 1;
      at = valueEnd + 1;
    }
    this.#memberCount = count;
  }

  #growMembers(): void {
    const wider = new Int32Array(this.#members.length * 2);
    wider.set(this.#members);
    this.#members = wider;
  }

  #valueEnd(from: number): number {
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

function matches(bytes: Uint8Array, at: number, expected: Uint8Array): boolean {
  for (let index = 0; index < expected.length; index += 1) {
    if (bytes[at + index] !== expected[index]) return false;
  }
  return true;
}

/** Where a string without escapes ends (its quote); -1 when it has some or doesn't end. */
function plainEnd(bytes: Uint8Array, from: number, limit: number): number {
  for (let at = from; at < limit; at += 1) {
    const byte = bytes[at]!;
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) return -1;
  }
  return -1;
}

/** Behind the closing quote of the string whose opening quote is at `from`. */
function stringEnd(bytes: Uint8Array, from: number, limit: number): number {
  let at = from + 1;
  while (at < limit) {
    const byte = bytes[at]!;
    if (byte === QUOTE) return at + 1;
    at += byte === BACKSLASH ? 2 : 1;
  }
  return limit;
}

const TEXT = Buffer.from(LAST_HEAD_MEMBER);
function isText(bytes: Uint8Array, start: number, end: number): boolean {
  return end - start === TEXT.length && matches(bytes, start, TEXT);
}

/** The same face over an event in memory: a fresh append, or a line of another layout. */
export class ParsedHead implements EventHead {
  readonly #event: LedgerEvent;

  constructor(event: LedgerEvent) {
    this.#event = event;
  }

  get id(): string {
    return this.#event.id;
  }
  get ts(): string {
    return this.#event.ts;
  }
  get kind(): string {
    return this.#event.kind;
  }
  get scope_key(): string {
    return this.#event.scope_key;
  }
  get by(): string {
    return this.#event.by;
  }
  get data(): Record<string, unknown> {
    return this.#event.data;
  }

  string(name: string): string | undefined {
    const value = Object.hasOwn(this.#event.data, name) ? this.#event.data[name] : undefined;
    return typeof value === "string" ? value : undefined;
  }
}
