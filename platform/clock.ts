/**
 * Time as the daemon sees it. Services never read `Date` or set timers themselves, so that a
 * simulation can control time.
 */

/** A pending timer; `cancel` is idempotent. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Wall time in milliseconds since the Unix epoch. May jump. */
  now(): number;
  /** Monotonic milliseconds with fractions. Only differences are meaningful. */
  monotonic(): number;
  /**
   * Runs `task` once after `milliseconds`. Does not keep the process alive when `background` is
   * true.
   */
  after(milliseconds: number, task: () => void, options?: { background?: boolean }): Timer;
}

/** `clock`, whose tasks throw nothing: what one of them throws goes to `failed`. */
export function guardedClock(
  clock: Pick<Clock, "after">,
  failed: (error: unknown) => void,
): Pick<Clock, "after"> {
  return {
    after: (milliseconds, task, options) =>
      clock.after(
        milliseconds,
        () => {
          try {
            task();
          } catch (error) {
            failed(error);
          }
        },
        options,
      ),
  };
}

/**
 * The instant that `clock` shows, as UTC ISO 8601 with milliseconds and `Z`
 * (docs/protocol.md#times).
 */
export function timestamp(clock: Clock): string {
  return new Date(clock.now()).toISOString();
}
