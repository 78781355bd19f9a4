/**
 * Operation `cancel`: another instance withdraws a reply request between two Groups
 * (docs/protocol.md#cancellation). Runs under the Group's exclusive lock, so no original can arrive
 * in between. A control is recorded here and never forwarded (CAN-028).
 */
import type { EventData } from "../../../shared/events.ts";
import type { ConnectCancellation, ConnectMessage } from "../../../shared/wire/v1/message.ts";
import type { ReceiptResult } from "../../../shared/wire/v1/peer.ts";
import { milliseconds } from "../../../shared/wire/v1/time.ts";
import { untimelyDelivery } from "../../../shared/wire/v1/timely.ts";
import { uuidKey } from "../../../shared/wire/v1/uuid.ts";
import type { GroupChat } from "../../messaging/group-chat.ts";
import { remoteAuthor, remoteBy } from "../../messaging/projection/authors.ts";
import { controlKey } from "../../messaging/projection/message-keys.ts";
import type { Content } from "../wire/digests.ts";
import { PeerRefusal } from "../wire/peer-refusal.ts";
import {
  type Admission,
  mayBeForgotten,
  notDeliveredId,
  receiptOf,
  receivedControl,
  receivedMessage,
} from "./receiver-receipt.ts";
import { isAmong, isEnd, originalOf } from "./receiver-reply.ts";

/**
 * Throws PeerRefusal, or Refusal when the disk fails, or what `spend` throws, and then nothing was
 * recorded.
 */
export async function cancel(
  chat: GroupChat,
  { value: cancellation, sha256 }: Content<ConnectCancellation>,
  admission: Admission,
  spend: () => void,
): Promise<ReceiptResult> {
  const { delivery_id: deliveryId, source } = cancellation;
  const logical = { delivery_id: deliveryId, sha256 };
  const earlier = receivedControl(chat, source.instance_id, deliveryId);
  if (earlier !== null) {
    if (earlier.data.connect_cancel_sha256 !== sha256) throw new PeerRefusal("connect_content_conflict");
    return { receipt: receiptOf(earlier, logical), duplicate: true };
  }
  const untimely = untimelyDelivery(cancellation, admission.now);
  if (untimely !== null) throw new PeerRefusal("connect_message_expired", `The withdrawal ${untimely}.`);
  const found = findOriginal(chat, cancellation);
  spend();
  const by = remoteBy(source.instance_id);
  const data: EventData<"chat.reply_request.cancelled"> = {
    source_event_id: found?.event_id ?? null,
    cancelled_by: remoteAuthor(source.instance_id, cancellation.sender.id),
    recipients:
      found === null ? [] : [...(chat.projection.obligations.get(found.event_id)?.owed.keys() ?? [])],
    connect_cancel: cancellation,
    connect_cancel_sha256: sha256,
  };
  if (found === null) data.not_delivered = true;
  const event = chat.event("chat.reply_request.cancelled", by, data, controlKey(by, deliveryId));
  if (found === null) event.id = absentOriginal(chat, cancellation, admission);
  const [placed] = await chat.ledger.appendAll([event]);
  return { receipt: receiptOf(placed!.event, logical) };
}

/**
 * For an original that isn't here: the id of the control that keeps it out. Throws
 * connect_original_pending while it may still arrive, and connect_peer_denied when it may have
 * arrived before a reset of the Group (MSG-023).
 */
function absentOriginal(chat: GroupChat, cancellation: ConnectCancellation, admission: Admission): string {
  const deliverBefore = milliseconds(cancellation.original_deliver_before);
  if (deliverBefore > admission.now) throw new PeerRefusal("connect_original_pending");
  if (mayBeForgotten(chat, admission, deliverBefore)) {
    throw new PeerRefusal("connect_peer_denied", "The Group has been reset since the message was written.");
  }
  const id = notDeliveredId(cancellation.source.instance_id, cancellation.original_delivery_id);
  if (chat.ledger.ordinalOf(id) !== undefined) throw new PeerRefusal("connect_content_conflict");
  return id;
}

/**
 * The message that is meant, as recorded here: one that came from there, or one that went there and
 * whose answer the person there no longer wants. Null when there is none. Throws
 * connect_cancellation_denied when the control doesn't fit it.
 */
function findOriginal(chat: GroupChat, cancellation: ConnectCancellation): { event_id: string } | null {
  const { source, target, original_delivery_id: originalDeliveryId } = cancellation;
  const received = receivedMessage(chat, source.instance_id, originalDeliveryId);
  const eventId = received?.id ?? uuidKey(cancellation.original_source_event_id);
  const found = originalOf(chat, eventId);
  if (found === null || uuidKey(found.original.delivery_id) !== uuidKey(originalDeliveryId)) return null;
  const { original } = found;
  const isOwn = isEnd(original.source, source) && isEnd(original.target, target);
  const isReverse = received === null && isEnd(original.target, source) && isEnd(original.source, target);
  const senders = isOwn ? [original.sender] : [];
  if (!isOwn && !isReverse) throw new PeerRefusal("connect_cancellation_denied");
  if (cancellation.sender.id !== "user" && !isAmong(cancellation.sender, senders)) {
    throw new PeerRefusal(
      "connect_cancellation_denied",
      "Only the sender or a person may withdraw a request.",
    );
  }
  if (!names(cancellation, original, found.digest)) throw new PeerRefusal("connect_cancellation_denied");
  return { event_id: eventId };
}

function names(cancellation: ConnectCancellation, original: ConnectMessage, digest: unknown): boolean {
  return (
    original.message_mode === "request_reply" &&
    cancellation.original_message_sha256 === digest &&
    cancellation.connection_id === original.connection_id &&
    uuidKey(cancellation.original_source_event_id) === uuidKey(original.source_event_id) &&
    milliseconds(cancellation.original_deliver_before) === milliseconds(original.deliver_before)
  );
}
