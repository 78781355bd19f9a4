/** What a message carries. Checked before anything is written. */

import { isAbsolute, parse, sep } from "node:path";
import { exhaustedRefusal } from "../../../platform/durable.ts";
import type { OpenFile } from "../../../platform/files.ts";
import type { ProjectFiles } from "../../../platform/project-files.ts";
import { Refusal } from "../../../shared/errors.ts";
import { quotedName } from "../../../shared/foreign-text.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { Attachment } from "../../../shared/model.ts";
import type { Caller } from "../../../shared/operations/caller.ts";
import { overSize } from "../../../shared/size-words.ts";
import { openInScope } from "../../groups/scopes.ts";
import { describeAttachment, missing } from "../files/blobs.ts";
import { fileChunks } from "../files/file-streams.ts";
import type { GroupChat } from "../group-chat.ts";
import type { Said } from "./message-event.ts";

const PATH_SHOWN = 256;

/** Whether attachments have to be looked at before the message can be appended. */
export function carriesFiles(said: Said): boolean {
  return said.attachments.length > 0 || said.paths.length > 0;
}

/** Text, insight and references. Throws invalid_args or invalid_insight. */
export function checkBody(said: Said): void {
  if (said.text.trim() === "" && !carriesFiles(said)) {
    throw new Refusal("invalid_args", {
      specifics: "The message has neither text nor files.",
      details: { field: "text" },
    });
  }
  if (said.insight !== undefined && said.insight.trim() === "") throw new Refusal("invalid_insight");
  for (const [at, ref] of said.refs.entries()) {
    if (Buffer.byteLength(JSON.stringify(ref)) <= LIMITS.message.refBytes) continue;
    throw new Refusal("invalid_args", {
      specifics: "A reference is too large.",
      details: { field: `refs[${at}]`, limit: LIMITS.message.refBytes },
    });
  }
}

/** What a way of sending requires of its files. */
export interface FileRules {
  /** All files together. At most one byte more is ever read. */
  totalBytes?: number;
  /** Paths must be in the caller's own project, whoever the caller is (MSG-062). */
  projectOnly?: boolean;
}

/**
 * Uploads that are here and files at paths, streamed in, for the message that `append` writes.
 * Throws invalid_attachments, invalid_path, scope_not_attached, too_large, storage_full or
 * storage_failed, or what `append` throws; and then the files wait and are removed with other
 * orphans.
 */
export async function withAttachments<Result>(
  chat: GroupChat,
  projects: ProjectFiles,
  said: Said,
  caller: Caller,
  append: (attachments: Attachment[]) => Promise<Result>,
  rules: FileRules = {},
): Promise<Result> {
  if (!carriesFiles(said)) return append([]);
  const { count } = chat.ledger;
  const attachments = await gather(chat, projects, said, caller, count, rules);
  const digests = attachments.map(({ sha256 }) => sha256);
  return chat.blobs.send(digests, count, () => append(attachments));
}

/** Throws invalid_attachments for a file that no message carries. */
export function checkFileSize(name: string, bytes: number): void {
  const limit = LIMITS.attachment.uploadBytes;
  if (bytes <= limit) return;
  throw new Refusal("invalid_attachments", {
    specifics: overSize(`'${quotedName(name, PATH_SHOWN)}'`, bytes, limit),
    details: { name, limit },
  });
}

