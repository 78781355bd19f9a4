/**
 * Operation `file_fetch`: an attachment's details, its text when it is small, and a copy in the
 * project directory on request.
 */
import { isUtf8 } from "node:buffer";
import type { ProjectFiles } from "../../../platform/project-files.ts";
import { Refusal } from "../../../shared/errors.ts";
import { safeName } from "../../../shared/file-name.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { Attachment } from "../../../shared/model.ts";
import type { CallContext } from "../../../shared/operations/caller.ts";
import type { InputOf, ResultOf } from "../../../shared/operations/registry.ts";
import { createInScope, type Reach } from "../../groups/scopes.ts";
import type { Chats, GroupChat } from "../group-chat.ts";
import { pour } from "./file-streams.ts";

/**
 * Throws event_not_found, blob_not_found, file_damaged, invalid_path, scope_not_attached or
 * already_exists; an existing file is never overwritten.
 */
export async function fetchFile(
  chats: Chats,
  projects: ProjectFiles,
  input: InputOf<"file_fetch">,
  { caller }: CallContext,
): Promise<ResultOf<"file_fetch">> {
  const chat = chats.get(input.group_id);
  chat.author(caller);
  const { event } = chat.visible(caller, input.event_id);
  const attachments = event.kind === "chat.message" ? event.data.attachments : [];
  const attachment =
    input.sha256 === undefined ? attachments[0] : attachments.find(({ sha256 }) => sha256 === input.sha256);
  if (attachment === undefined) throw withoutFile(attachments, input.event_id);
  // Before a name is taken in the project.
  await chat.blobs.checked.check(attachment.sha256);
  const savedTo =
    input.save_to === undefined
      ? null
      : await save(chat, projects, attachment, { path: input.save_to, reach: chat.reach(caller) });
  return { attachment, text: await smallText(chat, attachment), saved_to: savedTo };
}

function withoutFile(attachments: readonly Attachment[], eventId: string): Refusal {
  return attachments.length === 0
    ? new Refusal("blob_not_found", {
        specifics: "The message has no files.",
        remedy: "Give a message that has files.",
        details: { event_id: eventId },
      })
    : new Refusal("blob_not_found", {
        specifics: "The message has no file with this SHA-256.",
        remedy: `It has ${attachments.map(({ name, sha256 }) => `${safeName(name)} (${sha256})`).join(", ")}.`,
        details: { event_id: eventId },
      });
}

async function save(
  chat: GroupChat,
  projects: ProjectFiles,
  attachment: Attachment,
  { path: saveTo, reach }: { path: string; reach: Reach },
): Promise<string> {
  const reading = chat.blobs.read(attachment.sha256);
  const path = /[/\\]$/.test(saveTo) ? `${saveTo}${safeName(attachment.name)}` : saveTo;
  const created = createInScope(projects, reach, path);
  try {
    await pour(created.file, reading.chunks, LIMITS.attachment.uploadBytes);
  } catch (error) {
    // The name stays taken, but nothing under it could pass for the file.
    created.file.truncate(0);
    throw error;
  } finally {
    created.file.close();
  }
  return created.path;
}

/** The file itself decides whether it is small. Throws blob_not_found. */
async function smallText(chat: GroupChat, { sha256 }: Attachment): Promise<string | null> {
  const { bytes, chunks } = chat.blobs.read(sha256);
  if (bytes > LIMITS.message.textBytes) return null;
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  const whole = Buffer.concat(parts);
  return isUtf8(whole) && !whole.includes(0) ? whole.toString() : null;
}
