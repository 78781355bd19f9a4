/** Bytes of JSON lines: comparing, finding the ends of strings, reading hex digits. */

const QUOTE = 34;
const BACKSLASH = 92;
const WORD_BYTES = 8;

/**
 * Value of two hex digits by their codes, the first one's in the lower byte; 256 for any other
 * bytes.
 */
const HEX = new Uint16Array(65536).fill(256);
for (let byte = 0; byte < 256; byte += 1) {
  const digits = byte.toString(16).padStart(2, "0");
  HEX[digits.charCodeAt(0) | (digits.charCodeAt(1) << 8)] = byte;
}

/** Eight hex digits as a 32-bit number; -1 when one isn't a digit. */
export function hexWord(view: DataView, at: number): number {
  const a = HEX[view.getUint16(at, true)]!;
  const b = HEX[view.getUint16(at + 2, true)]!;
  const c = HEX[view.getUint16(at + 4, true)]!;
  const d = HEX[view.getUint16(at + 6, true)]!;
  if ((a | b | c | d) > 255) return -1;
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
}

/**
 * Bytes that many lines have in common, compared eight at a time as floating-point numbers: two of
 * them are equal when their bytes are, but for zeros (JSON has no NUL) and NaN (no ASCII makes one;
 * a pattern with other text may never match and costs only time).
 */
export class Pattern {
  readonly length: number;
  /**
   * Each eight bytes, the last of them overlapping those before; empty for a shorter pattern, which
   * has bytes instead.
   */
  readonly #words: Float64Array;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, start: number, end: number) {
    const copy = new Uint8Array(bytes.subarray(start, end));
    this.length = copy.length;
    this.#bytes = copy.length < WORD_BYTES ? copy : new Uint8Array(0);
    this.#words = new Float64Array(copy.length < WORD_BYTES ? 0 : Math.ceil(copy.length / WORD_BYTES));
    const view = new DataView(copy.buffer);
    for (let word = 0; word < this.#words.length; word += 1) {
      const place = Math.min(word * WORD_BYTES, copy.length - WORD_BYTES);
      this.#words[word] = view.getFloat64(place, true);
    }
  }

  /**
   * `at + length` must lie within the view. Looks from the end, because patterns of one kind differ
   * there.
   */
  stands(view: DataView, at: number): boolean {
    const words = this.#words;
    let word = words.length - 1;
    if (word < 0) return this.#stand(view, at);
    if (view.getFloat64(at + this.length - WORD_BYTES, true) !== words[word]) return false;
    // Four at a time, which takes a fifth less.
    for (; word >= 4; word -= 4) {
      const end = at + word * WORD_BYTES;
      if (
        view.getFloat64(end - WORD_BYTES, true) !== words[word - 1] ||
        view.getFloat64(end - 2 * WORD_BYTES, true) !== words[word - 2] ||
        view.getFloat64(end - 3 * WORD_BYTES, true) !== words[word - 3] ||
        view.getFloat64(end - 4 * WORD_BYTES, true) !== words[word - 4]
      )
        return false;
    }
    for (word -= 1; word >= 0; word -= 1) {
      if (view.getFloat64(at + word * WORD_BYTES, true) !== words[word]) return false;
    }
    return true;
  }

  #stand(view: DataView, at: number): boolean {
    const bytes = this.#bytes;
    for (let byte = 0; byte < bytes.length; byte += 1) {
      if (view.getUint8(at + byte) !== bytes[byte]) return false;
    }
    return true;
  }
}

export function matches(bytes: Uint8Array, at: number, expected: Uint8Array): boolean {
  for (let index = 0; index < expected.length; index += 1) {
    if (bytes[at + index] !== expected[index]) return false;
  }
  return true;
}

/** Where a string without escapes ends (its quote); -1 when it has some or doesn't end. */
export function plainEnd(bytes: Uint8Array, from: number, limit: number): number {
  for (let at = from; at < limit; at += 1) {
    const byte = bytes[at]!;
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) return -1;
  }
  return -1;
}

const QUOTES = 0x22222222;
const BACKSLASHES = 0x5c5c5c5c;
const ONES = 0x01010101;
const HIGHEST = 0x80808080;

/**
 * Skips bytes that are neither quotes nor backslashes, four at a time; what follows may be some,
 * too.
 */
export function skipPlain(view: DataView, from: number, limit: number): number {
  let at = from;
  while (at + 4 <= limit) {
    const four = view.getInt32(at, true);
    const quotes = four ^ QUOTES;
    const backslashes = four ^ BACKSLASHES;
    // A byte that is zero after the comparison borrows from its highest bit.
    if ((((quotes - ONES) & ~quotes) | ((backslashes - ONES) & ~backslashes)) & HIGHEST) break;
    at += 4;
  }
  return at;
}

/** Whether exactly a string without escapes is there, including its quotes. */
export function isPlainString(view: DataView, start: number, end: number): boolean {
  if (view.getUint8(start) !== QUOTE || view.getUint8(end - 1) !== QUOTE) return false;
  for (let at = skipPlain(view, start + 1, end - 1); at < end - 1; at += 1) {
    const byte = view.getUint8(at);
    if (byte === QUOTE || byte === BACKSLASH) return false;
  }
  return true;
}

/** The position after the closing quote of the string whose opening quote is at `from`. */
export function stringEnd(bytes: Uint8Array, from: number, limit: number): number {
  let at = from + 1;
  while (at < limit) {
    const byte = bytes[at]!;
    if (byte === QUOTE) return at + 1;
    at += byte === BACKSLASH ? 2 : 1;
  }
  return limit;
}
