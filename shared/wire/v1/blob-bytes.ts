/**
 * A file's bytes in place of their base64. The wire and JSON carry base64. In memory, a text of 14
 * MiB would be slow to create, compare and collect.
 */
import { toBase64 } from "./base64.ts";

export class BlobBytes {
  readonly bytes: number;
  /**
   * Hex digest of the bytes: computed when they were read off the wire, or the name under which a
   * Group keeps them.
   */
  readonly sha256: string;
  /**
   * The bytes in order, in pieces of any size. Each piece is valid until the next one is requested.
   * May throw Node's errors.
   */
  readonly read: () => Iterable<Uint8Array>;

  constructor(bytes: number, sha256: string, read: () => Iterable<Uint8Array>) {
    this.bytes = bytes;
    this.sha256 = sha256;
    this.read = read;
  }

  toJSON(): string {
    const whole = new Uint8Array(this.bytes);
    let at = 0;
    for (const piece of this.read()) {
      whole.set(piece, at);
      at += piece.length;
    }
    return toBase64(whole);
  }
}
