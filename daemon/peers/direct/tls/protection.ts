/** Record protection of one direction under one key (RFC 8446, sections 5.2 and 5.3). */
import {
  type CipherGCMTypes,
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  type KeyObject,
} from "node:crypto";
import { refusal } from "./alert.ts";
import { trafficKey } from "./key-schedule.ts";
import { CONTENT_TYPES, MAX_PLAINTEXT } from "./records.ts";
import type { Suite } from "./suites.ts";

const TAG = 16;
/** Both directions: without it node:crypto would accept tags of four bytes when decrypting. */
const AEAD = { authTagLength: TAG };

export class TrafficKey {
  /**
   * One of three names, which the types of node:crypto give separate overloads of the same shape.
   */
  readonly #aead: CipherGCMTypes;
  readonly #key: KeyObject;
  readonly #iv: Buffer;
  readonly #nonce: Buffer;
  #sequence = 0;

  constructor(suite: Suite, secret: Uint8Array) {
    const { key, iv } = trafficKey(suite, secret);
    this.#aead = suite.cipher as CipherGCMTypes;
    this.#key = createSecretKey(key);
    this.#iv = iv;
    this.#nonce = Buffer.from(iv);
    key.fill(0);
  }

  /**
   * Records protected by this key: the next sequence number (section 5.3). Callers stop long before
   * it becomes inexact.
   */
  get records(): number {
    return this.#sequence;
  }

  /** TLSCiphertext (section 5.2) of `content` without padding, as pieces in order. */
  seal(type: number, content: Uint8Array): Buffer[] {
    const length = content.length + 1 + TAG;
    const head = Buffer.of(CONTENT_TYPES.application_data, 3, 3, length >> 8, length & 0xff);
    const cipher = createCipheriv(this.#aead, this.#key, this.#nextNonce(), AEAD);
    // additional_data = TLSCiphertext.opaque_type || legacy_record_version || length
    cipher.setAAD(head);
    const encrypted = cipher.update(content);
    const encryptedType = cipher.update(Buffer.of(type));
    cipher.final();
    return [head, encrypted, Buffer.concat([encryptedType, cipher.getAuthTag()])];
  }

  /**
   * Content type and content of a protected record. Nothing of it is used before the tag is
   * verified.
   */
  open(head: Buffer, encrypted: Buffer): { type: number; content: Buffer } {
    const end = encrypted.length - TAG;
    // An inner plaintext has its type at least; a shorter record can't be authentic.
    if (end < 1) throw refusal("bad_record_mac", "A protected TLS record is too short.");
    const decipher = createDecipheriv(this.#aead, this.#key, this.#nextNonce(), AEAD);
    decipher.setAAD(head);
    decipher.setAuthTag(encrypted.subarray(end));
    const inner = decipher.update(encrypted.subarray(0, end));
    try {
      decipher.final();
    } catch {
      throw refusal("bad_record_mac", "A TLS record was altered or isn't from the peer.");
    }
    // TLSInnerPlaintext, padding included, is at most 2^14 + 1 bytes (section 5.4).
    if (inner.length > MAX_PLAINTEXT + 1) throw refusal("record_overflow", "A TLS record is too long.");
    let last = inner.length - 1;
    while (last >= 0 && inner[last] === 0) last -= 1;
    // Without any non-zero octet: unexpected_message (section 5.4).
    if (last < 0) throw refusal("unexpected_message", "A TLS record contains only padding.");
    return { type: inner[last]!, content: inner.subarray(0, last) };
  }

  #nextNonce(): Buffer {
    const nonce = recordNonce(this.#iv, this.#sequence, this.#nonce);
    this.#sequence += 1;
    return nonce;
  }
}

/**
 * The iv XOR the sequence number, padded to its left (section 5.3), written into `nonce`, which
 * begins as a copy of the iv. Below 2^48.
 */
export function recordNonce(iv: Buffer, sequence: number, nonce: Buffer): Buffer {
  const at = iv.length - 6;
  const low = sequence % 2 ** 24;
  const high = (sequence - low) / 2 ** 24;
  nonce.writeUIntBE((iv.readUIntBE(at, 3) ^ high) >>> 0, at, 3);
  nonce.writeUIntBE((iv.readUIntBE(at + 3, 3) ^ low) >>> 0, at + 3, 3);
  return nonce;
}
