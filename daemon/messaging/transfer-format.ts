/**
 * The file of a Group export: lines of JSON, so that both sides stream it and people can look into it.
 *
 * 1. `{"format":"svc.group.export","v":1,"product","exported_at","group":{...}}`: the Group without machine paths, tokens or private values;
 * 2. `{"blob":{"sha256","bytes"}}` followed by its `{"chunk":"<base64>"}` lines, for each file;
 * 3. `{"event":{...}}` in append order;
 * 4. `{"end":{"events","blobs","sha256"}}`: counts, and the digest of all bytes before this line.
 */
import * as z from "zod";
import { LedgerEventSchema } from "../../shared/events.ts";
import { LIMITS } from "../../shared/limits.ts";
import {
  Attachment,
  EventId,
  GroupSettings,
  label,
  NewActorId,
  Sha256,
  StoredActor,
  text,
} from "../../shared/model.ts";

export const EXPORT_FORMAT = "svc.group.export";
export const EXPORT_VERSION = 1;
/** Bytes of a file in one line. */
export const EXPORT_CHUNK_BYTES = 192 * 1024;
/** A line holds an event, or a chunk in base64, or the Group with all its Actors. */
export const EXPORT_LINE_BYTES = 64 * 1024 * 1024;

const Generation = z.string().regex(/^[\w:.+-]{1,128}$/);
const ExportedActor = StoredActor.extend({
  id: NewActorId,
  title: label(LIMITS.actor.titleBytes),
  generation: Generation,
  command: z.array(text(LIMITS.actor.commandPartBytes)).max(LIMITS.actor.commandParts),
  scope_key: z.null(),
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
    actors: z
      .array(ExportedActor)
      .max(LIMITS.group.actors)
      .refine(
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

/** Members that name files must be exactly what the daemon writes; others may be unknown. */
const ExportedMessage = z.looseObject({
  attachments: z
    .array(Attachment.refine(({ path, sha256 }) => path === `state/blobs/${sha256}`, "names another file"))
    .max(LIMITS.message.attachments)
    .optional(),
});
const Kind = z.string().regex(/^[a-z][a-z0-9_.]{0,63}$/);
export const EventLine = z.strictObject({
  event: LedgerEventSchema.refine(
    ({ id, kind, ts, data }) =>
      EventId.safeParse(id).success &&
      Kind.safeParse(kind).success &&
      z.iso.datetime().safeParse(ts).success &&
      (kind !== "chat.message" || ExportedMessage.safeParse(data).success),
    "isn't an event of this version",
  ),
});
