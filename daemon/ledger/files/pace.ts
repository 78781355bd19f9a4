/**
 * Long reads share the event loop: each works for a few milliseconds and then waits for its turn.
 * However many there are, only one of them works per turn of the loop, so that appends and requests
 * never wait for more than one slice.
 */
import type { Clock } from "../../../platform/clock.ts";

const SLICE_MS = 2;

const waiting: (() => void)[] = [];

function serve(): void {
  waiting.shift()!();
  if (waiting.length > 0) setImmediate(serve);
}

export class Pace {
  readonly #clock: Clock;
  #until: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#until = clock.monotonic() + SLICE_MS;
  }

  /** The slice is used up: `pause` before going on. */
  get isOver(): boolean {
    return this.#clock.monotonic() >= this.#until;
  }

  /** Resolves when it is this task's turn again. */
  async pause(): Promise<void> {
    await new Promise<void>((done) => {
      if (waiting.push(done) === 1) setImmediate(serve);
    });
    this.#until = this.#clock.monotonic() + SLICE_MS;
  }
}
