/** Where a click on a notification leads, as the service worker and the page exchange it. */
import { type Address, addressQuery, NOWHERE, readAddress } from "../../shared/address.ts";
import type { NeedsYouItem } from "../../shared/operations/notifications.ts";

/** Type of the worker's message to a page. */
const OPEN = "svc-open";

/** The message of a request, the terminal of an Actor that waits in one, else the Group. */
export function placeOf(item: Pick<NeedsYouItem, "kind" | "group_id" | "event_id" | "actor">): string {
  const isInTerminal = item.kind === "waiting" || item.kind === "failed";
  const actorId = isInTerminal ? (item.actor?.id ?? null) : null;
  return addressQuery({ ...NOWHERE, groupId: item.group_id, eventId: item.event_id, actorId });
}

/** The worker's message that asks a page to go there. */
export function openMessage(query: string): unknown {
  return { type: OPEN, query };
}

/** The address that a message asks for; null for any other message. */
export function openedAddress(message: unknown): Address | null {
  const { type, query } = (message ?? {}) as { type?: unknown; query?: unknown };
  return type === OPEN && typeof query === "string" ? readAddress(query) : null;
}
