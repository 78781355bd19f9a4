/**
 * Listeners and connections that end by themselves once their running requests are answered. Being
 * the first service it stops last: calls get their answers while the others stop.
 */
import type { Service } from "../service.ts";

/** Running requests may take this long to end. */
export const GRACE_MS = 5000;

export interface Closing {
  /** Has the daemon wait for `closed` before it ends. */
  wait(closed: Promise<unknown>): void;
}

export function create(): Service<Closing> {
  const all: Promise<unknown>[] = [];
  return {
    part: { wait: (closed) => void all.push(closed) },
    stop: async () => void (await Promise.all(all)),
  };
}
