/**
 * Draws what all terminals have to draw, a little of each in turn. The event loop has its turn in
 * between, so that a flood, or many at once, delays nothing else for long.
 */
import type { Clock } from "../../../platform/clock.ts";

/** Something with output to draw. */
export interface Drawn {
  /** Draws a little; says whether there is more to draw now. Throws nothing. */
  drawSome(): boolean;
}

/** Drawn in one turn of the event loop, in milliseconds. */
const TURN_MS = 4;

export class Drawing {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #waiting = new Set<Drawn>();
  #isArmed = false;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** It has something to draw. */
  add(one: Drawn): void {
    this.#waiting.add(one);
    if (this.#isArmed) return;
    this.#isArmed = true;
    setImmediate(() => this.#turn());
  }

  remove(one: Drawn): void {
    this.#waiting.delete(one);
  }

  #turn(): void {
    const began = this.#clock.monotonic();
    // One that has more goes behind the others.
    for (const one of this.#waiting) {
      this.#waiting.delete(one);
      if (one.drawSome()) this.#waiting.add(one);
      if (this.#clock.monotonic() - began >= TURN_MS) break;
    }
    this.#isArmed = this.#waiting.size > 0;
    if (this.#isArmed) setImmediate(() => this.#turn());
  }
}
