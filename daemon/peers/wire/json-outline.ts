/**
 * What a frame's JSON is about and how much it holds, found by counting its bytes. A peer's frame
 * is measured before anything is built from it: a few MiB of `{},` become gigabytes of objects.
 */
import { LIMITS } from "../../../shared/limits.ts";

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];

/** A string of at least this many bytes is a file's base64, or a message's text. */
export const LONG_BYTES = 64 * 1024;
/** The member names and values that matter are shorter than this. */
const WORD_BYTES = 64;

/**
 * Members of the frame itself, as written. Null when they are absent, or aren't short texts without
 * escapes.
 */
export interface Outline {
  kind: string | null;
  id: string | null;
}

/**
 * Reads the outline of JSON text without checking that it is JSON. Throws RangeError for more than
 * `jsonBytes` of JSON besides long strings, for more than `jsonValues` values, and for JSON that is
 * nested too deeply.
 */
export function outlineOf(bytes: Uint8Array): Outline {
  const scan = new Scan(bytes);
  scan.run();
  return { kind: scan.word("kind"), id: scan.word("id") };
}

class Scan {
  readonly #bytes: Buffer;
  readonly #words = new Map<string, string>();
  #depth = 0;
  #values = 1;
  #longBytes = 0;
  /** The last string among the frame's own members, and the name whose value comes next. */
  #latest: string | null = null;
  #name: string | null = null;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  word(name: string): string | null {
    return this.#words.get(name) ?? null;
  }

  run(): void {
    const bytes = this.#bytes;
    for (let at = 0; at < bytes.length; at += 1) {
      switch (bytes[at]) {
        case QUOTE:
          at = this.#string(at + 1);
          break;
        case COLON:
          if (this.#depth === 1) this.#name = this.#latest;
          break;
        case COMMA:
          this.#count();
          if (this.#depth === 1) this.#name = null;
          break;
        case OPEN_OBJECT:
        case OPEN_ARRAY:
          this.#count();
          this.#depth += 1;
          if (this.#depth > LIMITS.body.jsonDepth) throw new RangeError("it is nested too deeply");
          break;
        case CLOSE_OBJECT:
        case CLOSE_ARRAY:
          this.#depth -= 1;
          break;
        case undefined:
        default:
      }
    }
    const { jsonBytes } = LIMITS.direct;
    if (bytes.length - this.#longBytes > jsonBytes)
      throw new RangeError(`it has more than ${jsonBytes} bytes apart from its files`);
  }

  #count(): void {
    this.#values += 1;
    if (this.#values > LIMITS.direct.jsonValues)
      throw new RangeError(`it has more than ${LIMITS.direct.jsonValues} values`);
  }

  /** From after the opening quote to the closing one, or the end. */
  #string(begin: number): number {
    const bytes = this.#bytes;
    let end = begin;
    while (end < bytes.length && bytes[end] !== QUOTE) {
      end += bytes[end] === BACKSLASH ? 2 : 1;
    }
    if (end - begin >= LONG_BYTES) {
      this.#longBytes += end - begin;
    }
    if (this.#depth === 1) this.#take(end - begin < WORD_BYTES ? bytes.toString("latin1", begin, end) : null);
    return end;
  }

  #take(text: string | null): void {
    this.#latest = text;
    if (this.#name !== null && text !== null) this.#words.set(this.#name, text);
    this.#name = null;
  }
}
