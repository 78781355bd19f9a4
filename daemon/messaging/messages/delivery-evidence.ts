/**
 * What an Actor does with a message proves that it has it: it answers it, or reads it in its history. Counts for what was handed into a terminal
 * and isn't settled, whatever its runtime's hooks tell; a late proof counts, too.
 */

import { errorFields, type Log } from "../../../platform/log.ts";
import type { Caller } from "../../../shared/operations/caller.ts";
import type { GroupChat } from "../group-chat.ts";
import { EVENTS } from "../kinds.ts";
import { MessageStatuses } from "./statuses.ts";

/** Never fails for that: the call that proved it is done already. */
export async function noteEvidence(
  chat: GroupChat,
  caller: Caller,
  proof: { event_ids: readonly string[]; reason: "replied" | "read" },
  log: Log,
): Promise<void> {
  if (caller.kind !== "actor") return;
  try {
    const { id: actor_id, generation: actor_generation, runner } = chat.self(caller);
    if (runner !== "pty") return;
    const events = proof.event_ids.flatMap((source_event_id) => {
      const ordinal = chat.ledger.ordinalOf(source_event_id);
      if (ordinal === undefined) return [];
      const batch_id = new MessageStatuses(chat, ordinal, chat.ledger.read(ordinal)).unproved(actor_id);
      if (batch_id === null) return [];
      const delivery_id = `${batch_id}/${source_event_id}`;
      const whose = { actor_id, actor_generation, source_event_id, delivery_id };
      const state = { state: "accepted", transport: "pty", reason: proof.reason, batch_id };
      return [chat.event(EVENTS.delivery, "system", { ...whose, ...state })];
    });
    if (events.length > 0) await chat.ledger.appendAll(events);
  } catch (error) {
    log.warn("delivery evidence", { group_id: chat.group.group_id, ...errorFields(error) });
  }
}
