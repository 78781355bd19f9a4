/**
 * The last Mail that an Actor's session got, in `cursors/`, so that it is marked as redelivered
 * even after a restart. The ledger says what was read. Nothing else depends on this projection, so
 * it isn't synced, and an unreadable file counts as none.
 */
import { join } from "node:path";
import * as z from "zod";
import type { Files } from "../../../platform/files.ts";
import { EventId, type StoredActor } from "../../../shared/model.ts";

const MailMark = z.strictObject({ v: z.literal(1), generation: z.string(), handed_out: EventId });
const BYTES_MAX = 4096;

type Whose = Pick<StoredActor, "id" | "generation">;

/** The event's id; null for none of this generation. */
export function readMailMark(files: Files, directory: string, actor: Whose): string | null {
  try {
    const file = files.open(join(directory, `${actor.id}.json`), "read");
    try {
      const bytes = Buffer.alloc(Math.min(file.size(), BYTES_MAX));
      const read = file.read(bytes, 0);
      const mark = MailMark.parse(JSON.parse(bytes.toString("utf8", 0, read)));
      return mark.generation === actor.generation ? mark.handed_out : null;
    } finally {
      file.close();
    }
  } catch {
    return null;
  }
}

/** Throws Node's errors. */
export function writeMailMark(files: Files, directory: string, actor: Whose, handedOut: string): void {
  const path = join(directory, `${actor.id}.json`);
  // The next mark takes over what a crash leaves under this name.
  const written = join(directory, `.${actor.id}.json.tmp`);
  if (files.stat(directory) === null) files.mkdir(directory);
  if (files.stat(written) !== null) files.unlink(written);
  const file = files.open(written, "create");
  try {
    file.write(Buffer.from(JSON.stringify({ v: 1, generation: actor.generation, handed_out: handedOut })), 0);
  } finally {
    file.close();
  }
  files.rename(written, path);
}
