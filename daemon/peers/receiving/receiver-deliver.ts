/**
 * Operation `deliver`: one message of another instance becomes one event here, or none
 * (docs/protocol.md#answers). It runs under the Group's exclusive lock. A message that was received
 * before is answered from the ledger, before anything is checked that may have changed since.
 */

import { safeName } from "../../../shared/file-name.ts";
import { withoutInvisible } from "../../../shared/invisible.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { Attachment } from "../../../shared/model.ts";
import { isOnlyNamed } from "../../../shared/typed-actors.ts";
import type { ConnectActor, ConnectMessage } from "../../../shared/wire/v1/message.ts";
import type { ConnectBlob, ReceiptResult } from "../../../shared/wire/v1/peer.ts";
import { milliseconds } from "../../../shared/wire/v1/time.ts";
import { untimelyDelivery } from "../../../shared/wire/v1/timely.ts";
import { uuidKey } from "../../../shared/wire/v1/uuid.ts";
import type { Audience } from "../../groups/recipients.ts";
import { describeAttachment } from "../../messaging/files/blobs.ts";
import type { GroupChat } from "../../messaging/group-chat.ts";
import { type Author, messageData } from "../../messaging/messages/message-event.ts";
import { remoteBy } from "../../messaging/projection/authors.ts";
import { deliveryKey } from "../../messaging/projection/message-keys.ts";
import type { Content } from "../wire/digests.ts";
import { PeerRefusal } from "../wire/peer-refusal.ts";
import { checkBlobs, inTurns } from "./receiver-blobs.ts";
import { type Admission, notDeliveredId, receiptOf, receivedMessage, resetAt } from "./receiver-receipt.ts";
import { replyAnchor } from "./receiver-reply.ts";

export interface Delivery {
  message: Content<ConnectMessage>;
  blobs: readonly ConnectBlob[];
}

/**
 * Throws PeerRefusal, or Refusal when the disk fails, and then nothing was recorded. `admission`
 * throws when the grant is no longer in force. It is called again when the files are written, which
 * takes as long as the disk needs, so that the event belongs to the moment that was checked.
 * `spend` throws when the peer has written too much. A message that was received before costs
 * nothing.
 */
export async function deliver(
  chat: GroupChat,
  { message: { value: message, sha256 }, blobs }: Delivery,
  admission: () => Admission,
  spend: () => void,
): Promise<ReceiptResult> {
  const first = admission();
  const { grant } = first;
  const earlier = earlierReceipt(chat, message, sha256);
  if (earlier !== null) return earlier;
  checkTimes(chat, message, first);
  const audience = audienceOf(chat, message);
  const replyTo = replyAnchor(chat, message);
  spend();
  const files = await checkBlobs(message, blobs);
  const { ledger } = chat;
  const { count } = ledger;
  for (const file of files) await chat.blobs.take(inTurns(file), count, file.sha256);
  const event = chat.event(
    "chat.message",
    remoteBy(message.source.instance_id),
    messageData({
      mode: message.message_mode,
      audience,
      author: authorOf(message),
      said: {
        text: message.text,
        format: message.format,
        insight: message.insight === null || message.insight.trim() === "" ? undefined : message.insight,
        attachments: [],
        paths: [],
        refs: [],
      },
      attachments: message.attachments.map(attached),
      reply_to: replyTo,
      incoming: {
        delivery_id: uuidKey(message.delivery_id),
        instance_id: message.source.instance_id,
        instance_name: grant.remote.name,
        dst_instance_name: grant.local.name,
        group_id: message.source.group_id,
        group_title: withoutInvisible(message.source.title),
        event_id: uuidKey(message.source_event_id),
        user_id: message.sender.id,
        user_name: nameOf(message.sender),
        connect_message: message,
        connect_message_sha256: sha256,
      },
    }),
    deliveryKey(remoteBy(message.source.instance_id), uuidKey(message.delivery_id)),
  );
  const [placed] = await chat.blobs.send(
    files.map(({ sha256 }) => sha256),
    count,
    () => {
      const last = admission();
      checkTimes(chat, message, last);
      return ledger.appendAll([{ ...event, ts: new Date(last.now).toISOString() }]);
    },
  );
  return { receipt: receiptOf(placed!.event, { delivery_id: message.delivery_id, sha256 }) };
}

/**
 * The receipt of a message that was received before. Throws connect_content_conflict when its
 * content was different (PEER-035, PEER-036).
 */
function earlierReceipt(chat: GroupChat, message: ConnectMessage, sha256: string): ReceiptResult | null {
  const event = receivedMessage(chat, message.source.instance_id, message.delivery_id);
  if (event === null) {
    const withdrawn = notDeliveredId(message.source.instance_id, message.delivery_id);
    if (chat.ownOrdinal(withdrawn) === undefined) return null;
    throw new PeerRefusal("connect_message_withdrawn");
  }
  if (event.data.connect_message_sha256 !== sha256) throw new PeerRefusal("connect_content_conflict");
  return { receipt: receiptOf(event, { delivery_id: message.delivery_id, sha256 }), duplicate: true };
}

function checkTimes(chat: GroupChat, message: ConnectMessage, admission: Admission): void {
  const { now } = admission;
  if (untimelyDelivery(message, now) !== null) {
    const isOver = milliseconds(message.deliver_before) <= now;
    throw new PeerRefusal(isOver ? "connect_message_expired" : "connect_message_early");
  }
  // A message for the Group before its reset isn't for the Group now (MSG-023). The reset removed
  // the memory of what had arrived, so this answer isn't final: a sender that hasn't sent yet will
  // fail in the end, and any other can't know.
  const begun = resetAt(chat, admission);
  if (begun !== null && milliseconds(message.created_at) <= begun + LIMITS.connect.skewSeconds * 1000) {
    throw new PeerRefusal("connect_peer_denied", "The Group has been reset since the message was written.");
  }
}

/**
 * Exactly the Actors that were meant, in their generations, or the person; never anyone else
 * (PEER-034, MSG-055).
 */
function audienceOf(chat: GroupChat, { recipients, message_mode: messageMode }: ConnectMessage): Audience {
  if (recipients.some(({ id }) => id === "user")) {
    if (recipients.length > 1 || messageMode === "mail") throw new PeerRefusal("connect_message_invalid");
    return { to: ["user"], to_generations: {} };
  }
  const { actors } = chat.group.record;
  for (const recipient of recipients) {
    const found = actors.find(({ id }) => id === recipient.id);
    // The catalog doesn't offer a command that isn't marked as reading prompts.
    if (found?.generation !== recipient.generation || isOnlyNamed(found)) {
      throw new PeerRefusal("connect_recipient_replaced");
    }
  }
  return {
    to: recipients.map(({ id }) => id),
    to_generations: Object.fromEntries(recipients.map(({ id, generation }) => [id, generation])),
  };
}

function authorOf({ source, sender }: ConnectMessage): Author {
  const author: Author = { by: remoteBy(source.instance_id), title: nameOf(sender) };
  if (sender.generation !== "") author.generation = sender.generation;
  return author;
}

/** In the form that people see (MSG-034). */
function nameOf({ id, title }: ConnectActor): string {
  const name = withoutInvisible(title).trim();
  return name === "" ? id : name;
}

function attached({
  sha256,
  bytes,
  name,
  mime_type: mimeType,
}: ConnectMessage["attachments"][number]): Attachment {
  const base = name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1);
  return describeAttachment({ sha256, bytes }, { name: safeName(base), mime_type: mimeType });
}
