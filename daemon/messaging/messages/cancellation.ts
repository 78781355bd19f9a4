/**
 * Operation `reply_request_cancel`: the sender or the user withdraws what is still open. Running
 * work isn't stopped (EVT-011).
 */
import { defined } from "../../../shared/defined.ts";
import { Refusal } from "../../../shared/errors.ts";
import type { LedgerEvent, MessageEvent } from "../../../shared/events.ts";
import type { CallContext, Caller } from "../../../shared/operations/caller.ts";
import type { InputOf, ResultOf } from "../../../shared/operations/registry.ts";
import type { Chats, GroupChat } from "../group-chat.ts";
import { remoteId } from "./cross-group.ts";
import { isBy, isRemote } from "./message-event.ts";

type Cancelled = ResultOf<"reply_request_cancel">;

/**
 * The first in append order wins. The same call again returns the first cancellation. Throws
 * event_not_found, imported_history, permission_denied, already_replied if everyone has answered,
 * or not_pending if it never asked for a reply.
 */
export async function cancelReplyRequest(
  chats: Chats,
  input: InputOf<"reply_request_cancel">,
  { caller }: CallContext,
): Promise<Cancelled> {
  const chat = chats.get(input.group_id);
  const author = chat.author(caller);
  const { ordinal, event } = chat.actionable(caller, input.event_id);
  if (caller.kind === "actor" && !isBy(event, author)) {
    throw new Refusal("permission_denied", {
      specifics: "Only the sender or the user may cancel the request.",
    });
  }
  const key = `cancel/${event.id}`;
  const running = chat.underWay.get(key);
  if (running !== undefined) return { ...((await running.done) as Cancelled), duplicate: true };
  const done = cancel(chats, chat, { ordinal, event }, caller, input.client_id).finally(() =>
    chat.underWay.delete(key),
  );
  chat.underWay.set(key, { digest: "", done });
  return done;
}

async function cancel(
  chats: Chats,
  chat: GroupChat,
  { ordinal, event }: { ordinal: number; event: LedgerEvent },
  caller: Caller,
  clientId: string | undefined,
): Promise<Cancelled> {
  const { by } = chat.author(caller);
  const open = chat.projection.obligations.get(event.id);
  // Only messages ask for replies.
  if (open === undefined || event.kind !== "chat.message") return cancelledBefore(chat, event, ordinal);
  if (isRemote(event)) {
    const recipients = [...open.owed.keys()];
    const { remote } = chat;
    if (remote === null) throw new Refusal("shutting_down");
    const control = await remote.cancel(chat, { ordinal, event }, caller, {
      recipients,
      client_id: clientId,
    });
    return { event: control, cancelled: recipients, duplicate: false };
  }
  await cancelThere(chats, chat, event, caller);
  // Replies may have come in the meantime. They were first.
  const still = chat.projection.obligations.get(event.id);
  if (still === undefined) return cancelledBefore(chat, event, ordinal);
  const recipients = [...still.owed.keys()];
  const data = defined({ source_event_id: event.id, cancelled_by: by, recipients, client_id: clientId });
  const placed = await chat.ledger.append(chat.event("chat.reply_request.cancelled", by, data));
  return { event: placed.event, cancelled: recipients, duplicate: false };
}

/**
 * A request between two Groups ends on the other side first: when this side says cancelled, both
 * have recorded it. A caller that may not enter the other Group can't cancel what that one asked
 * for.
 */
async function cancelThere(
  chats: Chats,
  chat: GroupChat,
  event: MessageEvent,
  caller: Caller,
): Promise<void> {
  const { dst_group_id: dstGroupId, src_group_id: srcGroupId, src_event_id: srcEventId } = event.data;
  const goesAcross = dstGroupId !== undefined;
  const other = dstGroupId ?? srcGroupId;
  if (other === undefined) return;
  if (caller.kind === "member" && !caller.groups.has(other)) throw new Refusal("permission_denied");
  const there = chats.find(other);
  const sourceEventId = goesAcross ? remoteId(chat.group.group_id, event.id) : String(srcEventId);
  const open = there?.projection.obligations.get(sourceEventId);
  if (there === undefined || open === undefined) return;
  const by = caller.kind === "actor" ? `${chat.group.group_id}::${caller.actor_id}` : "user";
  const data = { source_event_id: sourceEventId, cancelled_by: by, recipients: [...open.owed.keys()] };
  await there.ledger.append(there.event("chat.reply_request.cancelled", by, data));
}

function cancelledBefore(chat: GroupChat, event: LedgerEvent, ordinal: number): Cancelled {
  if (event.kind !== "chat.message" || event.data.message_mode !== "request_reply") {
    throw new Refusal("not_pending", { specifics: "That message doesn't ask for a reply." });
  }
  const before = chat.ledger
    .readMany(chat.ledger.related(ordinal))
    .find((later) => later.kind === "chat.reply_request.cancelled");
  if (before === undefined) throw new Refusal("already_replied");
  return { event: before, cancelled: before.data.recipients, duplicate: true };
}
