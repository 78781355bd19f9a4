/**
 * Ledger events (docs/protocol.md#ledger-events; docs/core-model.md#messages). One JSON line each:
 * `{v:1, id, ts, kind, group_id, scope_key, by, data}`, members in this order. Readers keep kinds
 * and data fields they don't know.
 */
import * as z from "zod";
import { ActorId, Attachment, EventId, MessageFormat, MessageMode } from "./model.ts";

export interface LedgerEvent<Data = Record<string, unknown>> {
  v: 1;
  /** UUID without dashes; append order, not the id, orders events. */
  id: string;
  /** UTC ISO 8601 with milliseconds. */
  ts: string;
  kind: string;
  group_id: string;
  scope_key: string;
  /** `user`, `system`, an Actor id, `<group_id>::<actor>` or `connect:<instance_id>`. */
  by: string;
  data: Data;
}

/** The same as a schema, for outputs. */
export const LedgerEventSchema: z.ZodType<LedgerEvent, LedgerEvent> = z.looseObject({
  v: z.literal(1),
  id: EventId,
  ts: z.string(),
  kind: z.string(),
  group_id: z.string(),
  scope_key: z.string(),
  by: z.string(),
  data: z.looseObject({}),
});

/**
 * `chat.message`. What projections need comes before `text`, in this order, so that a linear scan
 * can stop there. `to_generations` and `sender_generation` record who was meant: a new Actor with
 * an old id inherits nothing.
 */
export const ChatMessage = z.looseObject({
  message_mode: MessageMode,
  to: z.array(z.string()),
  to_generations: z.record(z.string(), z.string()),
  reply_to: EventId.optional(),
  client_id: z.string().optional(),
  sender_generation: z.string().optional(),
  sender_title: z.string(),
  /**
   * Between instances: the id of the delivery without dashes, and the message's destination, or its
   * sender there.
   */
  delivery_id: z.string().optional(),
  dst_instance_id: z.string().optional(),
  /**
   * For a message to another Group: the recipients there, and the message there that it answers.
   */
  dst_group_id: z.string().optional(),
  dst_to: z.array(z.string()).optional(),
  dst_to_generations: z.record(z.string(), z.string()).optional(),
  dst_reply_to: z.string().optional(),
  src_instance_id: z.string().optional(),
  source_user_id: z.string().optional(),
  text: z.string(),
  format: MessageFormat,
  insight: z.string().optional(),
  quote_text: z.string().optional(),
  attachments: z.array(Attachment),
  refs: z.array(z.looseObject({})),
  src_group_id: z.string().optional(),
  src_event_id: z.string().optional(),
  src_group_title: z.string().optional(),
});

export const DeliveryState = z.enum(["claimed", "queued", "accepted", "failed", "ambiguous"]);
/**
 * `runtime.delivery`: one per attempt and step. `batch_id` and `session` belong to the external
 * runner.
 */
export const RuntimeDelivery = z.looseObject({
  actor_id: ActorId,
  actor_generation: z.string(),
  source_event_id: EventId,
  delivery_id: z.string(),
  state: DeliveryState,
  transport: z.enum(["external", "pty"]),
  reason: z.string(),
  batch_id: z.string().optional(),
});

/**
 * `mail.read`: everything addressed to the Actor up to `event_id` is read. `actor_id` is `user` for
 * the person.
 */
export const MailRead = z.looseObject({
  actor_id: z.string(),
  actor_generation: z.string().optional(),
  event_id: EventId,
});

/** `chat.reply_request.cancelled`. */
export const ReplyRequestCancelled = z.looseObject({
  source_event_id: EventId.nullable(),
  cancelled_by: z.string(),
  recipients: z.array(z.string()),
  client_id: z.string().optional(),
});

/** `actor.activity`: states that changed (docs/protocol.md#runtime-activity). */
export const ActorActivity = z.looseObject({
  actors: z.array(
    z.looseObject({
      id: ActorId,
      running: z.boolean(),
      runner_effective: z.enum(["pty", "external"]),
      /** Since the runtime's last sign of life; null if there was none. */
      idle_seconds: z.number().nullable(),
      effective_working_state: z.enum(["stopped", "idle", "working", "waiting", "unavailable"]),
      effective_working_reason: z.string(),
      effective_working_updated_at: z.string(),
    }),
  ),
});

/** `system.notify`. */
export const SystemNotify = z.looseObject({
  kind: z.string(),
  title: z.string(),
  message: z.string(),
  target_actor_id: z.string().nullable(),
  priority: z.enum(["low", "normal", "high"]),
  context: z.looseObject({}),
  related_event_id: EventId.nullable(),
});

export type ChatMessage = z.infer<typeof ChatMessage>;
export type RuntimeDelivery = z.infer<typeof RuntimeDelivery>;
export type MailRead = z.infer<typeof MailRead>;
export type ReplyRequestCancelled = z.infer<typeof ReplyRequestCancelled>;
export type ActorActivity = z.infer<typeof ActorActivity>;
export type SystemNotify = z.infer<typeof SystemNotify>;
