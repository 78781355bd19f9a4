/** A Group's record on disk. */
import * as z from "zod";
import type { GroupPaths } from "../../client/paths.ts";
import { JsonDocument } from "../../platform/documents.ts";
import type { Files } from "../../platform/files.ts";
import { StoredGroup } from "../../shared/model.ts";

/** Records from before generations existed read as `legacy:<created_at>` (MSG-018, MSG-021). */
function withGeneration(value: unknown): unknown {
  if (typeof value !== "object" || value === null || "generation" in value) return value;
  return { ...value, generation: `legacy:${"created_at" in value ? String(value.created_at) : ""}` };
}

function withGenerations(value: unknown): unknown {
  const group = withGeneration(value);
  if (typeof group !== "object" || group === null || !("actors" in group) || !Array.isArray(group.actors)) {
    return group;
  }
  return { ...group, actors: group.actors.map(withGeneration) };
}

const schema = z.preprocess(withGenerations, StoredGroup);

function options(files: Files, paths: GroupPaths) {
  return { files, path: paths.document, version: 1, schema };
}

/** Null when there is none; throws HomeProblem. */
export function readGroup(files: Files, paths: GroupPaths): Promise<JsonDocument<StoredGroup> | null> {
  return JsonDocument.read(options(files, paths));
}

/** Throws storage_full or storage_failed. */
export function createGroup(
  files: Files,
  paths: GroupPaths,
  record: StoredGroup,
): Promise<JsonDocument<StoredGroup>> {
  return JsonDocument.create(options(files, paths), record);
}
