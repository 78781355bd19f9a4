/** The machine's clock as a `Clock`. */
import { uptime } from "node:os";
import type { Clock, Timer } from "./clock.ts";

/** Node fires longer timers at once. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** When the machine started, as wall time in milliseconds. */
export function machineStart(): number {
  return Date.now() - uptime() * 1000;
}

export class RealClock implements Clock {
  now(): number {
    return Date.now();
  }

  monotonic(): number {
    return performance.now();
  }

  after(milliseconds: number, task: () => void, options: { background?: boolean } = {}): Timer {
    let timeout: NodeJS.Timeout;
    const arm = (left: number): void => {
      timeout = setTimeout(
        () => (left > LONGEST_TIMEOUT_MS ? arm(left - LONGEST_TIMEOUT_MS) : task()),
        Math.min(left, LONGEST_TIMEOUT_MS),
      );
      if (options.background === true) timeout.unref();
    };
    arm(milliseconds);
    return { cancel: () => clearTimeout(timeout) };
  }
}
