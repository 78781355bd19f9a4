/** What of a Group waits for the person's reply, for every place in which they may answer. */
import type { LedgerEvent, MessageEvent } from "./events.ts";
import { quotedName } from "./foreign-text.ts";
import { LIMITS } from "./limits.ts";
import type { ArgumentsOf, ResultOf } from "./operations/registry.ts";

/** Of `ledger_search`, asked `with_obligation_status`. */
type Annotated = MessageEvent & { _obligation_status?: { user?: { state: string } } };

/** Calls an operation as a client of the daemon does. Throws what that throws. */
type Search = (
  name: "ledger_search",
  input: ArgumentsOf<"ledger_search">,
) => Promise<ResultOf<"ledger_search">>;

/** Requests that the person owes a reply to, newest first. Throws what `call` throws. */
export async function openRequests(call: Search, groupId: string): Promise<MessageEvent[]> {
  const { events } = await call("ledger_search", {
    group_id: groupId,
    actor: "user",
    open: true,
    kinds: ["chat.message"],
    with_obligation_status: true,
    limit: LIMITS.page.max,
  });
  return events.filter(isOwed).reverse();
}

function isOwed(event: LedgerEvent): event is MessageEvent {
  return (
    event.kind === "chat.message" &&
    event.by !== "user" &&
    (event as Annotated)._obligation_status?.user?.state === "open"
  );
}

/** The beginning of what was asked, on one line, for a sentence that quotes it. */
export function requestWords({ data: { text } }: MessageEvent): string {
  return quotedName(text.slice(0, 640));
}
