/**
 * A link that carries frames: first one hello in each direction, then any frames. Each frame sent
 * has a time budget (docs/protocol.md#direct).
 */

import type { Clock, Timer } from "../../../platform/clock.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { type ArrivedFrame, FrameReader } from "./frame-reader.ts";
import { encodeFrame, type Frame } from "./frames.ts";
import type { Link } from "./link.ts";

export interface FrameHandler {
  /** If it throws while it reads the frame's value, the link ends. */
  frame(frame: ArrivedFrame): void;
  /** The link has ended. Called once. `reason` is null after an orderly close by the peer. */
  ended(reason: string | null): void;
}

/** The end of a link that its peer closed in order. */
export const CLOSED = "The peer closed the connection.";

/** This much of a large frame is sent before yielding to the event loop. */
const TURN_BYTES = 256 * 1024;

interface Outgoing {
  value: unknown;
  begin: () => boolean;
  sent: () => void;
  failed: (error: Error) => void;
}

export class FramedLink {
  readonly peer_key: string;
  readonly #link: Link;
  readonly #clock: Clock;
  readonly #waiting: number;
  readonly #reader = new FrameReader(LIMITS.direct.helloBytes);
  #handler: FrameHandler | null = null;
  #first: { resolve: (value: unknown) => void; reject: (error: Error) => void } | null = null;
  #queue: Outgoing[] = [];
  #sending: Outgoing | null = null;
  #parts: Frame["parts"] | null = null;
  #budget: Timer | null = null;
  /** Why it ended; undefined while it lives. */
  #end: string | null | undefined;
  #endedHere = false;
  /** `Clock.monotonic()` of the last bytes each way. */
  heard: number;
  said: number;

  /** At most `waiting` bytes may arrive before `open`. */
  constructor(link: Link, clock: Clock, waiting: number) {
    this.peer_key = link.peer_key;
    this.#link = link;
    this.#clock = clock;
    this.#waiting = waiting;
    this.heard = clock.monotonic();
    this.said = this.heard;
    link.receive({
      data: (bytes) => this.#receive(bytes),
      ended: (reason, here = false) => this.#finish(reason, here),
    });
  }

  get isOpen(): boolean {
    return this.#end === undefined;
  }

  /** Whether this side ended the link. */
  get endedHere(): boolean {
    return this.#endedHere;
  }

  /** Why it ended, for people. */
  get endReason(): string {
    return this.#end ?? CLOSED;
  }

  /**
   * The first frame, of at most `helloBytes`. Rejects with an Error for people when the link ends
   * or delivers something else.
   */
  first(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#first = { resolve, reject };
      if (this.#end !== undefined) reject(endError(this.#end));
      else this.#deliver();
    });
  }

  /** Every later frame goes to `handler`. Frames that are already waiting go at once. */
  open(handler: FrameHandler): void {
    this.#handler = handler;
    this.#reader.limit = LIMITS.direct.frameBytes;
    if (this.#end !== undefined) handler.ended(this.#end);
    else this.#deliver();
  }

  /**
   * Sends one frame after those that wait. Resolves when the system has taken it. Rejects with an
   * Error for people when it is too large or the link ends. `begin` is called before its first byte
   * leaves, and may say that the frame is no longer wanted.
   */
  send(value: unknown, begin: () => boolean = () => true): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#end !== undefined) {
        reject(endError(this.#end));
        return;
      }
      this.#queue.push({ value, begin, sent: resolve, failed: reject });
      this.#sendNext();
    });
  }

  /** Ends the link from this side without calling the handler. Idempotent. */
  close(): void {
    this.#handler = null;
    this.#finish("This side closed the connection.");
  }

  #receive(bytes: Uint8Array): void {
    if (this.#end !== undefined) return;
    this.heard = this.#clock.monotonic();
    this.#reader.push(bytes);
    if (this.#handler === null && this.#reader.held > this.#waiting) {
      this.#finish("The peer sent more data than this side requested.");
      return;
    }
    this.#deliver();
  }

  #deliver(): void {
    try {
      while (this.#end === undefined && (this.#first !== null || this.#handler !== null)) {
        const frame = this.#reader.next();
        if (frame === undefined) return;
        const first = this.#first;
        if (first === null) this.#handler?.frame(frame);
        else {
          first.resolve(frame.value());
          this.#first = null;
        }
      }
    } catch (error) {
      const tooMuch = error instanceof RangeError;
      this.#finish(
        tooMuch
          ? "The peer sent a frame that is over a limit."
          : "The peer sent something other than a frame.",
      );
    }
  }

  #sendNext(): void {
    if (this.#sending !== null) return;
    const next = this.#queue.shift();
    if (next === undefined) return;
    // A frame that couldn't be built hasn't begun.
    let frame: Frame;
    try {
      frame = encodeFrame(next.value, LIMITS.direct.frameBytes);
    } catch (error) {
      next.failed(error instanceof Error ? error : new Error(String(error)));
      this.#sendNext();
      return;
    }
    if (!next.begin()) {
      next.sent();
      this.#sendNext();
      return;
    }
    this.#sending = next;
    const seconds = LIMITS.direct.writeSeconds;
    this.#budget = this.#clock.after(seconds * 1000, () =>
      this.#finish(
        `The connection is too slow: ${frame.bytes} bytes couldn't be sent within ${seconds} seconds.`,
      ),
    );
    this.#parts = frame.parts;
    this.#sendPart(frame.parts);
  }

  /**
   * Sends one part when the one before it was taken. `taken` bytes were sent since the last yield.
   */
  #sendPart(parts: Frame["parts"], taken = 0): void {
    if (this.#end !== undefined) return;
    let part: IteratorResult<Uint8Array, void>;
    try {
      part = parts.next();
    } catch {
      // The peer waits for bytes that won't come.
      this.#finish("A file that was being sent can no longer be read.");
      return;
    }
    if (part.done !== true) {
      const bytes = taken + part.value.length;
      this.#link.send(part.value, () => {
        if (this.#end !== undefined) return;
        this.said = this.#clock.monotonic();
        if (bytes < TURN_BYTES) this.#sendPart(parts, bytes);
        else setImmediate(() => this.#sendPart(parts));
      });
      return;
    }
    const sent = this.#sending;
    this.#budget?.cancel();
    this.#sending = null;
    this.#parts = null;
    sent?.sent();
    this.#sendNext();
  }

  /** `here`: this side ended the link. */
  #finish(reason: string | null, here = true): void {
    if (this.#end !== undefined) return;
    this.#end = reason;
    this.#endedHere = here;
    this.#budget?.cancel();
    this.#link.close();
    this.#parts?.return();
    const error = endError(reason);
    this.#first?.reject(error);
    this.#sending?.failed(error);
    for (const waiting of this.#queue.splice(0)) waiting.failed(error);
    this.#handler?.ended(reason);
  }
}

function endError(reason: string | null): Error {
  return new Error(reason ?? CLOSED);
}
