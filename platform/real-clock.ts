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

  /** Never early by `monotonic`, as Node's own timers are by a fraction of a millisecond. */
  after(milliseconds: number, task: () => void, options: { background?: boolean } = {}): Timer {
    const due = this.monotonic() + milliseconds;
    let timeout: NodeJS.Timeout;
    const arm = (): void => {
      const left = Math.ceil(due - this.monotonic());
      timeout = setTimeout(
        () => (this.monotonic() < due ? arm() : task()),
        Math.min(left, LONGEST_TIMEOUT_MS),
      );
      if (options.background === true) timeout.unref();
    };
    arm();
    return { cancel: () => clearTimeout(timeout) };
  }
}
