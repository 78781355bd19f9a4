/** Messages, the Inbox, obligations and files. */
import * as z from "zod";
import { CancelledEventSchema, InboxEventSchema, MessageEventSchema } from "../events.ts";
import { LIMITS } from "../limits.ts";
import {
  Actor,
  ActorId,
  Attachment,
  ClientId,
  EventId,
  GroupId,
  Limit,
  MessageFormat,
  MessageMode,
  Sha256,
  text,
} from "../model.ts";
import { ActorWithPresence } from "./actors.ts";
import { operation } from "./contract.ts";

const Text = text(LIMITS.message.textBytes);
const Recipient = z.string().min(1).max(LIMITS.actor.titleBytes);
const Recipients = z.array(Recipient).max(LIMITS.message.recipients);
/**
 * A file that was already uploaded to the Group (`POST G/uploads` or `upload`), named by its
 * digest.
 */
export const UploadReference = z.strictObject({
  sha256: Sha256,
  name: text(LIMITS.attachment.nameBytes).min(1),
  mime_type: text(LIMITS.attachment.mimeBytes).default("application/octet-stream"),
});
const Uploads = z.array(UploadReference).max(LIMITS.message.attachments).default([]);
/** Files on this machine; inside the attached scopes when an Actor calls. */
const Paths = z.array(z.string().min(1).max(4096)).max(LIMITS.message.attachments).default([]);
const Refs = z
  .array(z.looseObject({ kind: z.string().max(64) }))
  .max(LIMITS.message.refs)
  .default([]);
/** A Group of another instance as the person chose it. The daemon only stores it. */
const RemotePlace = z.strictObject({
  instance_id: text(LIMITS.connect.idBytes).min(1),
  instance_name: text(LIMITS.connect.titleBytes),
  group_id: text(LIMITS.connect.idBytes).min(1),
  title: text(LIMITS.connect.titleBytes),
});
const body = {
  text: Text.default(""),
  format: MessageFormat.default("markdown"),
  insight: text(LIMITS.message.insightBytes).optional(),
  quote_text: text(LIMITS.message.quoteBytes).optional(),
  attachments: Uploads,
  paths: Paths,
  refs: Refs,
  client_id: ClientId.optional(),
};

/** What is unread after the person's read mark has moved, or hasn't. */
const Reading = z.strictObject({
  unread: z.int(),
  first_unread: EventId.nullable(),
  attention: z.int(),
});

export const Sent = z.strictObject({
  event: MessageEventSchema,
  message_mode: MessageMode,
  duplicate: z.boolean(),
});

const ObligationState = z.strictObject({
  state: z.enum(["open", "replied", "cancelled"]),
  event_id: EventId.optional(),
  ts: z.string().optional(),
});
const DeliveryStatus = z.strictObject({
  /** `pending` hasn't been delivered; `read` was opened by a person or read as Mail. */
  state: z.enum(["pending", "claimed", "queued", "accepted", "failed", "ambiguous", "read"]),
  reason: z.string(),
  ts: z.string().nullable(),
});
/**
 * The known delivery status of a message or withdrawal to the other instance
 * (docs/protocol.md#delivery-states).
 */
const ConnectState = z.strictObject({
  state: z.enum(["queued", "sent", "failed", "unconfirmed"]),
  error: z.looseObject({ code: z.string(), message: z.string() }).optional(),
  remote_event_id: EventId.optional(),
});
export const MessageStatus = z.strictObject({
  /** By recipient: whether it was read (Mail and messages to the person). */
  read_status: z.record(z.string(), z.boolean()),
  /** By recipient, of messages that ask for a reply. */
  obligation_status: z.record(z.string(), ObligationState),
  /** By recipient, of messages delivered to an Actor or the person. */
  delivery_status: z.record(z.string(), DeliveryStatus),
  /** Of messages to other instances. */
  connect_delivery: ConnectState.nullable(),
  /** Of a withdrawn request between instances: the status of its withdrawal. */
  connect_cancellation: ConnectState.nullable(),
});
export type MessageStatus = z.infer<typeof MessageStatus>;

/** A message as an Inbox returns it. */
const InboxMessage = z.strictObject({
  event: InboxEventSchema,
  /**
   * `mail` comes from the Inbox, `direct` was delivered just now. Both are acknowledged by
   * `batch_id`.
   */
  delivery: z.enum(["mail", "direct", "notice"]),
  redelivered: z.boolean(),
  /**
   * Only for a message that is too large for one answer: which bytes of its text these are. The
   * next read has the following ones, and the last part comes with the batch.
   */
  part: z.strictObject({ from: z.int(), to: z.int(), bytes: z.int() }).exactOptional(),
});

