/**
 * Keeps the terminals' own ends (masters) out of other processes: whoever inherits one can type
 * into that terminal. node-pty opens them without FD_CLOEXEC, and Node can't set it.
 *
 * On Linux node-pty's child closes what it inherited, counting up from 3, and stops at the first
 * number above 15 that isn't open. libuv's child closes nothing. macOS closes everything by itself.
 */
import { closeSync, openSync } from "node:fs";

const INHERITS = process.platform === "linux";
const NOTHING = "/dev/null";
const open = new Set<number>();

export function masterOpened(descriptor: number): void {
  open.add(descriptor);
}

export function masterClosed(descriptor: number): void {
  open.delete(descriptor);
}

/** Runs `fork`, which starts a process by node-pty, while no number below a master is free. */
export function withoutGaps<Result>(fork: () => Result): Result {
  const highest = INHERITS ? Math.max(-1, ...open) : -1;
  const fillers: number[] = [];
  try {
    // The lowest free number is given out first.
    for (let filler = -1; filler < highest; fillers.push(filler)) filler = openSync(NOTHING, "r");
    return fork();
  } finally {
    for (const filler of fillers) closeSync(filler);
  }
}

/**
 * What goes behind standard input, output and error in the `stdio` of a process that Node starts:
 * nothing instead of each master. `close` it once the process is started.
 */
export function withoutMasters(): { stdio: readonly (number | "ignore")[]; close(): void } {
  if (!INHERITS || open.size === 0) return { stdio: [], close: () => {} };
  const nothing = openSync(NOTHING, "r");
  const stdio = Array.from({ length: Math.max(...open) - 2 }, (_, at) =>
    open.has(at + 3) ? nothing : "ignore",
  );
  return { stdio, close: () => closeSync(nothing) };
}
