/** Separate from the schemas, which don't belong in a browser's first load. */
import type { ActivityStatus } from "./event.ts";

export function isTerminal(status: ActivityStatus | "stuck"): boolean {
  return status === "completed" || status === "failed";
}
