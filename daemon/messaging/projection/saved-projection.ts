/**
 * What a checkpoint of the projection holds. Bytes of another shape, such as another build's, don't
 * count as a checkpoint.
 */
import * as z from "zod";

const Ordinal = z.int().min(-1);
const Owed = z.tuple([z.string(), z.string(), z.boolean()]);

const SavedQueue = z.tuple([
  /** Actor and generation. */
  z.string(),
  z.string(),
  /** The last Mail that was read, its ordinal, and up to where Mail has its notice. */
  z.string().nullable(),
  Ordinal,
  Ordinal,
  /** Backlogs of Mail and of what is pending. */
  z.string(),
  z.string(),
  /** Returned, claimed, and notices. */
  z.array(z.tuple([z.string(), Ordinal, z.boolean()])),
  z.array(z.tuple([z.string(), Ordinal, z.string(), z.boolean(), z.boolean()])),
  z.array(z.tuple([z.string(), Ordinal, z.string(), Ordinal.nullable()])),
]);
export type SavedQueue = z.infer<typeof SavedQueue>;

const SavedObligation = z.tuple([
  z.string(),
  Ordinal,
  z.string(),
  /** Who asked, in its generation. */
  z.string(),
  z.string(),
  z.array(Owed),
]);
export type SavedObligation = z.infer<typeof SavedObligation>;

export const SavedProjection = z.strictObject({
  begin: Ordinal,
  queues: z.array(SavedQueue),
  ended: z.array(z.tuple([z.string(), Ordinal])),
  obligations: z.array(SavedObligation),
  halfDone: z.array(z.tuple([z.string(), Ordinal])),
  /** What the person got, and how much of it they have read. */
  toPerson: z.string(),
  personRead: z.int().min(0),
  personCursor: Ordinal,
  lastOrdinal: Ordinal,
});
