/**
 * JSON with files as it arrives from another instance. The base64 of files is decoded and hashed
 * meanwhile and never becomes a string. At 14 MiB that and JSON.parse would block the event loop
 * for about 50 ms.
 */
import { parseStrictJsonBytes } from "../../../shared/strict-json.ts";
import type { BlobBytes } from "../../../shared/wire/v1/blob-bytes.ts";
import { Base64Decoder, PIECE_CHARACTERS } from "./base64-pieces.ts";
import { LONG_BYTES, type Outline, outlineOf } from "./json-outline.ts";

const FILE_MEMBER = Buffer.from('"base64":"');
const QUOTE = 0x22;
/** Replaces a file in the rest. It isn't base64. */
const TOKEN_TEXT = "*";
const TOKEN = Buffer.from(TOKEN_TEXT);

/** One JSON text: the files, and the rest with a token in place of each. */
export class JsonBody {
  /** Bytes that may still arrive. */
  left: number;
  /** Bytes that have. */
  taken = 0;
  #rest: Buffer;
  #size = 0;
  /** Where the search in the rest continues. */
  #from = 0;
  /** Where a string that may be a file begins; null outside one. */
  #begin: number | null = null;
  #decoder: Base64Decoder | null = null;
  readonly #files: BlobBytes[] = [];
  /** Something wasn't plain base64, so the rest is read as ordinary JSON. */
  #isPlain = false;

  constructor(length: number) {
    this.left = length;
    this.#rest = Buffer.allocUnsafe(Math.min(length, PIECE_CHARACTERS));
  }

  /** At most `left` bytes. */
  take(bytes: Buffer): void {
    this.left -= bytes.length;
    this.taken += bytes.length;
    if (this.#decoder === null) this.#keep(bytes);
    else this.#decode(this.#decoder, bytes);
  }

  /** Throws RangeError for a text that holds too much. */
  outline(): Outline {
    return outlineOf(this.#rest.subarray(0, this.#size));
  }

  /**
   * The value; `blobsOf` finds the list that may have files. Throws StrictJsonError, or RangeError
   * for files elsewhere.
   */
  value(blobsOf: (value: unknown) => unknown): unknown {
    const value = parseStrictJsonBytes(this.#rest.subarray(0, this.#size));
    if (putBack(blobsOf(value), this.#files) !== this.#files.length) {
      throw new RangeError("files are in the wrong place");
    }
    return value;
  }

  #keep(bytes: Buffer): void {
    this.#append(bytes);
    if (!this.#isPlain) this.#search();
  }

  /**
   * Looks for the beginning of a file. A quote inside a JSON string is escaped, so the member's
   * name is found only where a member is.
   */
  #search(): void {
    const rest = this.#rest.subarray(0, this.#size);
    for (;;) {
      if (this.#begin === null) {
        const found = rest.indexOf(FILE_MEMBER, this.#from);
        if (found === -1) {
          this.#from = Math.max(this.#from, rest.length - FILE_MEMBER.length + 1);
          return;
        }
        this.#begin = found + FILE_MEMBER.length;
        this.#from = this.#begin;
      }
      const end = rest.indexOf(QUOTE, this.#from);
      if (end === -1) break;
      this.#begin = null;
      this.#from = end;
    }
    this.#from = rest.length;
    if (rest.length - this.#begin < LONG_BYTES) return;
    const text = Buffer.from(rest.subarray(this.#begin));
    this.#size = this.#begin;
    this.#begin = null;
    this.#append(TOKEN);
    this.#decoder = new Base64Decoder();
    for (let at = 0; at < text.length; at += PIECE_CHARACTERS) {
      const piece = text.subarray(at, at + PIECE_CHARACTERS);
      if (this.#decoder !== null) this.#decode(this.#decoder, piece);
      else this.#append(piece);
    }
  }

  /** Part of a file's base64, or its end and what comes after it. */
  #decode(decoder: Base64Decoder, bytes: Buffer): void {
    const quote = bytes.indexOf(QUOTE);
    const end = quote === -1 ? bytes.length : quote;
    const isTaken = decoder.push(bytes.toString("latin1", 0, end));
    const file = isTaken && quote !== -1 ? decoder.end() : null;
    if (isTaken && quote === -1) return;
    this.#decoder = null;
    if (file !== null) {
      this.#files.push(file);
      this.#from = this.#size;
      this.#keep(bytes.subarray(end));
      return;
    }
    this.#isPlain = true;
    this.#size -= TOKEN.length;
    for (const text of decoder.texts()) this.#append(Buffer.from(text, "latin1"));
    this.#append(isTaken ? bytes.subarray(end) : bytes);
  }

  #append(bytes: Buffer): void {
    const size = this.#size + bytes.length;
    if (size > this.#rest.length) {
      const grown = Buffer.allocUnsafe(Math.max(size, 2 * this.#rest.length));
      this.#rest.copy(grown, 0, 0, this.#size);
      this.#rest = grown;
    }
    bytes.copy(this.#rest, this.#size);
    this.#size = size;
  }
}

/** Files come in order in the list. Returns how many were put back. */
function putBack(blobs: unknown, files: readonly BlobBytes[]): number {
  if (!Array.isArray(blobs)) return 0;
  let next = 0;
  for (const blob of blobs as ({ base64?: unknown } | null)[]) {
    if (blob?.base64 !== TOKEN_TEXT) continue;
    blob.base64 = files[next];
    next += 1;
  }
  return next;
}
