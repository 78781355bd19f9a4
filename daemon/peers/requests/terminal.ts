/**
 * How outbox work ends in the source Group's ledger: its receipt, and a notice if its arrival isn't
 * certain.
 */

import type { EventData, EventOf } from "../../../shared/events.ts";
import { NOTICES, quoted, shownId } from "../../../shared/voice.ts";
import type { OutboxRecord } from "../../../shared/wire/v1/outbox.ts";
import type { NewEvent } from "../../ledger/types.ts";
import type { GroupChat } from "../../messaging/group-chat.ts";
import { receiptAmong } from "../../messaging/messages/statuses.ts";
import { noticeKey } from "../../messaging/projection/message-keys.ts";

export interface Ending {
  status: "sent" | "failed" | "unconfirmed";
  remote_event_id: string | null;
  error: { code: string; message: string } | null;
}

const NOTICE_KIND = "connect_delivery";

/** Receipt and notices that the ledger has for an event of the source Group. */
export function endingOf(
  chat: GroupChat,
  sourceEventId: string,
): { receipt: EventOf<"chat.cross_group_receipt"> | null; notified: boolean } {
  const { ledger } = chat;
  const ordinal = ledger.ordinalOf(sourceEventId);
  const later = ordinal === undefined ? [] : ledger.readMany(ledger.related(ordinal));
  return {
    receipt: receiptAmong(later) ?? null,
    notified: later.some(({ kind, data }) => kind === "system.notify" && data.kind === NOTICE_KIND),
  };
}

/** `chat.cross_group_receipt` (docs/protocol.md#ledger-events). */
export function receiptEvent(
  chat: GroupChat,
  { work, source_event: sourceEvent }: Pick<OutboxRecord, "work" | "source_event">,
  ending: Ending,
): NewEvent {
  const { target, delivery_id: deliveryId, connection_id: connectionId } = work.data;
  const isCancel = sourceEvent.kind === "chat.reply_request.cancelled";
  const receipt: EventData<"chat.cross_group_receipt"> = {
    source_event_id: sourceEvent.id,
    operation: "connect",
    ...(isCancel ? { action: "cancel", original_event_id: sourceEvent.data.source_event_id } : {}),
    dst_instance_id: target.instance_id,
    dst_group_id: target.group_id,
    delivery_id: deliveryId,
    status: ending.status,
    remote_event_id: ending.remote_event_id,
    error: ending.error,
    ...(connectionId === undefined ? {} : { connection_id: connectionId }),
  };
  return chat.event("chat.cross_group_receipt", "system", receipt);
}

/**
 * For the original sender, or the person when that Actor is gone (OUT-028, OUT-029); null for work
 * that arrived and for withdrawals, whose state is shown at the message.
 */
export function noticeEvent(
  chat: GroupChat,
  { work, source_event: sourceEvent }: OutboxRecord,
  { status, error }: Pick<Ending, "status" | "error">,
): NewEvent | null {
  if (status === "sent" || work.kind === "cancel" || sourceEvent.kind !== "chat.message") return null;
  const { target, delivery_id: deliveryId } = work.data;
  const place = target.title === "" ? shownId(target.group_id) : quoted(target.title);
  const why = error === null ? "" : ` ${error.message}`;
  const message =
    status === "failed"
      ? `Your message to ${place} on another instance wasn't delivered.${why}`
      : `It isn't known whether your message to ${place} on another instance arrived.${why}`;
  const sender = chat.group.record.actors.find(
    ({ id, generation }) => id === sourceEvent.by && generation === sourceEvent.data.sender_generation,
  );
  const data: EventData<"system.notify"> = {
    kind: NOTICE_KIND,
    title: NOTICES[status].title,
    message,
    target_actor_id: sender?.id ?? null,
    priority: "high",
    context: {
      delivery_id: deliveryId,
      state: status,
      dst_group_id: target.group_id,
      ...(sender === undefined ? {} : { actor_generation: sender.generation }),
    },
    related_event_id: sourceEvent.id,
  };
  const key =
    sender === undefined
      ? undefined
      : noticeKey(NOTICE_KIND, sourceEvent.id, { actor_id: sender.id, generation: sender.generation });
  return chat.event("system.notify", "system", data, key);
}
