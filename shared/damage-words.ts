/** A damaged history in words. */
import type { LedgerDamage } from "./ledger-damage.ts";

const RANGES_SHOWN = 4;

/** `At least 3 events are missing (numbers 5 to 7).` Numbers count from 1. */
export function missingWords({ missing_events: count, missing }: LedgerDamage): string {
  if (count === 0) return "No event is known to be missing, but the files differ from what was recorded.";
  const ranges = missing
    .slice(0, RANGES_SHOWN)
    .map(({ first, last }) => (first === last ? `${first + 1}` : `${first + 1} to ${last + 1}`));
  if (missing.length > RANGES_SHOWN) ranges.push("more");
  const one = count === 1;
  const which = ranges.length === 0 ? "" : ` (${one ? "number" : "numbers"} ${listed(ranges)})`;
  return `At least ${count} ${one ? "event is" : "events are"} missing or unreadable${which}.`;
}

function listed(parts: readonly string[]): string {
  if (parts.length < 2) return parts.join("");
  return `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}
