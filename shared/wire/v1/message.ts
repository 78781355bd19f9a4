/**
 * What one instance tells another about a message (docs/protocol.md#peer-operations). Field order
 * is part of the contract: a strict parse gives objects whose JSON is the bytes that digests cover.
 * These checks don't depend on the clock; those in `timely.ts` do.
 */
import * as z from "zod";
import { LIMITS } from "../../limits.ts";
import { list, MessageFormat, MessageMode, text } from "../../model.ts";
import {
  ConnectionId,
  Digest,
  ForeignId,
  InstanceId,
  isDirect,
  ServiceOrigin,
  Title,
  Uuid,
  WireGroupId,
} from "./fields.ts";
import { nanoseconds, Time } from "./time.ts";

const { connect } = LIMITS;

/** `device_id` is absent exactly for Direct. */
export const ConnectGroupAddress = z.strictObject({
  instance_id: InstanceId,
  device_id: ForeignId.exactOptional(),
  group_id: WireGroupId,
  title: Title,
});

const actorFields = {
  id: ForeignId,
  title: Title,
  generation: text(connect.generationBytes),
  enabled: z.boolean(),
  role: z.enum(["foreman", "peer"]).nullable(),
};

/** An Actor, or the person of a Group: `user`, the only one without a generation. */
export const ConnectActor = z
  .strictObject(actorFields)
  .refine(({ id, generation }) => (id === "user") === (generation === ""), {
    path: ["generation"],
    error: "must be empty for the user and for no other recipient",
  });

/** An Actor of a catalog page, where unknown fields are ignored. */
export const CatalogActor = z
  .object(actorFields)
  .refine(({ id, generation }) => id !== "user" && generation !== "", {
    path: ["generation"],
    error: "doesn't belong to an Actor",
  });

export const ConnectAttachment = z.strictObject({
  sha256: Digest,
  bytes: z.int().min(0),
  /** As sent; reduced to a safe base name where it is shown or saved. */
  name: text(LIMITS.attachment.nameBytes),
  mime_type: text(LIMITS.attachment.mimeBytes),
});

const envelopeFields = {
  connection_id: ConnectionId.exactOptional(),
  delivery_id: Uuid,
  account_origin: ServiceOrigin.exactOptional(),
  account_id: ForeignId.exactOptional(),
  source: ConnectGroupAddress,
  sender: ConnectActor,
  source_event_id: Uuid,
  target: ConnectGroupAddress,
};

interface Envelope {
  connection_id?: string;
  account_origin?: string;
  account_id?: string;
  source: { instance_id: string; device_id?: string };
  target: { instance_id: string; device_id?: string };
  created_at: string;
  deliver_before: string;
}

type Report = (path: (string | number)[], problem: string) => void;

const SECOND = 1_000_000_000n;
const within = (start: string, end: string, seconds: number): boolean =>
  nanoseconds(end) <= nanoseconds(start) + BigInt(seconds) * SECOND;

/** What a message and a cancellation must keep the same. */
function checkEnvelope(value: Envelope, report: Report): void {
  const direct = isDirect(value.connection_id);
  const accountFields: [(string | number)[], string | undefined][] = [
    [["account_origin"], value.account_origin],
    [["account_id"], value.account_id],
    [["source", "device_id"], value.source.device_id],
    [["target", "device_id"], value.target.device_id],
  ];
  for (const [path, field] of accountFields) {
    if (direct && field !== undefined) report(path, "isn't accepted over a Direct connection");
    if (!direct && field === undefined) report(path, "is missing");
  }
  if (value.source.instance_id === value.target.instance_id) report(["target"], "is the source instance");
  if (nanoseconds(value.deliver_before) <= nanoseconds(value.created_at)) {
    report(["deliver_before"], "isn't after created_at");
  }
  if (!within(value.created_at, value.deliver_before, connect.deliverSeconds)) {
    report(["deliver_before"], "is more than 15 minutes after created_at");
  }
}

/** Calls `check` with a way to report a problem of a field, once every field has the right form. */
function checked<Value>(check: (value: Value, report: Report) => void) {
  return (context: z.core.ParsePayload<Value>): void => {
    if (context.issues.length > 0) return;
    check(context.value, (path, problem) =>
      context.issues.push({ code: "custom", input: context.value, path, message: problem }),
    );
  };
}

export const ConnectMessage = z
  .strictObject({
    ...envelopeFields,
    recipients: list(ConnectActor, LIMITS.message.recipients, 1),
    text: text(LIMITS.message.textBytes),
    format: MessageFormat,
    insight: text(LIMITS.message.insightBytes).nullable(),
    message_mode: MessageMode,
    attachments: list(ConnectAttachment, LIMITS.message.attachments),
    /** The message that this one answers, by the delivery and the event that the target knows. */
    reply_to: z.strictObject({ delivery_id: Uuid, event_id: Uuid }).nullable(),
    created_at: Time,
    deliver_before: Time,
    reply_before: Time,
  })
  .check(
    checked((message, report) => {
      checkEnvelope(message, report);
      if (nanoseconds(message.reply_before) < nanoseconds(message.deliver_before)) {
        report(["reply_before"], "is before deliver_before");
      }
      if (!within(message.created_at, message.reply_before, connect.replySeconds)) {
        report(["reply_before"], "is more than 7 days after created_at");
      }
      if (message.text === "" && message.attachments.length === 0)
        report(["text"], "is empty without an attachment");
      if (new Set(message.recipients.map(({ id }) => id)).size < message.recipients.length) {
        report(["recipients"], "names a recipient twice");
      }
      if (message.reply_to !== null && message.message_mode === "request_reply") {
        report(["message_mode"], "can't ask for a reply to a reply");
      }
      const sizes = new Map<string, number>();
      let total = 0;
      for (const { sha256, bytes } of message.attachments) {
        if ((sizes.get(sha256) ?? bytes) !== bytes) report(["attachments"], "gives one file two sizes");
        sizes.set(sha256, bytes);
        total += bytes;
      }
      if (total > connect.blobBytes) report(["attachments"], "is more than 10 MiB together");
    }),
  );

export const ConnectCancellation = z
  .strictObject({
    ...envelopeFields,
    original_delivery_id: Uuid,
    original_message_sha256: Digest,
    original_source_event_id: Uuid,
    original_deliver_before: Time,
    created_at: Time,
    deliver_before: Time,
  })
  .check(checked(checkEnvelope));

/** Of a message or a cancellation: `message_sha256` is the digest of either. */
export const Receipt = z.strictObject({
  delivery_id: Uuid,
  message_sha256: Digest,
  event_id: Uuid,
  delivered_at: Time,
});

export type ConnectGroupAddress = z.infer<typeof ConnectGroupAddress>;
export type ConnectActor = z.infer<typeof ConnectActor>;
export type ConnectAttachment = z.infer<typeof ConnectAttachment>;
export type ConnectMessage = z.infer<typeof ConnectMessage>;
export type ConnectCancellation = z.infer<typeof ConnectCancellation>;
export type Receipt = z.infer<typeof Receipt>;
