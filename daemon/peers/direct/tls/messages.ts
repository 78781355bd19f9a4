/**
 * Handshake messages as such: types, headers, and assembling them from records (RFC 8446, sections
 * 4 and 5.1).
 */
import { refusal } from "./alert.ts";
import { u8, vector } from "./codec.ts";

/** Section 4 and appendix B.3: those that this profile knows. */
export const HANDSHAKE_TYPES = {
  client_hello: 1,
  server_hello: 2,
  new_session_ticket: 4,
  encrypted_extensions: 8,
  certificate: 11,
  certificate_request: 13,
  certificate_verify: 15,
  finished: 20,
  key_update: 24,
  message_hash: 254,
} as const;

export interface HandshakeMessage {
  type: number;
  body: Buffer;
  /** Header and body, as the transcript takes them. */
  whole: Buffer;
}

const HEAD = 4;
const PARTS = 64;

export function handshakeMessage(type: number, ...body: Uint8Array[]): Buffer {
  return Buffer.concat([u8(type), vector(3, ...body)]);
}

/**
 * Assembles messages from the content of handshake records, however they were split or joined.
 * Holds one message of at most `limit` bytes and what came after it in the same record.
 */
export class HandshakeReader {
  readonly #limit: number;
  #parts: Buffer[] = [];
  #held = 0;

  /** `limit`: bytes of a message's body. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Bytes that don't make a whole message yet, or messages that wait. */
  get held(): number {
    return this.#held;
  }

  /** The content of one record. */
  push(content: Buffer): void {
    // A peer that sends byte by byte costs a copy now and then, not a list of thousands.
    if (this.#parts.length === PARTS) this.#parts = [Buffer.concat(this.#parts)];
    this.#parts.push(content);
    this.#held += content.length;
  }

  /** The next whole message, null while there is none. */
  next(): HandshakeMessage | null {
    if (this.#held < HEAD) return null;
    const joined = this.#join(HEAD);
    const length = joined.readUIntBE(1, 3);
    // As soon as the header is there, so that a peer can't make us hold what we won't accept.
    if (length > this.#limit) throw refusal("illegal_parameter", "A TLS handshake message is too long.");
    const end = HEAD + length;
    if (this.#held < end) return null;
    const bytes = this.#join(end);
    const whole = bytes.subarray(0, end);
    this.#parts = bytes.length === end ? [] : [bytes.subarray(end)];
    this.#held -= end;
    return { type: whole.readUInt8(0), body: whole.subarray(HEAD), whole };
  }

  /** A first part of at least `count` bytes, joined no more often than necessary. */
  #join(count: number): Buffer {
    const first = this.#parts[0];
    if (first !== undefined && first.length >= count) return first;
    const all = Buffer.concat(this.#parts);
    this.#parts = [all];
    return all;
  }
}
