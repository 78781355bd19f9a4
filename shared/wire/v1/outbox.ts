/**
 * A record of the outbox on disk (docs/protocol.md#daemon-files): the work, its preallocated source
 * event, and its progress.
 */
import * as z from "zod";
import { SourceEventSchema } from "../../events.ts";
import { ConnectCancellation, ConnectMessage } from "./message.ts";
import { Time } from "./time.ts";

export const OutboxWork = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("message"), data: ConnectMessage }),
  z.strictObject({ kind: z.literal("cancel"), data: ConnectCancellation }),
]);

/** What may change while the work stays the same. */
export const OutboxProgress = z.strictObject({
  /** The source event is in the source Group's ledger. */
  source_projected: z.boolean(),
  attempts: z.int().min(0),
  /** A POST may have reached the target: ask for a receipt before the next one. */
  needs_receipt: z.boolean(),
  next_attempt_at: Time.nullable(),
  last_error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
});

export const OutboxRecord = z.strictObject({
  work: OutboxWork,
  source_event: SourceEventSchema,
  progress: OutboxProgress,
});

export type OutboxWork = z.infer<typeof OutboxWork>;
export type OutboxProgress = z.infer<typeof OutboxProgress>;
export type OutboxRecord = z.infer<typeof OutboxRecord>;
