/**
 * Operation `message_withdraw`: takes a message back from the Actors that haven't got it. It stays
 * in the history, where they may find it.
 */
import { Refusal } from "../../../shared/errors.ts";
import { WITHDRAWN } from "../../../shared/names.ts";
import type { CallContext } from "../../../shared/operations/caller.ts";
import type { InputOf, ResultOf } from "../../../shared/operations/registry.ts";
import type { Chats, GroupChat, Located } from "../group-chat.ts";
import { isBy } from "./message-event.ts";
import { MessageStatuses } from "./statuses.ts";

/**
 * The sender (in the same generation) or the user. The same call again answers the same. Throws
 * permission_denied, event_not_found, imported_history, or not_pending: it is Mail, goes to or
 * comes from another Group, or everyone has it.
 */
export async function withdraw(
  chats: Chats,
  input: InputOf<"message_withdraw">,
  { caller }: CallContext,
): Promise<ResultOf<"message_withdraw">> {
  const chat = chats.get(input.group_id);
  const author = chat.author(caller);
  const located = chat.actionableMessage(caller, input.event_id);
  const { data } = located.event;
  if (caller.kind === "actor" && !isBy(located.event, author)) {
    throw new Refusal("permission_denied", { specifics: "Only the sender or the user may withdraw it." });
  }
  if (data.message_mode === "mail")
    throw new Refusal("not_pending", { specifics: "Mail can't be withdrawn." });
  if ((data.dst_group_id ?? data.src_group_id ?? data.src_instance_id) !== undefined)
    throw new Refusal("not_pending", {
      specifics: "A message between two Groups can't be withdrawn.",
    });
  const withdrawn: string[] = [];
  for (const actorId of data.to) {
    const isOut = await chat
      .inbox(actorId)
      // Nobody takes it meanwhile.
      .inTurn(() => takeBack(chat, located, actorId, author.by));
    if (isOut) withdrawn.push(actorId);
  }
  if (withdrawn.length === 0) throw new Refusal("not_pending", { specifics: "Everyone has it already." });
  const owed = chat.projection.obligations.get(located.event.id)?.owed;
  const recipients = withdrawn.filter((actorId) => owed?.has(actorId));
  if (recipients.length > 0)
    await chat.ledger.append(
      chat.event("chat.reply_request.cancelled", author.by, {
        source_event_id: located.event.id,
        cancelled_by: author.by,
        recipients,
      }),
    );
  return { withdrawn };
}

/** Whether this Actor won't get it, now or since an earlier call. Runs in its turn. */
async function takeBack(
  chat: GroupChat,
  { ordinal, event }: Located<"chat.message">,
  actorId: string,
  by: string,
): Promise<boolean> {
  const generation = event.data.to_generations[actorId] ?? "";
  const queue = chat.projection.queue(actorId, generation);
  const isNew = queue?.pending.has(ordinal) === true || queue?.returned.get(event.id)?.redelivered === false;
  if (!isNew) {
    const { delivery_status: now } = new MessageStatuses(chat, ordinal, event).status();
    return now[actorId]?.reason === WITHDRAWN;
  }
  await chat.ledger.append(
    chat.event("runtime.delivery", by, {
      actor_id: actorId,
      actor_generation: generation,
      source_event_id: event.id,
      delivery_id: `${WITHDRAWN}/${actorId}/${event.id}`,
      state: "failed",
      transport: chat.group.actor(actorId).runner,
      reason: WITHDRAWN,
    }),
  );
  return true;
}
