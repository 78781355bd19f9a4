/**
 * A Group's reset: removes history and files, and keeps Actors with their tokens and private
 * environments, settings and scopes. The marker on disk is the commit. The steps after it can be
 * repeated until they are done, also by the next start.
 */
import { join } from "node:path";
import * as z from "zod";
import type { GroupPaths } from "../../client/paths.ts";
import { JsonDocument } from "../../platform/documents.ts";
import { removeTree, syncDirectory, unlinkIfThere } from "../../platform/durable.ts";
import type { Files } from "../../platform/files.ts";
import { readGroup } from "./stored-group.ts";

const ResetMarker = z.strictObject({
  v: z.literal(1),
  /** The Group's new generation. */
  generation: z.string().min(1).max(128),
  updated_at: z.string(),
  /** Who requested it. */
  by: z.string().optional(),
  /** All is removed; only the event that says so may be missing. */
  cleared: z.literal(true).optional(),
});
export type ResetMarker = z.infer<typeof ResetMarker>;

function options(files: Files, paths: GroupPaths) {
  return { files, path: paths.resetMarker, version: 1, schema: ResetMarker };
}

/** From here on the reset will happen. */
export async function commitReset(files: Files, paths: GroupPaths, marker: ResetMarker): Promise<void> {
  await JsonDocument.create(options(files, paths), marker);
}

/**
 * Clears what a committed reset removes, and returns who requested it. Does nothing without one.
 * The marker stays until `endReset`: an empty ledger without it is one that lost its events. The
 * ledger must be closed.
 */
export async function finishReset(files: Files, paths: GroupPaths): Promise<{ by: string } | null> {
  const marker = await JsonDocument.read(options(files, paths));
  if (marker === null) return null;
  const { generation, updated_at: updatedAt, by = "user", cleared } = marker.value;
  if (cleared === true) return { by };
  const kept = new Set([paths.document, paths.resetMarker, paths.tokens, paths.privateEnvironment]);
  for (const name of files.list(paths.root)) {
    const path = join(paths.root, name);
    if (!kept.has(path)) await removeTree(files, path);
  }
  const document = await readGroup(files, paths);
  await document?.update((record) => ({ ...record, generation, updated_at: updatedAt }));
  // The marker must stay until the reset is complete.
  await syncDirectory(files, paths.root);
  await marker.update((value) => ({ ...value, cleared: true }));
  return { by };
}

/** The event of the reset is recorded. */
export async function endReset(files: Files, paths: GroupPaths): Promise<void> {
  unlinkIfThere(files, paths.resetMarker);
  await syncDirectory(files, paths.root);
}
