/** Operation `file_fetch`: an attachment's details, its text when it is small, and a copy in the project directory on request. */
import { isUtf8 } from "node:buffer";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { Attachment } from "../../shared/model.ts";
import type { CallContext } from "../../shared/operations/caller.ts";
import type { InputOf, ResultOf } from "../../shared/operations/registry.ts";
import { createInScope } from "../groups/scopes.ts";
import type { ProjectFiles } from "../platform/project-files.ts";
import { pour } from "./file-streams.ts";
import type { GroupRoom, Rooms } from "./group-room.ts";

const NAME_BYTES = 200;
/** Separators, what Windows forbids, control characters and those that hide or turn text. */
const UNSAFE =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u001f\u007f-\u009f<>:"/\\|?*\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/** A base name that is a plain file's on every system: no separators, no hidden or reserved names, at most 200 bytes. */
export function safeName(name: string): string {
  let safe = name
    .toWellFormed()
    .replace(UNSAFE, "_")
    .replace(/^[. ]+|[. ]+$/gu, "");
  if (DEVICE.test(safe)) safe = `_${safe}`;
  // Cutting may leave half a character, which `toWellFormed` replaces.
  while (Buffer.byteLength(safe) > NAME_BYTES) safe = safe.slice(0, -1).toWellFormed();
  return safe === "" ? "file" : safe;
}

/** Throws event_not_found, blob_not_found, invalid_path, scope_not_attached or already_exists; an existing file is never overwritten. */
export async function fetchFile(
  rooms: Rooms,
  projects: ProjectFiles,
  input: InputOf<"file_fetch">,
  { caller }: CallContext,
): Promise<ResultOf<"file_fetch">> {
  const room = rooms.get(input.group_id);
  room.author(caller);
  const { event } = room.visible(caller, input.event_id);
  const attachments = Array.isArray(event.data.attachments) ? (event.data.attachments as Attachment[]) : [];
  const attachment =
    input.sha256 === undefined ? attachments[0] : attachments.find(({ sha256 }) => sha256 === input.sha256);
  if (attachment === undefined) throw new Refusal("blob_not_found");
  const saved_to = input.save_to === undefined ? null : await save(room, projects, attachment, input.save_to);
  return { attachment, text: await smallText(room, attachment), saved_to };
}

async function save(
  room: GroupRoom,
  projects: ProjectFiles,
  attachment: Attachment,
  save_to: string,
): Promise<string> {
  const reading = room.blobs.read(attachment.sha256);
  const path = /[/\\]$/.test(save_to) ? `${save_to}${safeName(attachment.name)}` : save_to;
  const created = createInScope(projects, room.group.record.scopes, path);
  try {
    await pour(created.file, reading.chunks, LIMITS.attachment.uploadBytes);
  } catch (error) {
    // The name stays taken, but by nothing that could pass for the file.
    created.file.truncate(0);
    throw error;
  } finally {
    created.file.close();
  }
  return created.path;
}

async function smallText(room: GroupRoom, { sha256, bytes }: Attachment): Promise<string | null> {
  if (bytes > LIMITS.message.textBytes) return null;
  const parts: Uint8Array[] = [];
  for await (const chunk of room.blobs.read(sha256).chunks) parts.push(chunk);
  const whole = Buffer.concat(parts);
  return isUtf8(whole) && !whole.includes(0) ? whole.toString() : null;
}
