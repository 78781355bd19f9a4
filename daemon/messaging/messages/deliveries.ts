/** Operation `message_deliver`: puts a message back into its Actors' queues, on purpose. */
import { Refusal } from "../../../shared/errors.ts";
import type { CallContext } from "../../../shared/operations/caller.ts";
import type { InputOf, ResultOf } from "../../../shared/operations/registry.ts";
import type { Chats, GroupChat } from "../group-chat.ts";
import { EVENTS } from "../kinds.ts";
import { MessageStatuses } from "./statuses.ts";

/**
 * The sender (in the same generation) or the user. What already waits is left where it is. Throws
 * permission_denied, event_not_found, imported_history, invalid_recipient, not_pending (Mail,
 * accepted), or delivery_ambiguous (claimed, queued or unconfirmed, without force).
 */
export async function deliverAgain(
  chats: Chats,
  input: InputOf<"message_deliver">,
  { caller }: CallContext,
): Promise<ResultOf<"message_deliver">> {
  const chat = chats.get(input.group_id);
  const author = chat.author(caller);
  const { ordinal, event } = chat.actionable(caller, input.source_event_id);
  if (event.kind !== EVENTS.message) {
    throw new Refusal("event_not_found", { specifics: "That event isn't a message." });
  }
  if (
    caller.kind === "actor" &&
    (event.by !== author.by || event.data.sender_generation !== author.generation)
  ) {
    throw new Refusal("permission_denied", {
      specifics: "Only the sender or the user may deliver it again.",
    });
  }
  const { delivery_status: deliveryStatus } = new MessageStatuses(chat, ordinal, event).status();
  const again: Record<string, string> = {};
  for (const actorId of new Set(input.actor_ids)) {
    const generation = presentRecipient(chat, event.data, actorId);
    const status = deliveryStatus[actorId];
    if (status?.state === "pending") continue;
    if (status?.state === "claimed" || status?.state === "queued" || status?.state === "ambiguous") {
      if (!input.force_ambiguous) throw new Refusal("delivery_ambiguous", { details: { actor_id: actorId } });
    } else if (status?.state !== "failed") {
      throw new Refusal("not_pending", { details: { actor_id: actorId, state: status?.state ?? "mail" } });
    }
    again[actorId] = generation;
  }
  if (Object.keys(again).length > 0) {
    await chat.ledger.append(
      chat.event(EVENTS.deliveryRequest, author.by, {
        source_event_id: event.id,
        source_ordinal: ordinal,
        actor_generations: again,
        force_ambiguous: input.force_ambiguous,
      }),
    );
  }
  return { queued: [...new Set(input.actor_ids)] };
}

function presentRecipient(chat: GroupChat, data: Record<string, unknown>, actorId: string): string {
  const { generation } = chat.group.actor(actorId);
  const generations = (data.to_generations ?? {}) as Record<string, unknown>;
  if (generations[actorId] === generation) return generation;
  throw new Refusal("invalid_recipient", {
    specifics: "That message didn't go to this Actor.",
    details: { actor_id: actorId },
  });
}
