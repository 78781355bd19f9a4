/** Time that passes only when a test says so. */
import type { Clock, Timer } from "../../platform/clock.ts";

interface Armed {
  at: number;
  task: () => void;
}

export class ManualClock implements Clock {
  #now: number;
  readonly #armed = new Set<Armed>();

  constructor(start = Date.parse("2026-01-01T00:00:00.000Z")) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  after(milliseconds: number, task: () => void): Timer {
    const armed = { at: this.#now + milliseconds, task };
    this.#armed.add(armed);
    return { cancel: () => void this.#armed.delete(armed) };
  }

  get timers(): number {
    return this.#armed.size;
  }

  /** Lets time pass; timers fire at their own instants. */
  advance(milliseconds: number): void {
    const end = this.#now + milliseconds;
    for (;;) {
      const [next] = [...this.#armed].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#armed.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.task();
    }
    this.#now = end;
  }
}
