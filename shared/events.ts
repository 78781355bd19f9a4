/**
 * Ledger events (docs/protocol.md#ledger-events; docs/core-model.md#messages). One JSON line each:
 * `{v:1, id, ts, kind, group_id, scope_key, by, data}`, members in this order. Readers keep kinds
 * and data fields they don't know.
 *
 * `EVENT_DATA` is the one table of kinds. Its schemas give the types and check what comes from
 * outside: an import and a record of the outbox. A ledger's own lines aren't checked again, because
 * they were written from these types.
 */
import * as z from "zod";
import { LIMITS } from "./limits.ts";
import { ActorId, Attachment, EventId, label, MessageFormat, MessageMode, Sha256, text } from "./model.ts";
import { PRESENTATION_KINDS } from "./presentation-kind.ts";
import { isWebAddress } from "./web-address.ts";

const Generations = z.record(z.string(), z.string());
/** A person or an Actor of another instance, in a message or a withdrawal. */
const RemoteActor = z.object({ id: z.string(), title: z.string() });

/**
 * `chat.message`. What projections need comes before `text`, in this order, so that a linear scan
 * can stop there. `to_generations` and `sender_generation` record who was meant: a new Actor with
 * an old id inherits nothing.
 */
export const ChatMessage = z.object({
  message_mode: MessageMode,
  to: z.array(z.string()),
  to_generations: Generations,
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
  dst_to_generations: Generations.optional(),
  dst_reply_to: z.string().optional(),
  src_instance_id: z.string().optional(),
  source_user_id: z.string().optional(),
  text: z.string(),
  format: MessageFormat,
  insight: z.string().optional(),
  quote_text: z.string().optional(),
  attachments: z.array(Attachment),
  refs: z.array(z.looseObject({})),
  /** Digest of the caller's input, if it gave a `client_id`. */
  client_sha256: z.string().optional(),
  dst_group_title: z.string().optional(),
  src_group_id: z.string().optional(),
  src_event_id: z.string().optional(),
  src_group_title: z.string().optional(),
  src_instance_name: z.string().optional(),
  dst_instance_name: z.string().optional(),
  /** Shown names of the recipients at another instance, by their ids. */
  dst_actor_titles: Generations.optional(),
  source_platform: z.string().optional(),
  source_user_name: z.string().optional(),
  connect_message_sha256: z.string().optional(),
  /** The ConnectMessage as it was received or goes out. Who needs more of it parses it. */
  connect_message: z.looseObject({ connection_id: z.string().optional() }).optional(),
});

/** `chat.cross_group_receipt`: how a message to another Group, or a withdrawal, ended. */
const CrossGroupReceipt = z.object({
  source_event_id: EventId,
  operation: z.enum(["local", "connect"]),
  action: z.literal("cancel").optional(),
  original_event_id: EventId.nullish(),
  dst_instance_id: z.string().optional(),
  dst_group_id: z.string(),
  delivery_id: z.string(),
  status: z.enum(["sent", "failed", "unconfirmed"]),
  remote_event_id: z.string().nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  connection_id: z.string().optional(),
});

/** `chat.reply_request.cancelled`. `source_event_id` is null when the message never came. */
const ReplyRequestCancelled = z.object({
  source_event_id: EventId.nullable(),
  cancelled_by: z.string(),
  recipients: z.array(z.string()),
  client_id: z.string().optional(),
  /** The ConnectCancellation as it was received or goes out. */
  connect_cancel: z
    .looseObject({
      delivery_id: z.string(),
      sender: RemoteActor,
      source: z.looseObject({ title: z.string() }),
    })
    .optional(),
  connect_cancel_sha256: z.string().optional(),
  not_delivered: z.literal(true).optional(),
});

/**
 * `mail.read`: everything addressed to the Actor up to `event_id` is read. `actor_id` is `user` for
 * the person.
 */
const MailRead = z.object({
  actor_id: z.string(),
  actor_generation: z.string().optional(),
  event_id: EventId,
});

/** `mail.unread`: the person marked what was addressed to them from `event_id` on as unread. */
const MailUnread = z.object({ actor_id: z.literal("user"), event_id: EventId });

const DeliveryState = z.enum(["claimed", "queued", "accepted", "failed", "ambiguous"]);
/**
 * `runtime.delivery`: one per attempt and step. `batch_id` and `session` belong to the external
 * runner.
 */
