/**
 * Fingerprints of idempotency keys: two rounds of a multiplicative hash with different constants,
 * 64 bits together.
 */
const HIGH_START = 0x9e3779b9;
const LOW_START = 0x85ebca6b;
const HIGH_FACTOR = 0xcc9e2d51;
const LOW_FACTOR = 0x01000193;
const BACKSLASH = 92;
const ASCII_LIMIT = 128;
const NO_CHARACTER = -1;

/** Takes a key in pieces, two characters at a time. How it is cut makes no difference. */
export class KeyHash {
  #high = HIGH_START;
  #low = LOW_START;
  #length = 0;
  /** A character that waits for the second one of its pair. */
  #odd = NO_CHARACTER;

  begin(): this {
    this.#high = HIGH_START;
    this.#low = LOW_START;
    this.#length = 0;
    this.#odd = NO_CHARACTER;
    return this;
  }

  /** Goes on from where `other` is. */
  beginWith(other: KeyHash): this {
    this.#high = other.#high;
    this.#low = other.#low;
    this.#length = other.#length;
    this.#odd = other.#odd;
    return this;
  }

  add(text: string): this {
    let at = 0;
    if (this.#odd !== NO_CHARACTER && text.length > 0) {
      this.#pair(this.#odd | (text.charCodeAt(0) << 16));
      this.#odd = NO_CHARACTER;
      at = 1;
    }
    for (; at + 1 < text.length; at += 2) this.#pair(text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16));
    if (at < text.length) this.#odd = text.charCodeAt(at);
    this.#length += text.length;
    return this;
  }

  /**
   * The same for a piece of a JSON string; false when it holds escapes or more than ASCII, and the
   * hash is unusable then.
   */
  addPlain(bytes: Uint8Array, start: number, end: number): boolean {
    let high = this.#high;
    let low = this.#low;
    let first = this.#odd;
    for (let at = start; at < end; at += 1) {
      const next = bytes[at]!;
      if (next === BACKSLASH || next >= ASCII_LIMIT) return false;
      if (first === NO_CHARACTER) {
        first = next;
        continue;
      }
      const pair = first | (next << 16);
      high = Math.imul(high ^ pair, HIGH_FACTOR);
      high = (high << 15) | (high >>> 17);
      low = Math.imul(low ^ pair, LOW_FACTOR);
      low ^= low >>> 13;
      first = NO_CHARACTER;
    }
    this.#high = high;
    this.#low = low;
    this.#odd = first;
    this.#length += end - start;
    return true;
  }

  /** Into two words; never two zeros, which mean "no key". */
  finish(words: Uint32Array): void {
    if (this.#odd !== NO_CHARACTER) this.#pair(this.#odd);
    let high = this.#high ^ this.#length;
    let low = this.#low;
    high ^= high >>> 16;
    high = Math.imul(high, 0x7feb352d) ^ low;
    low = Math.imul(low ^ (low >>> 15), 0x846ca68b) ^ (high >>> 13);
    words[0] = high;
    words[1] = high === 0 && low === 0 ? 1 : low;
  }

  #pair(pair: number): void {
    const high = Math.imul(this.#high ^ pair, HIGH_FACTOR);
    this.#high = (high << 15) | (high >>> 17);
    const low = Math.imul(this.#low ^ pair, LOW_FACTOR);
    this.#low = low ^ (low >>> 13);
  }
}
