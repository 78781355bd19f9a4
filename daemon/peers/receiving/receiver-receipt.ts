/**
 * What the ledger knows about a delivery or a withdrawal from another instance: the receipt, found
 * in the whole history (OUT-010 to OUT-012).
 */
import { createHash } from "node:crypto";
import type { EventOf, LedgerEvent, MessageEvent, SourceEvent } from "../../../shared/events.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { Receipt } from "../../../shared/wire/v1/message.ts";
import { uuidKey } from "../../../shared/wire/v1/uuid.ts";
import type { GroupChat } from "../../messaging/group-chat.ts";
import { remoteBy } from "../../messaging/projection/authors.ts";
import { controlKey, deliveryKey } from "../../messaging/projection/message-keys.ts";
import type { Grant } from "../authority.ts";

/** What an admission depends on, as it is at that moment. */
export interface Admission {
  grant: Grant;
  /** Milliseconds since 1970. */
  now: number;
}

/** The parts of a message or a withdrawal that its receipt repeats. */
interface Logical {
  delivery_id: string;
  sha256: string;
}

/** The event of a delivery by this instance, if it was received. */
export function receivedMessage(
  chat: GroupChat,
  instanceId: string,
  deliveryId: string,
): MessageEvent | null {
  const event = byKey(chat, deliveryKey(remoteBy(instanceId), uuidKey(deliveryId)));
  return event?.kind === "chat.message" ? event : null;
}

/** The event of a withdrawal by this instance, if it was recorded. */
export function receivedControl(
  chat: GroupChat,
  instanceId: string,
  deliveryId: string,
): EventOf<"chat.reply_request.cancelled"> | null {
  const event = byKey(chat, controlKey(remoteBy(instanceId), deliveryId));
  return event?.kind === "chat.reply_request.cancelled" ? event : null;
}

export function receiptOf(event: SourceEvent, { delivery_id: deliveryId, sha256 }: Logical): Receipt {
  return { delivery_id: deliveryId, message_sha256: sha256, event_id: event.id, delivered_at: event.ts };
}

function byKey(chat: GroupChat, key: string): LedgerEvent | null {
  const ordinal = chat.byKey(key);
  return ordinal === undefined ? null : chat.ledger.read(ordinal);
}

/**
 * When this generation of the Group began, if a reset began it and earlier messages can still come.
 * A connection of two Groups is one of their generations and ends with them. The clock may have
 * been set since: a reset that opened the Group is as long ago as that, and any other was before.
 */
export function resetAt({ resetAt: reset, group }: GroupChat, { grant, now }: Admission): number | null {
  if (grant.pair !== null || reset === null) return null;
  const opened = now - group.openFor;
  return group.isReset ? opened : Math.min(Date.parse(reset), opened);
}

/**
 * Whether a message whose window ended then may have come before a reset, or before a loss that a
 * person went on from. Either removed the memory of what had arrived: nothing proves that such a
 * message never came.
 */
export function mayBeForgotten(chat: GroupChat, admission: Admission, deliverBefore: number): boolean {
  const begun = resetAt(chat, admission);
  const reach = (LIMITS.connect.deliverSeconds + LIMITS.connect.skewSeconds) * 1000;
  if (begun !== null && deliverBefore <= begun + reach) return true;
  const { forgottenAt } = chat;
  return forgottenAt !== null && deliverBefore <= Date.parse(forgottenAt) + reach;
}

/**
 * Id of the control that records that a message never came. It is derived from the message, so a
 * later delivery finds it and is refused (CAN-018).
 */
export function notDeliveredId(instanceId: string, deliveryId: string): string {
  return createHash("sha256")
    .update(`svc.connect.not_delivered/${instanceId}/${uuidKey(deliveryId)}`)
    .digest("hex")
    .slice(0, 32);
}
