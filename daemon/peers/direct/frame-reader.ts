/** Incoming frames of a Direct channel. */
import { PIECE_CHARACTERS } from "../wire/base64-pieces.ts";
import { JsonBody } from "../wire/json-body.ts";
import type { Outline } from "../wire/json-outline.ts";

const HEAD = 4;

/** A complete frame, before anything is built from it. */
export interface ArrivedFrame {
  outline: Outline;
  /** Of its JSON, including files. */
  bytes: number;
  /** Throws StrictJsonError if it isn't JSON, RangeError for files where none are allowed. */
  value(): unknown;
}

/** Assembles frames from the pieces they arrive in. Holds at most one frame and the last piece. */
export class FrameReader {
  #limit: number;
  /** Bytes that no frame has consumed yet. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** The frame that is arriving; null until its header is complete. */
  #body: JsonBody | null = null;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** For frames that begin from now on. */
  set limit(bytes: number) {
    this.#limit = bytes;
  }

  /** Bytes that wait. */
  get held(): number {
    return this.#waitingBytes + (this.#body?.taken ?? 0);
  }

  push(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#waiting.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    this.#waitingBytes += bytes.length;
    if (this.#body !== null) this.#feed(this.#body);
  }

  /**
   * The next complete frame, or undefined. Throws RangeError for a frame over the limits of size
   * and contents.
   */
  next(): ArrivedFrame | undefined {
    if (this.#body === null) {
      if (this.#waitingBytes < HEAD) return undefined;
      const length = this.#head();
      if (length > this.#limit) throw new RangeError(`a frame of ${length} bytes is over ${this.#limit}`);
      this.#body = new JsonBody(length);
      this.#feed(this.#body);
    }
    const body = this.#body;
    if (body.left > 0) return undefined;
    this.#body = null;
    return { outline: body.outline(), bytes: body.taken, value: () => body.value(blobsOf) };
  }

  #head(): number {
    const first = this.#waiting[0]!;
    const whole = first.length >= HEAD ? first : Buffer.concat(this.#waiting);
    this.#waiting = whole === first ? this.#waiting : [whole];
    this.#waiting[0] = whole.subarray(HEAD);
    this.#waitingBytes -= HEAD;
    return whole.readUInt32BE(0);
  }

  #feed(body: JsonBody): void {
    while (this.#waiting.length > 0 && body.left > 0) {
      const piece = this.#waiting[0]!;
      // No larger than the length that identifies a file, so that none is missed.
      const taken = piece.subarray(0, Math.min(body.left, PIECE_CHARACTERS));
      body.take(taken);
      this.#waitingBytes -= taken.length;
      if (taken.length === piece.length) this.#waiting.shift();
      else this.#waiting[0] = piece.subarray(taken.length);
    }
  }
}

type MaybeRequest = { request?: { operation?: { blobs?: unknown } } } | null;

/** Where a frame has files. */
function blobsOf(value: unknown): unknown {
  return (value as MaybeRequest)?.request?.operation?.blobs;
}
