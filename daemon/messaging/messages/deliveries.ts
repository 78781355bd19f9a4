/** Operation `message_deliver`: puts a message back into its Actors' queues, on purpose. */
import { Refusal } from "../../../shared/errors.ts";
import type { ChatMessage } from "../../../shared/events.ts";
import type { CallContext } from "../../../shared/operations/caller.ts";
import type { InputOf, ResultOf } from "../../../shared/operations/registry.ts";
import type { Chats, GroupChat } from "../group-chat.ts";
import { isBy } from "./message-event.ts";
import { MessageStatuses } from "./statuses.ts";

/**
 * The sender (in the same generation) or the user. What already waits is left where it is. Throws
 * permission_denied, event_not_found, imported_history, invalid_recipient, not_pending (Mail, or
 * accepted unless it is an open request), or delivery_ambiguous (claimed, queued, unconfirmed, or
 * such a request, without force).
 */
export async function deliverAgain(
  chats: Chats,
  input: InputOf<"message_deliver">,
  { caller }: CallContext,
): Promise<ResultOf<"message_deliver">> {
  const chat = chats.get(input.group_id);
  const author = chat.author(caller);
  const { ordinal, event } = chat.actionableMessage(caller, input.source_event_id);
  if (caller.kind === "actor" && !isBy(event, author)) {
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
    } else if (status?.state === "accepted" && isUnanswered(chat, caller, event.id, actorId)) {
      if (!input.force_ambiguous) throw new Refusal("delivery_ambiguous", { details: { actor_id: actorId } });
    } else if (status?.state !== "failed") {
      throw new Refusal("not_pending", { details: { actor_id: actorId, state: status?.state ?? "mail" } });
    }
    again[actorId] = generation;
  }
  if (Object.keys(again).length > 0) {
    await chat.ledger.append(
      chat.event("runtime.delivery_request", author.by, {
        source_event_id: event.id,
        source_ordinal: ordinal,
        actor_generations: again,
        force_ambiguous: input.force_ambiguous,
      }),
    );
  }
  return { queued: [...new Set(input.actor_ids)] };
}

/**
 * A request that its Actor has in a terminal and hasn't answered: what it did of it may have ended
 * with its process. Only the user may deliver it again.
 */
function isUnanswered(chat: GroupChat, caller: CallContext["caller"], id: string, actorId: string): boolean {
  const isOwed = chat.projection.obligations.get(id)?.owed.has(actorId) === true;
  return isOwed && caller.kind !== "actor" && chat.group.actor(actorId).runner === "pty";
}

function presentRecipient(
  chat: GroupChat,
  { to_generations: generations }: ChatMessage,
  actorId: string,
): string {
  const { generation } = chat.group.actor(actorId);
  if (generations[actorId] === generation) return generation;
  throw new Refusal("invalid_recipient", {
    specifics: "That message didn't go to this Actor.",
    details: { actor_id: actorId },
  });
}