async function gather(
  chat: GroupChat,
  projects: ProjectFiles,
  said: Said,
  caller: Caller,
  sentFrom: number,
  { totalBytes = Number.POSITIVE_INFINITY, projectOnly = false }: FileRules,
): Promise<Attachment[]> {
  const { attachments: limit } = LIMITS.message;
  if (said.attachments.length + said.paths.length > limit) {
    const count = said.attachments.length + said.paths.length;
    throw new Refusal("invalid_attachments", {
      specifics: `There are ${count} files; the limit is ${limit}.`,
      details: { limit },
    });
  }
  const gathered = said.attachments.map((upload) => {
    const bytes = chat.blobs.bytesOf(upload.sha256);
    if (bytes === null) throw missing(upload.sha256);
    return describeAttachment({ sha256: upload.sha256, bytes }, upload);
  });
  let left = totalBytes - gathered.reduce((sum, { bytes }) => sum + bytes, 0);
  const check = (bytes: number): void => {
    if (bytes <= left) return;
    throw new Refusal("invalid_attachments", {
      specifics: overSize("All files together", totalBytes - left + bytes, totalBytes),
      details: { limit: totalBytes },
    });
  };
  check(0);
  const opened: { file: OpenFile; name: string }[] = [];
  try {
    for (const path of said.paths) opened.push(openPath(chat, projects, path, caller, projectOnly));
    check(opened.reduce((sum, { file }) => sum + file.size(), 0));
    for (const { file, name } of opened) checkFileSize(shownName(name), file.size());
    for (const { file, name } of opened) {
      // A file may grow in the meantime.
      const end = Number.isFinite(left) ? left + 1 : undefined;
      const blob = await chat.blobs.take(fileChunks(file, 0, end, { shared: true }), sentFrom);
      check(blob.bytes);
      left -= blob.bytes;
      gathered.push(describeAttachment(blob, { name: shownName(name), mime_type: mimeType(name) }));
    }
  } finally {
    for (const { file } of opened) file.close();
  }
  return gathered;
}

/**
 * The user at this machine may attach any regular file, an Actor only those in the attached scopes,
 * a browser none.
 */
function openPath(
  chat: GroupChat,
  projects: ProjectFiles,
  path: string,
  caller: Caller,
  projectOnly: boolean,
): { file: OpenFile; name: string } {
  if (caller.kind === "actor" || projectOnly) {
    const { scopes, base } = chat.reach(caller);
    return openInScope(
      projects,
      { scopes: projectOnly ? [base].filter((one) => one !== null) : scopes, base },
      path,
    );
  }
  checkNamesFiles(caller);
  const canonical = isAbsolute(path) ? projects.canonical(path) : null;
  if (canonical === null) throw notThere(path);
  const { root } = parse(canonical);
  const components = canonical.slice(root.length).split(sep);
  try {
    return { file: projects.openBelow(root, components, "read"), name: components.at(-1) ?? "" };
  } catch (error) {
    const exhausted = exhaustedRefusal(error);
    if (exhausted !== null) throw exhausted;
    throw new Refusal("invalid_path", {
      specifics: `'${shownPath(path)}' isn't a regular file that the daemon can read.`,
      remedy: "Give a file that you may read, not a directory.",
      cause: error,
    });
  }
}

/** Throws invalid_path unless the caller is an Actor or the user at this machine. */
export function checkNamesFiles(caller: Caller): void {
  if (caller.kind === "actor" || (caller.kind === "user" && caller.via === "socket")) return;
  throw new Refusal("invalid_path", {
    specifics: "A browser can't name files on the daemon's machine.",
  });
}

/** For the person, whose files may be anywhere. */
function notThere(path: string): Refusal {
  return new Refusal("invalid_path", {
    specifics: `There is no file '${shownPath(path)}'.`,
    remedy: isAbsolute(path) ? "Check its name." : "Give its full path.",
  });
}

function shownPath(path: string): string {
  const shown = path.toWellFormed();
  return quotedName(shown.length > PATH_SHOWN ? `…${shown.slice(1 - PATH_SHOWN)}` : shown, PATH_SHOWN);
}

/** A name as stored: well-formed and within its limit. */
function shownName(name: string): string {
  return name.toWellFormed().slice(0, LIMITS.attachment.nameBytes / 4);
}

const MIME_TYPES: Readonly<Record<string, string>> = {
  csv: "text/csv",
  gif: "image/gif",
  html: "text/html",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  json: "application/json",
  md: "text/markdown",
  pdf: "application/pdf",
  png: "image/png",
  svg: "image/svg+xml",
  txt: "text/plain",
  webp: "image/webp",
  zip: "application/zip",
};

function mimeType(name: string): string {
  const extension = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  return Object.hasOwn(MIME_TYPES, extension) ? MIME_TYPES[extension]! : "application/octet-stream";
}
