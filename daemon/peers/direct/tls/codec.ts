/**
 * The presentation language of RFC 8446, section 3: numbers in network order and vectors with a
 * length in front.
 */
import { refusal } from "./alert.ts";

/** Reads a structure from its first to its last byte. Anything that doesn't fit is decode_error. */
export class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  u8(): number {
    return this.#bytes.readUInt8(this.#advance(1));
  }

  u16(): number {
    return this.#bytes.readUInt16BE(this.#advance(2));
  }

  /** This many bytes. They share memory with what is read. */
  bytes(count: number): Buffer {
    const at = this.#advance(count);
    return this.#bytes.subarray(at, at + count);
  }

  /**
   * The content of a vector whose length takes `lengthBytes` bytes and is at least `min` and at
   * most `max`.
   */
  vector(lengthBytes: 1 | 2 | 3, min = 0, max = 2 ** 24): Buffer {
    const at = this.#advance(lengthBytes);
    const length = this.#bytes.readUIntBE(at, lengthBytes);
    if (length < min || length > max) throw refusal("decode_error", "A TLS vector has a forbidden length.");
    return this.bytes(length);
  }

  /** The elements of a vector of two-byte numbers with a two-byte length, at least one. */
  numbers(): number[] {
    const content = new Reader(this.vector(2, 2));
    const list: number[] = [];
    while (content.left > 0) list.push(content.u16());
    return list;
  }

  /** Nothing may be left. */
  end(): void {
    if (this.left > 0) throw refusal("decode_error", "A TLS structure has bytes after its end.");
  }

  #advance(count: number): number {
    const at = this.#at;
    if (count > this.left) throw refusal("decode_error", "A TLS structure is cut short.");
    this.#at += count;
    return at;
  }
}

/** Reads all of `bytes`: `read` takes what it knows, and then nothing may be left. */
export function decode<T>(bytes: Buffer, read: (reader: Reader) => T): T {
  const reader = new Reader(bytes);
  const value = read(reader);
  reader.end();
  return value;
}

export function u8(value: number): Buffer {
  return Buffer.of(value);
}

export function u16(value: number): Buffer {
  return Buffer.of(value >> 8, value & 0xff);
}

/** A vector: the length of all `parts` in `lengthBytes` bytes, then the parts. */
export function vector(lengthBytes: 1 | 2 | 3, ...parts: Uint8Array[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const head = Buffer.alloc(lengthBytes);
  head.writeUIntBE(length, 0, lengthBytes);
  return Buffer.concat([head, ...parts]);
}
