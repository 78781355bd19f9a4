/** Time that passes only when a test says so. */
import type { Clock, Timer } from "../../platform/clock.ts";

interface Armed {
  at: number;
  task: () => void;
  background: boolean;
}

interface ManualClockOptions {
  start?: number;
  /** Milliseconds that pass at each look, so that no two instants are the same. */
  tick?: number;
}

export class ManualClock implements Clock {
  #now: number;
  /** By how much the wall clock was set. */
  #offset = 0;
  readonly #tick: number;
  readonly #armed = new Set<Armed>();

  constructor({ start = Date.parse("2026-01-01T00:00:00.000Z"), tick = 0 }: ManualClockOptions = {}) {
    this.#now = start;
    this.#tick = tick;
  }

  now(): number {
    return this.monotonic() + this.#offset;
  }

  monotonic(): number {
    this.#now += this.#tick;
    return this.#now;
  }

  /** Sets the wall clock forward, or back: no time passes. */
  set(milliseconds: number): void {
    this.#offset += milliseconds;
  }

  after(milliseconds: number, task: () => void, { background = false } = {}): Timer {
    const armed = { at: this.#now + milliseconds, task, background };
    this.#armed.add(armed);
    return { cancel: () => void this.#armed.delete(armed) };
  }

  get timers(): number {
    return this.#armed.size;
  }

  /** Those that keep the process from ending. */
  get foregroundTimers(): number {
    return [...this.#armed].filter(({ background }) => !background).length;
  }

  /** Lets time pass; timers fire at their own instants. Gives how many did. */
  advance(milliseconds: number): number {
    const end = this.#now + milliseconds;
    let fired = 0;
    for (; this.#fireBefore(end); fired += 1);
    this.#now = Math.max(this.#now, end);
    return fired;
  }

  /** Lets time pass to the next timer, which fires; false when none is armed. */
  advanceToTimer(): boolean {
    return this.#fireBefore(Number.POSITIVE_INFINITY);
  }

  #fireBefore(end: number): boolean {
    const [next] = [...this.#armed].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
    if (next === undefined) return false;
    this.#armed.delete(next);
    this.#now = Math.max(this.#now, next.at);
    next.task();
    return true;
  }
}

/**
 * The machine's time, for a service that real daemons ask: they believe no directory of another
 * time. `advance` puts it further ahead, and only then do timers fire.
 */
export class MachineClock extends ManualClock {
  constructor() {
    super({ start: 0 });
  }

  override now(): number {
    return Date.now() + super.now();
  }
}
