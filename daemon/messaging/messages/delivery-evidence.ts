/**
 * An Actor that answers a message, or reads it in its history, proves that it has it. This counts
 * for unsettled messages that were typed into a terminal, whatever the runtime's hooks say. A late
 * proof counts, too.
 */

import { errorFields, type Log } from "../../../platform/log.ts";
import type { Caller } from "../../../shared/operations/caller.ts";
import type { GroupChat } from "../group-chat.ts";
import { MessageStatuses } from "./statuses.ts";

/** Never fails: the call that proved it is already done. */
export async function noteEvidence(
  chat: GroupChat,
  caller: Caller,
  proof: { event_ids: readonly string[]; reason: "replied" | "read" },
  log: Log,
): Promise<void> {
  if (caller.kind !== "actor") return;
  try {
    const { id: actorId, generation: actorGeneration, runner } = chat.self(caller);
    if (runner !== "pty") return;
    const events = proof.event_ids.flatMap((sourceEventId) => {
      const ordinal = chat.ledger.ordinalOf(sourceEventId);
      if (ordinal === undefined) return [];
      const [event] = chat.ledger.readMany([ordinal]);
      const batchId =
        event?.kind === "chat.message" ? new MessageStatuses(chat, ordinal, event).unproved(actorId) : null;
      if (batchId === null) return [];
      return [
        chat.event("runtime.delivery", "system", {
          actor_id: actorId,
          actor_generation: actorGeneration,
          source_event_id: sourceEventId,
          delivery_id: `${batchId}/${sourceEventId}`,
          state: "accepted",
          transport: "pty",
          reason: proof.reason,
          batch_id: batchId,
        }),
      ];
    });
    if (events.length > 0) await chat.ledger.appendAll(events);
  } catch (error) {
    log.warn("delivery evidence", { group_id: chat.group.group_id, ...errorFields(error) });
  }
}
