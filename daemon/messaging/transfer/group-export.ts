/**
 * Operation `group_export`: writes ledger, Actors and files of a Group to one new file, without
 * secrets. Appends continue in the meantime.
 */
import { createHash } from "node:crypto";
import { basename, dirname, isAbsolute, join } from "node:path";
import { type Clock, timestamp } from "../../../platform/clock.ts";
import {
  errorCode,
  isStorageError,
  storageRefusal,
  syncDirectory,
  unlinkIfThere,
} from "../../../platform/durable.ts";
import type { Files } from "../../../platform/files.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { CallContext } from "../../../shared/operations/caller.ts";
import type { InputOf, ResultOf } from "../../../shared/operations/registry.ts";
import { PRODUCT_VERSION } from "../../../shared/version.ts";
import { type Chunks, type Written, writeNew } from "../files/file-streams.ts";
import { fileFindings } from "../files/referred-files.ts";
import type { Chats, GroupChat, MessagingDependencies } from "../group-chat.ts";
import { EXPORT_CHUNK_BYTES, EXPORT_FORMAT, EXPORT_VERSION, type ExportHeader } from "./transfer-format.ts";

const EVENTS_PER_READ = 256;
/** What a link fails with on a file system that has none, such as a memory card's. */
const WITHOUT_LINKS: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);
/**
 * Where exports are being written. A second one to the same place would remove the first one's
 * unfinished file.
 */
const underWay = new Set<string>();

/**
 * Only over the local socket. Leaves out attached files that are missing or damaged, and says so.
 * Throws invalid_path or already_exists, and file_damaged for one that changes meanwhile; a file
 * that couldn't be finished is removed.
 */
export async function exportGroup(
  chats: Chats,
  deps: MessagingDependencies,
  input: InputOf<"group_export">,
  { caller }: CallContext,
): Promise<ResultOf<"group_export">> {
  if (caller.kind !== "user" || caller.via !== "socket") throw new Refusal("permission_denied");
  const chat = chats.get(input.group_id);
  const { path } = input;
  if (!isAbsolute(path)) {
    throw new Refusal("invalid_path", {
      specifics: "The path must be absolute.",
      remedy: "Give the full path of a new file.",
      details: { field: "path" },
    });
  }
  if (deps.files.stat(path) !== null || underWay.has(path)) throw occupied(path);
  const counts = { events: 0, blobs: 0 };
  const end = chat.ledger.count;
  underWay.add(path);
  try {
    // An import would refuse the whole for one file that isn't what its name says.
    const damage = await damagedFiles(chat);
    const lines = encoded(chat, deps.clock, { counts, end, leftOut: damage.digests });
    const { bytes } = await writeWhole(deps.files, path, input.group_id, lines);
    return { path, bytes, ...counts, ...(damage.texts.length > 0 && { left_out: damage.texts }) };
  } catch (error) {
    if (error instanceof Refusal) throw error;
    if (isStorageError(error)) throw storageRefusal(error);
    if (errorCode(error) === undefined) throw error;
    throw new Refusal("invalid_path", {
      specifics: "The file can't be written there.",
      remedy: "Give a new file in an existing directory that you may write to.",
      cause: error,
    });
  } finally {
    underWay.delete(path);
  }
}

/** Files that an export can't have: their digests, and a sentence for each message with one. */
async function damagedFiles({
  ledger,
  blobs,
}: GroupChat): Promise<{ digests: Set<string>; texts: string[] }> {
  const findings = await fileFindings(ledger, blobs.checked, { again: true });
  const digests = new Set(findings.map(({ sha256 }) => sha256));
  const texts = findings.map(({ text }) => text);
  for (const sha256 of blobs.list()) {
    if (digests.has(sha256) || (await blobs.checked.look(sha256)) !== "damaged") continue;
    digests.add(sha256);
    texts.push(`The file ${sha256}, to which no event refers, is damaged.`);
  }
  return { digests, texts: texts.slice(0, LIMITS.ledger.problems) };
}

function occupied(path: string): Refusal {
  return new Refusal("already_exists", {
    specifics: "A file with that name already exists.",
    remedy: "Choose another name. Existing files aren't overwritten.",
    details: { path },
  });
}

/**
 * The file gets its name when it is complete. Removes what a crash left of an earlier attempt under
 * the other name.
 */
async function writeWhole(files: Files, path: string, groupId: string, chunks: Chunks): Promise<Written> {
  // Another Home may export to the same path: a Group is in one Home only.
  const place = createHash("sha256").update(basename(path)).digest("hex").slice(0, 16);
  const unfinished = join(dirname(path), `.${groupId}.${place}.svc-export`);
  unlinkIfThere(files, unfinished);
  const written = await writeNew(files, unfinished, chunks, LIMITS.body.importBytes);
  try {
    nameNew(files, unfinished, path);
  } catch (error) {
    unlinkIfThere(files, unfinished);
    throw errorCode(error) === "EEXIST" ? occupied(path) : error;
  }
  await syncDirectory(files, dirname(path));
  return written;
}

/** Another program may have used the name in the meantime. Only a link never replaces its file. */
function nameNew(files: Files, from: string, path: string): void {
  try {
    files.link(from, path);
  } catch (error) {
    if (!WITHOUT_LINKS.has(errorCode(error) ?? "")) throw error;
    if (files.stat(path) !== null) throw occupied(path);
    files.rename(from, path);
    return;
  }
  files.unlink(from);
}

async function* encoded(
  chat: GroupChat,
  clock: Clock,
  {
    counts,
    end,
    leftOut,
  }: { counts: { events: number; blobs: number }; end: number; leftOut: ReadonlySet<string> },
): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  const line = (value: unknown): Buffer => {
    const bytes = Buffer.from(`${JSON.stringify(value)}\n`);
    hash.update(bytes);
    return bytes;
  };
  yield line(headerOf(chat, clock));
  for (const sha256 of chat.blobs.list()) {
    if (leftOut.has(sha256)) continue;
    const { bytes, chunks } = chat.blobs.read(sha256);
    counts.blobs += 1;
    yield line({ blob: { sha256, bytes } });
    for await (const chunk of chunks) {
      for (let at = 0; at < chunk.length; at += EXPORT_CHUNK_BYTES) {
        const part = Buffer.from(
          chunk.buffer,
          chunk.byteOffset + at,
          Math.min(EXPORT_CHUNK_BYTES, chunk.length - at),
        );
        yield line({ chunk: part.toString("base64") });
      }
    }
  }
  for (let first = 0; first < end; first += EVENTS_PER_READ) {
    const length = Math.min(EVENTS_PER_READ, end - first);
    const events = chat.ledger.readMany(Array.from({ length }, (_, at) => first + at));
    counts.events += events.length;
    yield Buffer.concat(events.map((event) => line({ event })));
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  yield line({ end: { ...counts, sha256: hash.copy().digest("hex") } });
}

function headerOf(chat: GroupChat, clock: Clock): ExportHeader {
  const { group_id: groupId, title, topic, created_at: createdAt, settings, actors } = chat.group.record;
  return {
    format: EXPORT_FORMAT,
    v: EXPORT_VERSION,
    product: PRODUCT_VERSION,
    exported_at: timestamp(clock),
    group: {
      group_id: groupId,
      title,
      topic,
      created_at: createdAt,
      settings,
      // Scopes are directories of this machine.
      actors: actors.map(({ unconfirmed: _unconfirmed, ...actor }) => ({ ...actor, scope_key: null })),
    },
  };
}
