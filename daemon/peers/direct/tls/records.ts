/** Cutting bytes into records (RFC 8446, section 5.1), in constant memory. */
import { refusal } from "./alert.ts";

export const CONTENT_TYPES = {
  change_cipher_spec: 20,
  alert: 21,
  handshake: 22,
  application_data: 23,
} as const;

/** Type, legacy_record_version, length. */
const HEAD = 5;
/** Section 5.1: of a fragment, and of an inner plaintext without its type. */
export const MAX_PLAINTEXT = 2 ** 14;
/** Section 5.2: of what follows the header of a protected record. */
const MAX_CIPHERTEXT = MAX_PLAINTEXT + 256;

export interface TlsRecord {
  /** The outer type, one of the four. */
  type: number;
  /** As it came: the additional data of a protected record. */
  head: Buffer;
  fragment: Buffer;
}

/**
 * Takes bytes in any pieces and hands out whole records. Holds less than one record. Records share
 * memory with the bytes given, which the caller must not reuse.
 */
export class RecordReader {
  /** The incomplete record, of which `#filled` bytes are there. */
  #partial: Buffer | null = null;
  #filled = 0;

  /** Whether a record has begun and isn't complete. */
  get partial(): boolean {
    return this.#filled > 0;
  }

  /**
   * Calls `take` for each record until it returns false. Returns how many of the bytes were used.
   */
  feed(bytes: Buffer, take: (record: TlsRecord) => boolean): number {
    let at = 0;
    while (at < bytes.length) {
      if (this.#partial === null) {
        const length = bytes.length - at >= HEAD ? recordLength(bytes, at) : Number.POSITIVE_INFINITY;
        const end = at + HEAD + length;
        if (end <= bytes.length) {
          at = end;
          if (!take(split(bytes.subarray(end - HEAD - length, end)))) return at;
          continue;
        }
        this.#partial = Buffer.allocUnsafe(length === Number.POSITIVE_INFINITY ? HEAD : HEAD + length);
      }
      at += this.#fill(bytes, at);
      if (this.#filled < this.#partial.length) return at;
      if (this.#filled === HEAD && this.#partial.length === HEAD) {
        const length = recordLength(this.#partial, 0);
        const grown = Buffer.allocUnsafe(HEAD + length);
        this.#partial.copy(grown);
        this.#partial = grown;
        if (length > 0) continue;
      }
      const whole = this.#partial;
      this.#partial = null;
      this.#filled = 0;
      if (!take(split(whole))) return at;
    }
    return at;
  }

  #fill(bytes: Buffer, at: number): number {
    const copied = bytes.copy(this.#partial!, this.#filled, at);
    this.#filled += copied;
    return copied;
  }
}

/**
 * Checks the header at `at` and returns its length. legacy_record_version is ignored, as section
 * 5.1 demands.
 */
function recordLength(bytes: Buffer, at: number): number {
  const type = bytes[at]!;
  if (type < CONTENT_TYPES.change_cipher_spec || type > CONTENT_TYPES.application_data)
    throw refusal("unexpected_message", "The data received isn't TLS.");
  const length = bytes.readUInt16BE(at + 3);
  const limit = type === CONTENT_TYPES.application_data ? MAX_CIPHERTEXT : MAX_PLAINTEXT;
  if (length > limit) throw refusal("record_overflow", "A TLS record is too long.");
  return length;
}

function split(whole: Buffer): TlsRecord {
  return { type: whole[0]!, head: whole.subarray(0, HEAD), fragment: whole.subarray(HEAD) };
}
