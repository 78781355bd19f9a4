/**
 * Operation `group_import`: creates a stopped Group from an export. The file may come from anyone,
 * so everything in it is checked. If anything is wrong, nothing is left, because the Group is built
 * in a directory that gets its name last. Its events are history: the Group's own events begin
 * after them (`MessageProjection.begin`), and its Actors are new ones with the same names
 * (MSG-015).
 */
import { createHash } from "node:crypto";
import { isAbsolute } from "node:path";
import type * as z from "zod";
import type { GroupPaths } from "../../../client/paths.ts";
import { timestamp } from "../../../platform/clock.ts";
import { exhaustedRefusal } from "../../../platform/durable.ts";
import type { OpenFile } from "../../../platform/files.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { CallContext } from "../../../shared/operations/caller.ts";
import type { InputOf, ResultOf } from "../../../shared/operations/registry.ts";
import { overSize } from "../../../shared/size-words.ts";
import { parseStrictJsonBytes } from "../../../shared/strict-json.ts";
import { hasOwnWords } from "../../groups/actors.ts";
import type { GroupRegistry } from "../../groups/registry.ts";
import { Ledger } from "../../ledger/ledger.ts";
import { ParsedHead } from "../../ledger/parsed-head.ts";
import type { NewEvent } from "../../ledger/types.ts";
import { BlobStore } from "../files/blobs.ts";
import { UploadQuota } from "../files/upload-quota.ts";
import type { MessagingDependencies } from "../group-chat.ts";
import { keyOf } from "../projection/message-keys.ts";
import { fileLines } from "./line-reader.ts";
import {
  BlobLine,
  ChunkLine,
  EndLine,
  EventLine,
  EXPORT_DEPTH,
  EXPORT_HEADER_BYTES,
  EXPORT_LINE_BYTES,
  ExportHeader,
} from "./transfer-format.ts";

const BATCH_EVENTS = 256;
const BATCH_BYTES = 512 * 1024;

function invalid(specifics: string, line: number): Refusal {
  return new Refusal("invalid_import", { specifics, details: { line } });
}

/** The parsed lines with their digests. Each line is looked at once and then released. */
class Lines {
  readonly #lines: AsyncGenerator<Buffer>;
  readonly #hash = createHash("sha256");
  #current: { value: unknown; bytes: Buffer } | null = null;
  /** Number of the line that `peek` gives, from 1. */
  number = 0;

  /** Of the file's first `bytes`: it may grow while it is read. */
  constructor(file: OpenFile, bytes: number) {
    this.#lines = fileLines(
      file,
      bytes,
      () => (this.number === 0 ? EXPORT_HEADER_BYTES : EXPORT_LINE_BYTES),
      () => invalid("A line is too long or incomplete.", this.number + 1),
    );
  }

  /** The next line; undefined at the end. */
  async peek(): Promise<unknown> {
    if (this.#current !== null) return this.#current.value;
    const next = await this.#lines.next();
    if (next.done === true) return undefined;
    this.number += 1;
    try {
      const value = parseStrictJsonBytes(next.value, EXPORT_DEPTH, LIMITS.body.importValues);
      this.#current = { value, bytes: next.value };
      return value;
    } catch {
      throw invalid("A line isn't valid JSON of an export.", this.number);
    }
  }

  /** The next line if it has this shape. If it has no member `name`, null, and the line stays. */
  async take<Schema extends z.ZodType>(schema: Schema, name: string): Promise<z.infer<Schema> | null> {
    const value = await this.peek();
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return null;
    const parsed = schema.safeParse(value);
    if (!parsed.success) throw invalid(`The member '${name}' isn't what this version writes.`, this.number);
    this.#hash.update(this.#current!.bytes).update("\n");
    this.#current = null;
    return parsed.data;
  }

  /** Digest of all lines taken so far. */
  digest(): string {
    return this.#hash.copy().digest("hex");
  }
}

/**
 * Only over the local socket. Throws invalid_path, invalid_import, too_large, limit_reached,
 * storage_full or storage_failed.
 */
export async function importGroup(
  registry: GroupRegistry,
  deps: MessagingDependencies,
  input: InputOf<"group_import">,
  { caller }: CallContext,
): Promise<ResultOf<"group_import">> {
  if (caller.kind !== "user" || caller.via !== "socket") throw new Refusal("permission_denied");
  const file = openExport(deps, input.path);
  try {
    const limit = LIMITS.body.importBytes;
    const size = file.size();
    if (size > limit) {
      throw new Refusal("too_large", { specifics: overSize("The file", size, limit), details: { limit } });
    }
    const lines = new Lines(file, size);
    const header = await lines.take(ExportHeader, "format");
    if (header === null) throw invalid("It doesn't begin with a header.", 1);
    const { topic, created_at: createdAt } = header.group;
    const title = input.title ?? header.group.title;
    // Programs that the file names start only when a person starts them.
    const settings = { ...header.group.settings, start_actors: false };
    const now = timestamp(deps.clock);
    const actors = header.group.actors.map(({ unconfirmed: _unconfirmed, ...actor }) => ({
      ...actor,
      // A person chooses these here, not the file.
      answerable: false,
      ...(hasOwnWords(actor) ? { unconfirmed: true as const } : {}),
      generation: deps.random.uuid(),
      created_at: now,
      updated_at: now,
    }));
    const counts = { events: 0, blobs: 0 };
    const group = await registry.create({
      title,
      topic,
      by: "user",
      record: { state: "stopped", settings, actors, created_at: createdAt },
      prepare: async (groupId, paths) => {
        counts.blobs = await importBlobs(lines, deps, paths);
        const ledger = await Ledger.open(deps, paths.ledger, { group_id: groupId, projections: [], keyOf });
        try {
          await importEvents(lines, ledger);
          counts.events = ledger.count;
          await checkEnd(lines, counts);
          await ledger.append({ kind: "group.create", scope_key: "", by: "user", data: { title } });
        } finally {
          await ledger.close();
        }
      },
    });
    return { group: group.view(), ...counts };
  } finally {
    file.close();
  }
}