const RuntimeDelivery = z.object({
  actor_id: ActorId,
  actor_generation: z.string(),
  source_event_id: EventId,
  delivery_id: z.string(),
  state: DeliveryState,
  transport: z.enum(["external", "pty"]),
  reason: z.string(),
  batch_id: z.string().optional(),
});

/** `runtime.delivery_request`: a message was put back into its Actors' queues on purpose. */
const RuntimeDeliveryRequest = z.object({
  source_event_id: EventId,
  source_ordinal: z.int(),
  actor_generations: Generations,
  force_ambiguous: z.boolean(),
});

/** `system.notify`. `target_actor_id` is null or empty for the person. */
const SystemNotify = z.object({
  kind: z.string(),
  title: z.string(),
  message: z.string(),
  target_actor_id: z.string().nullable(),
  priority: z.enum(["low", "normal", "high"]),
  context: z.looseObject({ actor_generation: z.string().optional() }),
  related_event_id: EventId.nullable(),
});

/** `actor.activity`: states that changed (docs/protocol.md#runtime-activity). */
const ActorActivity = z.object({
  actors: z.array(
    z.object({
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

const OfActor = z.object({ actor_id: z.string() });

/** How svc knew that a person decided it. Earlier events don't have it. */
const ByPerson = { known: z.string().optional() };

/**
 * `actor.answer`: what a person decided through svc about something that an Actor's runtime asked.
 * The tool's input isn't recorded: `input_sha256` is of its JSON as it was shown.
 */
const ActorAnswer = OfActor.extend({
  actor_generation: z.string(),
  question_id: z.string(),
  tool_name: z.string(),
  input_sha256: z.string(),
  /** `answer`: the agent's own questions were answered. */
  decision: z.enum(["allow", "deny", "answer"]),
  /** Whose credential: the local socket's, or that of an administrator access token. */
  via: z.enum(["socket", "web"]),
  ...ByPerson,
  /** It was no longer open when this was recorded, so the runtime never got the answer. */
  late: z.literal(true).optional(),
});

/** What a slot can show. */
export const PresentationKind = z.enum(PRESENTATION_KINDS);
export const PresentationSlot = z.int().min(1).max(LIMITS.presentation.slots);
/** A link to the Web, as a person would open it. */
export const WebAddress = text(LIMITS.presentation.urlBytes).refine(
  isWebAddress,
  "isn't an http or https address without a user name and password",
);

/** `presentation.publish`: a slot shows something else from here on. */
const PresentationPublish = z
  .object({
    slot: PresentationSlot,
    title: label(LIMITS.presentation.titleBytes),
    kind: PresentationKind,
    sha256: Sha256.optional(),
    bytes: z.int().min(0).max(LIMITS.presentation.contentBytes).optional(),
    mime_type: text(LIMITS.attachment.mimeBytes).optional(),
    url: WebAddress.optional(),
    /**
     * The file once more. Every version looks here to see which files an event refers to, also one
     * that doesn't know this kind.
     */
    attachments: z.array(z.object({ sha256: Sha256 })).max(1),
    actor_generation: z.string().optional(),
    client_id: z.string().optional(),
    /** Digest of the caller's input, if it gave a `client_id`. */
    client_sha256: z.string().optional(),
  })
  .refine(
    ({ kind, sha256, url }) =>
      (kind === "url") === (url !== undefined) && (kind === "url") === (sha256 === undefined),
    "has neither a file nor an address, or both",
  );

/** `presentation.clear`: a slot is empty from here on. */
const PresentationClear = z.object({ slot: PresentationSlot });

const Changed = { fields: z.array(z.string()), title: z.string().optional() };

/** By kind: the data of every event that this version writes. */
export const EVENT_DATA = {
  "chat.message": ChatMessage,
  "chat.cross_group_receipt": CrossGroupReceipt,
  "chat.reply_request.cancelled": ReplyRequestCancelled,
  "mail.read": MailRead,
  "mail.unread": MailUnread,
  "runtime.delivery": RuntimeDelivery,
  "runtime.delivery_request": RuntimeDeliveryRequest,
  "system.notify": SystemNotify,
  /**
   * The Group began here. Anything before it in a ledger came with an import and is history
   * (`MessageProjection.begin`).
   */
  "group.create": z.object({ title: z.string() }),
  "group.update": z.object(Changed),
  "group.attach": z.object({ scope_key: z.string(), label: z.string() }),
  "group.set_state": z.object({ state: z.string(), reason: z.string().optional() }),
  "group.reset": z.object({ generation: z.string() }),
  /** A person went on without what a damaged history had lost; `kept` names the damaged files. */
  "group.continue": z.object({
    missing_events: z.int(),
    missing: z.array(z.object({ first: z.int(), last: z.int() })),
    kept: z.array(z.string()),
  }),
  "actor.add": OfActor.extend({
    title: z.string(),
    generation: z.string(),
    runtime: z.string(),
    runner: z.string(),
    ...ByPerson,
  }),
  "actor.update": OfActor.extend({ ...Changed, ...ByPerson }),
  "actor.remove": OfActor.extend({ generation: z.string(), ...ByPerson }),
  "actor.secrets": OfActor.extend(ByPerson),
  "actor.start": OfActor.extend({ reason: z.string().optional(), detail: z.string().optional() }),
  "actor.stop": OfActor.extend({
    reason: z.string().optional(),
    exit_code: z.int().nullish(),
    signal: z.union([z.string(), z.int()]).nullish(),
  }),
  "actor.restart": OfActor,
  "actor.answer": ActorAnswer,
  "actor.activity": ActorActivity,
  "presentation.publish": PresentationPublish,
  "presentation.clear": PresentationClear,
} as const satisfies Record<string, z.ZodObject>;

export type EventKind = keyof typeof EVENT_DATA;
export type EventData<Kind extends EventKind = EventKind> = z.infer<(typeof EVENT_DATA)[Kind]>;

interface Envelope<Kind extends string, Data> {
  v: 1;
  /** UUID without dashes; append order, not the id, orders events. */
  id: string;
  /** UTC ISO 8601 with milliseconds. */
  ts: string;
  kind: Kind;
  group_id: string;
  scope_key: string;
  /** `user`, `system`, an Actor id, `<group_id>::<actor>` or `connect:<instance_id>`. */
  by: string;
  data: Data;
}

declare enum Unknown {
  Kind = "",
}
/** A kind that isn't in the table. To the compiler it is one more kind, whose name nobody knows. */
export type UnknownKind = Unknown.Kind;

type KnownEvent = { [Kind in EventKind]: Envelope<Kind, EventData<Kind>> }[EventKind];
/** An event that a newer version wrote, as it was. */
export type UnknownEvent = Envelope<UnknownKind, Record<string, unknown>>;
export type LedgerEvent = KnownEvent | UnknownEvent;
export type EventOf<Kind extends LedgerEvent["kind"]> = Extract<LedgerEvent, { kind: Kind }>;
export type MessageEvent = EventOf<"chat.message">;
/** What an Inbox hands out. */
export type InboxEvent = EventOf<"chat.message" | "system.notify">;
/** What the outbox records in its source Group. */
export type SourceEvent = EventOf<"chat.message" | "chat.reply_request.cancelled">;
export type ChatMessage = EventData<"chat.message">;
export type DeliveryState = EventData<"runtime.delivery">["state"];

export function isMessage(event: LedgerEvent): event is MessageEvent {
  return event.kind === "chat.message";
}

export function isEventKind(kind: string): kind is EventKind {
  return Object.hasOwn(EVENT_DATA, kind);
}

/** Of events of these kinds; of all when none is given. */
function schemaOf<Kind extends LedgerEvent["kind"]>(
  ...kinds: readonly (Kind & EventKind)[]
): z.ZodType<EventOf<Kind>, EventOf<Kind>> {
  const envelope = z
    .looseObject({
      v: z.literal(1),
      id: EventId,
      ts: z.string(),
      kind: z.string(),
      group_id: z.string(),
      scope_key: z.string(),
      by: z.string(),
      data: z.looseObject({}),
    })
    .refine(
      ({ kind, data }) =>
        (kinds.length === 0 || (kinds as readonly string[]).includes(kind)) &&
        (!isEventKind(kind) || EVENT_DATA[kind].safeParse(data).success),
      "isn't an event of this kind",
    );
  // What the check proves is more than the schema's type says.
  return envelope as z.ZodType as z.ZodType<EventOf<Kind>, EventOf<Kind>>;
}

/** The same as a schema. It keeps members that it doesn't know, and kinds. */
export const LedgerEventSchema = schemaOf();
export const MessageEventSchema = schemaOf("chat.message");
export const CancelledEventSchema = schemaOf("chat.reply_request.cancelled");
export const InboxEventSchema = schemaOf("chat.message", "system.notify");
export const SourceEventSchema = schemaOf("chat.message", "chat.reply_request.cancelled");
