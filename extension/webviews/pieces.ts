/** Bytes of files in pieces, with few of them on the way at the same time. */
import type { Acknowledged } from "../../shared/acknowledged.ts";
import { LIMITS } from "../../shared/limits.ts";

const { pieceBytes, pieces } = LIMITS.webview;

/** A file that comes in pieces from a document. Its consumer decides how fast. */
export class IncomingFile implements AsyncIterable<Uint8Array> {
  readonly #bytes: number;
  readonly #taken: (seq: number) => void;
  readonly #waiting: Uint8Array[] = [];
  #received = 0;
  #next = 0;
  #wake: (() => void) | null = null;
  #failure: { error: unknown } | null = null;

  /** `taken` is told of each piece that was passed on. The file has exactly `bytes`. */
  constructor(bytes: number, taken: (seq: number) => void) {
    this.#bytes = bytes;
    this.#taken = taken;
  }

  /** A piece that isn't the next one, is too much, or comes too early fails the file. */
  add(seq: number, data: Uint8Array): void {
    if (this.#failure !== null) return;
    this.#received += data.byteLength;
    if (seq !== this.#next || this.#received > this.#bytes || this.#waiting.length >= pieces) {
      this.fail(new Error("The file came in the wrong order."));
      return;
    }
    this.#next += 1;
    this.#waiting.push(data);
    this.#wake?.();
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#waiting.length = 0;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    let passed = 0;
    for (let seq = 0; passed < this.#bytes; seq += 1) {
      while (this.#waiting.length === 0) {
        if (this.#failure !== null) throw this.#failure.error;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = null;
      }
      const data = this.#waiting.shift()!;
      passed += data.byteLength;
      yield data;
      this.#taken(seq);
    }
  }
}

/** Sends the chunks in pieces. Resolves once all have arrived. Throws the reason of an abort. */
export async function sendPieces(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  send: (seq: number, data: Uint8Array<ArrayBuffer>) => void,
  arrived: Acknowledged,
  signal: AbortSignal,
): Promise<void> {
  let sent = 0;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.byteLength; at += pieceBytes) {
      await arrived.reaches(sent - pieces, signal);
      // A copy: the chunk may be part of a larger buffer, which would be sent whole.
      send(sent, new Uint8Array(chunk.subarray(at, at + pieceBytes)));
      sent += 1;
    }
  }
  await arrived.reaches(sent - 1, signal);
}
