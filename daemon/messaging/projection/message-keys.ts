/** The keys that find recorded events again, so that nothing is recorded twice. */

import { uuidKey } from "../../../shared/wire/v1/uuid.ts";
import type { EventHead } from "../../ledger/types.ts";
import { INTERRUPTED_NOTICE, RESUME_NOTICE, TROUBLE_NOTICE, UNCONFIRMED_NOTICE } from "../kinds.ts";
import { isRemoteAuthor } from "./authors.ts";

/** The idempotency key of a sender's `client_id`. A new generation of an Actor has its own keys. */
export function messageKey(
  author: { by: string; generation?: string | undefined },
  clientId: string,
): string {
  return `m/${author.by}/${author.generation ?? ""}/${clientId}`;
}

/** The same of what an author shows in a slot. */
export function presentationKey(
  author: { by: string; generation?: string | undefined },
  clientId: string,
): string {
  return `p/${author.by}/${author.generation ?? ""}/${clientId}`;
}

/**
 * The key of a message from another instance, `by` which it is (OUT-011). The event keeps the id in
 * the form of `uuidKey`.
 */
export function deliveryKey(by: string, deliveryId: string): string {
  return `d/${by}/${deliveryId}`;
}

/**
 * The key of a withdrawal that came from another instance, `by` which it is; `deliveryId` is its
 * own (CAN-031).
 */
export function controlKey(by: string, deliveryId: string): string {
  return `c/${by}/${uuidKey(deliveryId)}`;
}

/** The key under which a notice of this kind about this event comes once for this Actor. */
export function noticeKey(
  kind: string,
  about: string,
  actor: { actor_id: string; generation: string },
): string {
  return `n/${kind}/${about}/${actor.actor_id}/${actor.generation}`;
}

/** Each failure, each interruption and each lost proof is reported separately. */
const REPEATED: readonly unknown[] = [TROUBLE_NOTICE, INTERRUPTED_NOTICE, RESUME_NOTICE, UNCONFIRMED_NOTICE];

/** The key of an event in the ledger (`LedgerOptions.keyOf`). */
export function keyOf(event: EventHead): string | undefined {
  if (event.kind === "chat.message") {
    if (isRemoteAuthor(event.by)) {
      const deliveryId = event.string("delivery_id") ?? "";
      return deliveryId === "" ? undefined : deliveryKey(event.by, deliveryId);
    }
    const clientId = event.string("client_id") ?? "";
    if (clientId === "") return undefined;
    return messageKey({ by: event.by, generation: event.string("sender_generation") }, clientId);
  }
  if (event.kind === "presentation.publish") {
    const clientId = event.string("client_id") ?? "";
    if (clientId === "") return undefined;
    return presentationKey({ by: event.by, generation: event.string("actor_generation") }, clientId);
  }
  if (event.kind === "chat.reply_request.cancelled") return keyOfControl(event);
  if (event.kind !== "system.notify") return undefined;
  const kind = event.string("kind");
  if (REPEATED.includes(kind)) return undefined;
  const about = event.string("related_event_id");
  const actorId = event.string("target_actor_id");
  if (kind === undefined || about === undefined || actorId === undefined) return undefined;
  const context = event.data.context as { actor_generation?: unknown } | null | undefined;
  const generation = context?.actor_generation;
  return noticeKey(kind, about, {
    actor_id: actorId,
    generation: typeof generation === "string" ? generation : "",
  });
}

function keyOfControl({ by, data }: EventHead): string | undefined {
  const control = data.connect_cancel as { delivery_id?: unknown } | null | undefined;
  const id = control?.delivery_id;
  return isRemoteAuthor(by) && typeof id === "string" ? controlKey(by, id) : undefined;
}
