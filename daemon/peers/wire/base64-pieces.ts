/**
 * Base64 of files in small pieces, both ways: a string of more than 64 KiB costs several times as
 * much per character as one that fits V8's young generation.
 */
import { createHash, type Hash } from "node:crypto";
import { BlobBytes } from "../../../shared/wire/v1/blob-bytes.ts";

/**
 * Bytes of a file; a multiple of three, so that the base64 of pieces joins without padding in
 * between.
 */
const PIECE_BYTES = 12 * 1024;
/** Characters of its base64. */
export const PIECE_CHARACTERS = (PIECE_BYTES / 3) * 4;
/** The size in which files are read and decoded: whole pieces. */
export const ROOM_BYTES = 16 * PIECE_BYTES;

/**
 * The base64 of a file: strings of `PIECE_CHARACTERS`. The last one, and those where two reads
 * meet, are shorter.
 */
export function* encoded(file: BlobBytes): Generator<string, void> {
  let rest: Buffer = Buffer.alloc(0);
  for (const piece of file.read()) {
    let bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    if (rest.length > 0) {
      const missing = 3 - rest.length;
      rest = Buffer.concat([rest, bytes.subarray(0, missing)]);
      bytes = bytes.subarray(missing);
      if (rest.length < 3) continue;
      yield rest.toString("base64");
    }
    const whole = bytes.length - (bytes.length % 3);
    for (let at = 0; at < whole; at += PIECE_BYTES) {
      yield bytes.toString("base64", at, Math.min(at + PIECE_BYTES, whole));
    }
    rest = Buffer.from(bytes.subarray(whole));
  }
  if (rest.length > 0) yield rest.toString("base64");
}

/** Decodes canonical base64 as it arrives, and hashes the bytes. */
export class Base64Decoder {
  readonly #hash: Hash = createHash("sha256");
  readonly #pieces: Buffer[] = [];
  #room: Buffer = Buffer.alloc(0);
  #filled = 0;
  #bytes = 0;
  /** Up to three characters that wait for a fourth. */
  #rest = "";
  #isPadded = false;

  /**
   * Takes a string of at most `PIECE_CHARACTERS`. False when it isn't canonical base64: then it
   * wasn't taken, and nothing may follow.
   */
  push(text: string): boolean {
    const all = this.#rest === "" ? text : this.#rest + text;
    const whole = all.length - (all.length % 4);
    if (!this.#decode(all.slice(0, whole))) return false;
    this.#rest = all.slice(whole);
    return true;
  }

  /** Null when something is missing. */
  end(): BlobBytes | null {
    if (this.#rest !== "") return null;
    return this.#taken(this.#hash.digest("hex"));
  }

  /** The base64 taken so far. */
  *texts(): Generator<string> {
    yield* encoded(this.#taken(""));
    yield this.#rest;
  }

  #taken(sha256: string): BlobBytes {
    const pieces = [...this.#pieces, this.#room.subarray(0, this.#filled)];
    return new BlobBytes(this.#bytes, sha256, () => pieces);
  }

  #decode(text: string): boolean {
    if (text === "") return true;
    // Padding ends it.
    if (this.#isPadded) return false;
    const most = (text.length / 4) * 3;
    if (this.#room.length - this.#filled < most) this.#nextRoom();
    const end = this.#filled + this.#room.write(text, this.#filled, most, "base64");
    // Decoding accepts other alphabets, white space, missing padding and bits after the last byte.
    // If encoding again gives another text, it wasn't canonical.
    if (this.#room.toString("base64", this.#filled, end) !== text) return false;
    this.#hash.update(this.#room.subarray(this.#filled, end));
    this.#isPadded = end - this.#filled < most;
    this.#bytes += end - this.#filled;
    this.#filled = end;
    return true;
  }

  #nextRoom(): void {
    if (this.#filled > 0) this.#pieces.push(this.#room.subarray(0, this.#filled));
    this.#room = Buffer.allocUnsafe(ROOM_BYTES);
    this.#filled = 0;
  }
}
