/**
 * Whether a reply from another instance fits the message here that it answers
 * (docs/protocol.md#replies; RPL-005 to RPL-012).
 */

import type { ConnectActor } from "../../../shared/wire/v1/message.ts";
import { ConnectMessage } from "../../../shared/wire/v1/message.ts";
import { milliseconds } from "../../../shared/wire/v1/time.ts";
import { uuidKey } from "../../../shared/wire/v1/uuid.ts";
import type { GroupChat } from "../../messaging/group-chat.ts";
import { PeerRefusal } from "../wire/peer-refusal.ts";

/**
 * The id of the event here that the message answers; undefined for a message that isn't a reply.
 * The original sender may follow up to some of its recipients. One of them, in the same generation,
 * may answer the sender. The person of either Group may do both. Throws connect_reply_denied.
 */
export function replyAnchor(chat: GroupChat, reply: ConnectMessage): string | undefined {
  if (reply.reply_to === null) return undefined;
  const found = originalOf(chat, uuidKey(reply.reply_to.event_id));
  if (found === null)
    throw new PeerRefusal("connect_reply_denied", "There is no such message here to answer.");
  const { original, event_id: eventId } = found;
  if (uuidKey(original.delivery_id) !== uuidKey(reply.reply_to.delivery_id)) {
    throw new PeerRefusal("connect_reply_denied", "The event here belongs to another delivery.");
  }
  if (original.connection_id !== reply.connection_id) {
    throw new PeerRefusal("connect_reply_denied", "The message came over another connection.");
  }
  if (milliseconds(reply.created_at) > milliseconds(original.reply_before)) {
    throw new PeerRefusal("connect_reply_denied", "The time to reply to that message has expired.");
  }
  const isAnswer = isEnd(original.target, reply.source) && isEnd(original.source, reply.target);
  const isFollowUp = isEnd(original.source, reply.source) && isEnd(original.target, reply.target);
  const authors = isAnswer ? original.recipients : [original.sender];
  const audience = isAnswer ? [original.sender] : original.recipients;
  if (!isAnswer && !isFollowUp) throw new PeerRefusal("connect_reply_denied");
  if (reply.sender.id !== "user" && !isAmong(reply.sender, authors)) {
    throw new PeerRefusal("connect_reply_denied", "The sender wasn't part of that message.");
  }
  if (!reply.recipients.every((recipient) => isAmong(recipient, audience))) {
    throw new PeerRefusal("connect_reply_denied", "A recipient wasn't part of that message.");
  }
  return eventId;
}

/** The message between instances that this event records. */
export function originalOf(
  chat: GroupChat,
  eventId: string,
): { original: ConnectMessage; event_id: string; digest: unknown; by: string } | null {
  const ordinal = chat.ownOrdinal(eventId);
  const event = ordinal === undefined ? undefined : chat.ledger.read(ordinal);
  if (event?.kind !== "chat.message") return null;
  const original = ConnectMessage.safeParse(event.data.connect_message).data;
  if (original === undefined) return null;
  return { original, event_id: eventId, digest: event.data.connect_message_sha256, by: event.by };
}

interface End {
  instance_id: string;
  group_id: string;
}

/** The same Group of the same instance, whatever its title and device are. */
export function isEnd(one: End, other: End): boolean {
  return one.instance_id === other.instance_id && one.group_id === other.group_id;
}

/** The same Actors in the same generation, or the same person. */
export function isAmong(actor: ConnectActor, actors: readonly ConnectActor[]): boolean {
  return actors.some(({ id, generation }) => id === actor.id && generation === actor.generation);
}