export const messageOperations = [
  operation({
    name: "send",
    title: "Send a message",
    summary:
      "Checks everything, then appends one message. The default mode is send for people and the command line, and mail for agents.",
    input: z.strictObject({
      group_id: GroupId,
      ...body,
      message_mode: MessageMode.optional(),
      to: Recipients.default([]),
      reply_to: EventId.optional(),
    }),
    output: Sent,
    callers: ["user", "member", "actor"],
    lock: "group_read",
    effect: "write",
    decision: false,
    idempotent: false,
  }),
  operation({
    name: "reply",
    title: "Reply to a message",
    summary:
      "Answers a message. If you name no recipients, it goes to the sender. It settles the reply that you owe.",
    input: z.strictObject({
      group_id: GroupId,
      event_id: EventId,
      ...body,
      message_mode: z.enum(["send", "mail"]).optional(),
      to: Recipients.default([]),
    }),
    output: Sent,
    callers: ["user", "member", "actor"],
    lock: "group_read",
    effect: "write",
    decision: false,
    idempotent: false,
  }),
  operation({
    name: "send_cross_group",
    title: "Send to another local Group",
    summary: "Appends a message to another Group of this Home and records it in your own.",
    input: z.strictObject({
      group_id: GroupId,
      dst_group_id: GroupId,
      ...body,
      message_mode: MessageMode.optional(),
      to: Recipients.default([]),
    }),
    output: z.strictObject({
      event: MessageEventSchema,
      source_event: MessageEventSchema,
      message_mode: MessageMode,
      duplicate: z.boolean(),
    }),
    callers: ["user", "actor"],
    lock: "none",
    effect: "write",
    decision: false,
    idempotent: false,
  }),
  operation({
    name: "send_files",
    title: "Send files",
    summary: "Sends 1-16 files from the attached scope as attachments of one message.",
    input: z.strictObject({
      group_id: GroupId,
      ...body,
      paths: z.array(z.string().min(1).max(4096)).min(1).max(LIMITS.message.attachments),
      message_mode: MessageMode.optional(),
      to: Recipients.default([]),
    }),
    output: Sent,
    callers: ["user", "actor"],
    lock: "group_read",
    effect: "write",
    decision: false,
    idempotent: false,
  }),
  operation({
    name: "file_fetch",
    title: "Fetch an attachment",
    summary:
      "Returns the details of a file attached to a message, its text if it is small UTF-8 text, and on request a copy in the project directory.",
    input: z.strictObject({
      group_id: GroupId,
      event_id: EventId,
      sha256: Sha256.optional(),
      save_to: z.string().min(1).max(4096).optional(),
    }),
    output: z.strictObject({
      attachment: Attachment,
      text: z.string().nullable(),
      saved_to: z.string().nullable(),
    }),
    callers: ["user", "actor"],
    lock: "group_read",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "message_deliver",
    title: "Deliver a message again",
    summary:
      "Puts a message back into its Actors' queue, on purpose. An unconfirmed attempt needs force_ambiguous.",
    input: z.strictObject({
      group_id: GroupId,
      source_event_id: EventId,
      actor_ids: z.array(ActorId).min(1).max(LIMITS.message.recipients),
      force_ambiguous: z.boolean().default(false),
    }),
    output: z.strictObject({ queued: z.array(ActorId) }),
    callers: ["user", "actor"],
    lock: "group_read",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "message_withdraw",
    title: "Withdraw a message",
    summary:
      "Takes a message back from its Actors that haven't got it yet, with the replies that they owe. It stays in the history. Mail can't be withdrawn.",
    input: z.strictObject({ group_id: GroupId, event_id: EventId }),
    output: z.strictObject({ withdrawn: z.array(ActorId) }),
    callers: ["user", "member", "actor"],
    lock: "group_read",
    effect: "destroy",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "reply_request_cancel",
    title: "Cancel a reply request",
    summary: "Withdraws the replies that a message still waits for. Running work isn't stopped.",
    input: z.strictObject({ group_id: GroupId, event_id: EventId, client_id: ClientId.optional() }),
    output: z.strictObject({
      event: CancelledEventSchema,
      cancelled: z.array(z.string()),
      duplicate: z.boolean(),
    }),
    callers: ["user", "member", "actor"],
    lock: "group_read",
    effect: "destroy",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "message_history",
    title: "List an Actor's own messages",
    summary:
      "Lists what this Actor sent or received in its current generation, oldest first. In a large Group a page may be short or empty: continue_before says where to continue.",
    input: z.strictObject({
      group_id: GroupId,
      actor_id: ActorId.optional(),
      mode: z.enum(["all", "sent", "received"]).default("all"),
      query: z.string().max(512).default(""),
      before_event_id: EventId.optional(),
      limit: Limit.default(LIMITS.page.default),
    }),
    /**
     * `has_more` says that older ones may follow: `continue_before` is the `before_event_id` to
     * look for them.
     */
    output: z.strictObject({
      events: z.array(MessageEventSchema),
      has_more: z.boolean(),
      continue_before: EventId.nullable(),
      /** Ids of messages among these that the disk no longer holds; absent when there are none. */
      unreadable: z.array(EventId).optional(),
    }),
    callers: ["user", "actor"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "inbox_peek",
    title: "Show an Inbox",
    summary: "Lists an Actor's unread Mail in ledger order without moving its cursor.",
    input: z.strictObject({
      group_id: GroupId,
      actor_id: ActorId.optional(),
      limit: Limit.default(LIMITS.page.default),
    }),
    output: z.strictObject({
      messages: z.array(MessageEventSchema),
      cursor: EventId.nullable(),
      unread: z.int(),
    }),
    callers: ["user", "actor"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "inbox_read",
    title: "Read the Inbox",
    summary:
      "Takes the next Mail in ledger order and, for the Actor itself, direct messages as they arrive. Waits up to wait_seconds. ack names the batch taken before. An Actor gets about 40 KB at once and has_more; a longer message comes in parts. Mail taken by a session counts as read once it is acknowledged. Without a session it counts as read at once.",
    input: z.strictObject({
      group_id: GroupId,
      actor_id: ActorId.optional(),
      limit: Limit.default(LIMITS.page.default),
      ack: z.string().min(1).max(64).optional(),
      /** 0-50, clamped. Without it, there is no wait, except over MCP, where it is 25. */
      wait_seconds: z
        .number()
        .min(0)
        .transform((seconds) => Math.min(seconds, LIMITS.inbox.waitSecondsMax))
        .optional(),
    }),
    /** `has_more`: the limit of messages or bytes left some out. */
    output: z.strictObject({
      batch_id: z.string().nullable(),
      has_more: z.boolean(),
      messages: z.array(InboxMessage),
      cursor: EventId.nullable(),
      unread: z.int(),
    }),
    callers: ["user", "actor"],
    lock: "none",
    effect: "write",
    decision: false,
    idempotent: false,
  }),
  operation({
    name: "feed_read",
    title: "Mark as read",
    summary: "Records that the person has seen the Group's messages up to this one, in every window.",
    input: z.strictObject({ group_id: GroupId, event_id: EventId }),
    output: Reading,
    callers: ["user", "member"],
    lock: "group_read",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "feed_unread",
    title: "Mark as unread",
    summary: `Marks the messages to the person from this event on as unread, in every window. The latest ${LIMITS.reading.kept} that were read can be marked.`,
    input: z.strictObject({ group_id: GroupId, event_id: EventId }),
    output: Reading,
    callers: ["user", "member"],
    lock: "group_read",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "message_upload_preflight",
    title: "Check an upload",
    summary:
      "Says whether a message with these files would be accepted, before they are uploaded. Changes nothing.",
    input: z.strictObject({
      group_id: GroupId,
      message_mode: MessageMode.optional(),
      to: Recipients.default([]),
      reply_to: EventId.optional(),
      files: z
        .array(z.strictObject({ name: text(LIMITS.attachment.nameBytes).min(1), bytes: z.int().min(0) }))
        .min(1)
        .max(LIMITS.message.attachments),
    }),
    output: z.strictObject({ accepted: z.literal(true), upload_limit: z.int() }),
    callers: ["user", "member"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "draft_get",
    title: "Show a draft",
    summary: "Returns the person's unsent text in this Group.",
    input: z.strictObject({ group_id: GroupId }),
    output: z.strictObject({ draft: z.looseObject({}).nullable(), updated_at: z.string().nullable() }),
    callers: ["user", "member"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "draft_put",
    title: "Save a draft",
    summary:
      "Saves the person's unsent text. null removes it. With based_on, refuses with conflict if another window has changed it.",
    input: z.strictObject({
      group_id: GroupId,
      draft: z
        .strictObject({
          text: Text,
          to: Recipients.default([]),
          message_mode: MessageMode.optional(),
          reply_to: EventId.optional(),
          quote_text: text(LIMITS.message.quoteBytes).optional(),
          dst_group_id: GroupId.optional(),
          /** The destination Group of another instance, with the names that are shown. */
          dst_remote: RemotePlace.optional(),
          refs: Refs,
          /** With its size, where it is known, to be shown again. */
          attachments: z
            .array(UploadReference.extend({ bytes: z.int().min(0).optional() }))
            .max(LIMITS.message.attachments)
            .default([]),
        })
        .nullable(),
      /** The `updated_at` that the text was based on. */
      based_on: z.string().max(64).nullable().optional(),
    }),
    output: z.strictObject({ updated_at: z.string().nullable() }),
    callers: ["user", "member"],
    lock: "group_read",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "bootstrap",
    title: "Show where I am",
    summary:
      "Shows an Actor its Group, itself, the other Actors, unread Mail, open reply requests and the newest messages to it.",
    input: z.strictObject({ group_id: GroupId }),
    output: z.strictObject({
      group: z.strictObject({
        group_id: GroupId,
        title: z.string(),
        topic: z.string(),
        state: z.string(),
        project_root: z.string().nullable(),
      }),
      me: Actor.pick({ id: true, title: true, role: true, runtime: true }),
      actors: z.array(
        ActorWithPresence.pick({
          id: true,
          title: true,
          role: true,
          runtime: true,
          enabled: true,
          presence: true,
        }),
      ),
      unread_mail: z.int(),
      pending_messages: z.int(),
      open_requests: z.array(MessageEventSchema),
    }),
    callers: ["actor"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
] as const;
