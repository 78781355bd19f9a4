/**
 * The ledger events of delivering and acknowledging (docs/core-model.md#messages,
 * docs/core-model.md#inbox-and-obligations).
 */
import type { StoredActor } from "../../../shared/model.ts";
import type { NewEvent } from "../../ledger/types.ts";
import type { GroupChat } from "../group-chat.ts";

/** A step of a direct message on its way to an external Actor. */
export function delivery(
  chat: GroupChat,
  actor: StoredActor,
  sourceEventId: string,
  batchId: string,
  state: "claimed" | "accepted" | "failed",
  reason: string,
): NewEvent {
  return chat.event("runtime.delivery", actor.id, {
    actor_id: actor.id,
    actor_generation: actor.generation,
    source_event_id: sourceEventId,
    delivery_id: `${batchId}/${sourceEventId}`,
    state,
    transport: "external",
    reason,
    batch_id: batchId,
  });
}

/** The Actor's cursor moves up to this Mail. */
export function mailRead(chat: GroupChat, actor: StoredActor, eventId: string, by: string): NewEvent {
  return chat.event("mail.read", by, {
    actor_id: actor.id,
    actor_generation: actor.generation,
    event_id: eventId,
  });
}