function openExport(deps: MessagingDependencies, path: string): OpenFile {
  const canonical = isAbsolute(path) ? deps.projects.canonical(path) : null;
  const status = canonical === null ? null : deps.files.stat(canonical);
  if (canonical === null || status?.kind !== "file") {
    throw new Refusal("invalid_path", {
      specifics: "There is no such file.",
      remedy: "Give the full path of a file that 'svc group export' wrote.",
      details: { field: "path" },
    });
  }
  try {
    return deps.files.open(canonical, "read");
  } catch (error) {
    const exhausted = exhaustedRefusal(error);
    if (exhausted !== null) throw exhausted;
    throw new Refusal("invalid_path", {
      specifics: "The file can't be read.",
      remedy: "Check its owner and permissions.",
      cause: error,
    });
  }
}

async function importBlobs(lines: Lines, deps: MessagingDependencies, paths: GroupPaths): Promise<number> {
  const store = new BlobStore(deps, paths.blobs, new UploadQuota().group());
  const digests = new Set<string>();
  for (;;) {
    const line = await lines.take(BlobLine, "blob");
    if (line === null) break;
    const { sha256, bytes } = line.blob;
    if (digests.has(sha256)) throw invalid("A file appears twice.", lines.number);
    const written = await store.add(blobChunks(lines, bytes));
    if (written.sha256 !== sha256) throw invalid("A file's digest is wrong.", lines.number);
    digests.add(sha256);
  }
  return digests.size;
}

async function* blobChunks(lines: Lines, bytes: number): AsyncGenerator<Uint8Array> {
  let left = bytes;
  while (left > 0) {
    const line = await lines.take(ChunkLine, "chunk");
    if (line === null) throw invalid("A file is cut short.", lines.number);
    const chunk = Buffer.from(line.chunk, "base64");
    if (chunk.length === 0 || chunk.length > left) throw invalid("A file's size is wrong.", lines.number);
    left -= chunk.length;
    yield chunk;
  }
}

/** Throws invalid_import, or what a disk does. */
async function importEvents(lines: Lines, ledger: Ledger): Promise<void> {
  let batch: NewEvent[] = [];
  let batchIds = new Set<string>();
  let batchBytes = 0;
  const keys = new ImportedKeys(ledger);
  const flush = async (): Promise<void> => {
    await ledger.appendAll(batch);
    keys.flushed();
    batch = [];
    batchIds = new Set();
    batchBytes = 0;
  };
  for (;;) {
    const line = await lines.take(EventLine, "event");
    if (line === null) break;
    const { id } = line.event;
    if (batchIds.has(id) || ledger.ordinalOf(id) !== undefined) {
      throw invalid("An event appears twice.", lines.number);
    }
    const bytes = Buffer.byteLength(JSON.stringify(line.event));
    if (bytes > LIMITS.ledger.lineBytes - 1024) throw invalid("An event is too large.", lines.number);
    if (batch.length === BATCH_EVENTS || batchBytes + bytes > BATCH_BYTES) await flush();
    const key = keyOf(new ParsedHead(line.event));
    if (key !== undefined && !keys.take(key))
      throw invalid("Too many events have the same key.", lines.number);
    batch.push({ ...line.event, key });
    batchIds.add(id);
    batchBytes += bytes;
  }
  await flush();
}

/** Idempotency keys seen so far. The ledger's index is made for keys that hardly ever repeat. */
class ImportedKeys {
  readonly #ledger: Ledger;
  /** Not in the ledger yet. */
  readonly #batch = new Set<string>();
  /** The counts of keys that came more than once. */
  readonly #repeated = new Map<string, number>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** False when the key came too often. */
  take(key: string): boolean {
    const times = this.#repeated.get(key) ?? (this.#isKnown(key) ? 1 : 0);
    if (times === 0) this.#batch.add(key);
    else this.#repeated.set(key, times + 1);
    return times < LIMITS.ledger.importedPerKey;
  }

  /** Everything taken so far is in the ledger. */
  flushed(): void {
    this.#batch.clear();
  }

  #isKnown(key: string): boolean {
    return this.#batch.has(key) || this.#ledger.byKey(key) !== undefined;
  }
}

async function checkEnd(lines: Lines, counts: { events: number; blobs: number }): Promise<void> {
  const sha256 = lines.digest();
  const line = await lines.take(EndLine, "end");
  if (line === null) throw invalid("It is incomplete.", lines.number);
  const { end } = line;
  if (end.events !== counts.events || end.blobs !== counts.blobs || end.sha256 !== sha256) {
    throw invalid("Its last line doesn't match the rest.", lines.number);
  }
  if ((await lines.peek()) !== undefined) throw invalid("There is data after its last line.", lines.number);
}
