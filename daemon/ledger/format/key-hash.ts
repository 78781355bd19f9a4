/**
 * Fingerprints of idempotency keys: two rounds of a multiplicative hash with different constants,
 * 64 bits together.
 */
const HIGH_START = 0x9e3779b9;
const LOW_START = 0x85ebca6b;
const HIGH_FACTOR = 0xcc9e2d51;
const LOW_FACTOR = 0x01000193;

/** Writes the key's fingerprint, as index files keep it. Never two zeros: they mean "no key". */
export function hashKey(key: string, words: Uint32Array): void {
  let high = HIGH_START;
  let low = LOW_START;
  for (let at = 0; at < key.length; at += 2) {
    // A last character is by itself.
    const second = at + 1 < key.length ? key.charCodeAt(at + 1) : 0;
    const pair = key.charCodeAt(at) | (second << 16);
    high = Math.imul(high ^ pair, HIGH_FACTOR);
    high = (high << 15) | (high >>> 17);
    low = Math.imul(low ^ pair, LOW_FACTOR);
    low ^= low >>> 13;
  }
  high ^= key.length;
  high ^= high >>> 16;
  high = Math.imul(high, 0x7feb352d) ^ low;
  low = Math.imul(low ^ (low >>> 15), 0x846ca68b) ^ (high >>> 13);
  words[0] = high;
  words[1] = high === 0 && low === 0 ? 1 : low;
}
