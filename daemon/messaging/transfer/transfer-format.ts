/**
 * The file of a Group export: lines of JSON, so that both sides stream it and people can read it.
 *
 * 1. `{"format":"svc.group.export","v":1,"product","exported_at","group":{...}}`: the Group without
 *   machine paths, tokens or private values;
 * 2. `{"blob":{"sha256","bytes"}}` followed by its `{"chunk":"<base64>"}` lines, for each file;
 * 3. `{"event":{...}}` in append order;
 * 4. `{"end":{"events","blobs","sha256"}}`: counts, and the digest of all bytes before this line.
 */
import * as z from "zod";
import {
  ChatMessage,
  EVENT_DATA,
  type EventKind,
  isEventKind,
  type LedgerEvent,
} from "../../../shared/events.ts";
import { LIMITS } from "../../../shared/limits.ts";
import {
  Attachment,
  EventId,
  GroupSettings,
  label,
  list,
  NewActorId,
  ScopeKey,
  Sha256,
  StoredActor,
  text,
} from "../../../shared/model.ts";

export const EXPORT_FORMAT = "svc.group.export";
export const EXPORT_VERSION = 1;
/** Bytes of a file in one line. */
export const EXPORT_CHUNK_BYTES = 192 * 1024;
/**
 * The first line holds the Group with all its Actors, every other one an event or a chunk in
 * base64.
 */
export const EXPORT_HEADER_BYTES = 64 * 1024 * 1024;
export const EXPORT_LINE_BYTES = LIMITS.ledger.lineBytes + 1024;
/** An event is an operation's input at most, inside its own members. */
export const EXPORT_DEPTH = LIMITS.body.jsonDepth + 8;

const Generation = z.string().regex(/^[\w:.+-]{1,128}$/);
const ExportedActor = StoredActor.extend({
  id: NewActorId,
  title: label(LIMITS.actor.titleBytes),
  generation: Generation,
  command: z.array(text(LIMITS.actor.commandPartBytes)).max(LIMITS.actor.commandParts),
  scope_key: z.null(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

export const ExportHeader = z.strictObject({
  format: z.literal(EXPORT_FORMAT),
  v: z.literal(EXPORT_VERSION),
  product: z.string().max(64),
  exported_at: z.iso.datetime(),
  group: z.strictObject({
    group_id: z.string().max(64),
    title: label(LIMITS.group.titleBytes).min(1),
    topic: text(LIMITS.group.topicBytes),
    created_at: z.iso.datetime(),
    settings: GroupSettings,
    actors: list(ExportedActor, LIMITS.group.actors).refine(
      (actors) => new Set(actors.map(({ id }) => id.toLowerCase())).size === actors.length,
      "names an Actor twice",
    ),
  }),
});
export type ExportHeader = z.infer<typeof ExportHeader>;

export const BlobLine = z.strictObject({
  blob: z.strictObject({
    sha256: Sha256,
    bytes: z.int().min(0).max(LIMITS.attachment.uploadBytes),
  }),
});
export const ChunkLine = z.strictObject({ chunk: z.base64().max(EXPORT_CHUNK_BYTES * 2) });
export const EndLine = z.strictObject({
  end: z.strictObject({ events: z.int().min(0), blobs: z.int().min(0), sha256: Sha256 }),
});

const Name = text(LIMITS.ledger.authorBytes);
const Names = z.array(Name).max(LIMITS.message.recipients);
const Generations = z
  .record(Name, z.string().max(128))
  .refine((value) => Object.keys(value).length <= LIMITS.message.recipients, "names too many");
const Attachments = z
  .array(
    Attachment.extend({
      name: text(LIMITS.attachment.nameBytes),
      mime_type: text(LIMITS.attachment.mimeBytes),
    }).refine(({ path, sha256 }) => path === `state/blobs/${sha256}`, "names another file"),
  )
  .max(LIMITS.message.attachments);
const refs = z.array(z.looseObject({})).max(LIMITS.message.refs);

/**
 * Data by kind: known members must be as the daemon writes them, within the limits of what comes
 * from outside. Others may be there, and kinds that only a newer version knows.
 */
const EXPORTED: Readonly<Record<EventKind, z.ZodType>> = {
  ...EVENT_DATA,
  "chat.message": ChatMessage.extend({
    to: Names,
    to_generations: Generations,
    client_id: text(LIMITS.message.clientIdBytes).optional(),
    sender_title: text(LIMITS.connect.titleBytes),
    dst_to: Names.optional(),
    dst_to_generations: Generations.optional(),
    text: text(LIMITS.message.textBytes),
    insight: text(LIMITS.message.insightBytes).optional(),
    quote_text: text(LIMITS.message.quoteBytes).optional(),
    attachments: Attachments,
    refs,
  }),
  "chat.reply_request.cancelled": EVENT_DATA["chat.reply_request.cancelled"].extend({ recipients: Names }),
};

const Kind = z.string().regex(/^[a-z][a-z0-9_.]{0,63}$/);
const ExportedEvent = z
  .strictObject({
    v: z.literal(1),
    id: EventId,
    ts: z.iso.datetime({ precision: 3 }),
    kind: Kind,
    group_id: z.string().max(64),
    scope_key: z.union([z.literal(""), ScopeKey]),
    by: Name,
    data: z.looseObject({}),
  })
  .refine(
    ({ kind, data }) => !isEventKind(kind) || EXPORTED[kind].safeParse(data).success,
    "isn't an event of this version",
  );
export const EventLine = z.strictObject({
  // What the check proves is more than the schema's type says.
  event: ExportedEvent as z.ZodType as z.ZodType<LedgerEvent>,
});
