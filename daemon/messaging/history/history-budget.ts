/**
 * A page of history that an Actor's client shows whole: the newest messages of it that fit into one
 * answer, at least one (docs/mcp.md#taking-messages).
 */
import { LIMITS } from "../../../shared/limits.ts";
import type { ResultOf } from "../../../shared/operations/registry.ts";

/** The next page continues before the oldest that is left. */
export function fitting(page: ResultOf<"message_history">): ResultOf<"message_history"> {
  let bytes = 0;
  const left = page.events.findLastIndex((event, at) => {
    bytes += Buffer.byteLength(JSON.stringify(event));
    return bytes > LIMITS.inbox.batchBytes && at < page.events.length - 1;
  });
  if (left === -1) return page;
  const events = page.events.slice(left + 1);
  return { ...page, events, has_more: true, continue_before: events[0]!.id };
}
