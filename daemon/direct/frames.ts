/** Frames of a Direct channel: a 4-byte big-endian length and so many bytes of JSON (connect-service.md, "Limits"). */
import { parseStrictJsonBytes } from "../../shared/strict-json.ts";

const HEAD = 4;

/** Throws RangeError over `limit` bytes of JSON. */
export function encodeFrame(value: unknown, limit: number): Buffer {
  const text = JSON.stringify(value);
  const length = Buffer.byteLength(text);
  if (length > limit) throw new RangeError(`a frame of ${length} bytes is over ${limit}`);
  const frame = Buffer.allocUnsafe(HEAD + length);
  frame.writeUInt32BE(length, 0);
  frame.write(text, HEAD);
  return frame;
}

/** Puts frames together from whatever pieces they arrive in. Holds at most one frame and the piece that arrived last. */
export class FrameReader {
  #limit: number;
  #parts: Uint8Array[] = [];
  #held = 0;
  /** Bytes of JSON that the present frame has; -1 before its head is whole. */
  #length = -1;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** For frames that begin from now on. */
  set limit(bytes: number) {
    this.#limit = bytes;
  }

  /** Bytes that wait. */
  get held(): number {
    return this.#held;
  }

  push(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#parts.push(bytes);
    this.#held += bytes.length;
  }

  /** The next whole frame's value, undefined while there is none. Throws RangeError for one over the limit, StrictJsonError for what isn't JSON. */
  next(): unknown {
    if (this.#length < 0) {
      if (this.#held < HEAD) return undefined;
      this.#length = this.#take(HEAD).readUInt32BE(0);
      if (this.#length > this.#limit) {
        throw new RangeError(`a frame of ${this.#length} bytes is over ${this.#limit}`);
      }
    }
    if (this.#held < this.#length) return undefined;
    const body = this.#take(this.#length);
    this.#length = -1;
    return parseStrictJsonBytes(body);
  }

  #take(count: number): Buffer {
    const first = this.#parts[0];
    const whole =
      this.#parts.length === 1 && first !== undefined
        ? Buffer.from(first.buffer, first.byteOffset, first.length)
        : Buffer.concat(this.#parts);
    this.#parts = whole.length === count ? [] : [whole.subarray(count)];
    this.#held -= count;
    return whole.subarray(0, count);
  }
}
