/** Apart from the schemas, which have no place in a browser's first load. */
import type { ActivityStatus } from "./event.ts";

export function isTerminal(status: ActivityStatus | "stuck"): boolean {
  return status === "completed" || status === "failed";
}
