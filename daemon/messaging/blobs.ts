/**
 * Attached files of a Group: content-addressed, streamed to disk and back, never whole in memory (core-model.md, "Messages").
 * An upload lies in `uploads/` until a message refers to it; the message moves it beside the others before its own append. So whatever is
 * left in `uploads/` is an orphan, and goes after a day. In messages the files are named `state/blobs/<sha256>`.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { Attachment } from "../../shared/model.ts";
import { ensureDirectory, storageRefusal, syncDirectory, unlinkIfThere } from "../home/durable.ts";
import type { Clock } from "../platform/clock.ts";
import type { Files, OpenFile } from "../platform/files.ts";
import type { Random } from "../platform/random.ts";

/** A piece of a file; `start` and `end` (exclusive) are byte positions in the whole of `bytes`. */
export interface BlobReading {
  bytes: number;
  start: number;
  end: number;
  /** Chunks of at most 256 KiB; the file is open from the first one until the iteration ends or is left. */
  chunks: AsyncIterable<Uint8Array>;
}

const CHUNK_BYTES = 256 * 1024;
const UPLOADS = "uploads";
const PARTIAL = ".partial-";
const DIGEST = /^[0-9a-f]{64}$/;
const HOUR_MS = 3_600_000;

/** Gives other work its turn between chunks. */
function breathe(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** The bytes of an open file from `start` to before `end`; closes it. */
export async function* fileChunks(
  file: OpenFile,
  start = 0,
  end = Number.POSITIVE_INFINITY,
): AsyncGenerator<Uint8Array> {
  try {
    let position = start;
    while (position < end) {
      const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, end - position));
      const got = file.read(buffer, position);
      if (got === 0) return;
      position += got;
      yield buffer.subarray(0, got);
      await breathe();
    }
  } finally {
    file.close();
  }
}

/** Writes a stream into a new file and makes it durable; nothing stays when it fails. Says what was written. */
export async function writeNew(
  files: Files,
  path: string,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  limit: number,
): Promise<{ bytes: number; sha256: string }> {
  const file = files.open(path, "create");
  try {
    const written = await pour(file, chunks, limit);
    file.close();
    return written;
  } catch (error) {
    file.close();
    unlinkIfThere(files, path);
    throw error;
  }
}

/** Writes a stream into an open, empty file and syncs it. Throws too_large behind `limit` bytes. */
export async function pour(
  file: OpenFile,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  limit: number,
): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of chunks) {
    if (bytes + chunk.length > limit) throw new Refusal("too_large", { details: { limit } });
    file.write(chunk, bytes);
    hash.update(chunk);
    bytes += chunk.length;
  }
  await new Promise<void>((resolve, reject) => {
    file.sync((error) => (error === null ? resolve() : reject(error)));
  });
  return { bytes, sha256: hash.digest("hex") };
}

export interface BlobDependencies {
  files: Files;
  clock: Clock;
  random: Random;
}

export class BlobStore {
  readonly #deps: BlobDependencies;
  readonly #directory: string;
  readonly #uploads: string;

  /** `directory` need not exist yet. */
  constructor(deps: BlobDependencies, directory: string) {
    this.#deps = deps;
    this.#directory = directory;
    this.#uploads = join(directory, UPLOADS);
  }

  /** Size of a file by its digest, kept or uploaded; null when there is none. */
  bytesOf(sha256: string): number | null {
    return this.#locate(sha256)?.bytes ?? null;
  }

  /** Digests of the files that messages refer to. */
  list(): string[] {
    if (this.#deps.files.stat(this.#directory) === null) return [];
    return this.#deps.files
      .list(this.#directory)
      .filter((name) => DIGEST.test(name))
      .sort();
  }

  /**
   * Streams a file in; it stays an upload until `keep`. Throws too_large, storage_full or storage_failed, or what the stream threw; nothing
   * is left then.
   */
  async write(chunks: AsyncIterable<Uint8Array>): Promise<{ bytes: number; sha256: string }> {
    const { files, random } = this.#deps;
    try {
      await ensureDirectory(files, this.#directory);
      await ensureDirectory(files, this.#uploads);
      const partial = join(this.#uploads, `${PARTIAL}${random.uuid()}`);
      const written = await writeNew(files, partial, chunks, LIMITS.attachment.uploadBytes);
      if (this.#kept(written.sha256) !== null) files.unlink(partial);
      else {
        // Over an older upload of the same bytes, whose time to live begins anew.
        files.rename(partial, join(this.#uploads, written.sha256));
        await syncDirectory(files, this.#uploads);
      }
      return written;
    } catch (error) {
      throw isSystemError(error) ? storageRefusal(error) : error;
    }
  }

  /** Takes uploads over for a message about to be appended; durable when it returns. Throws invalid_attachments for what isn't here. */
  async keep(digests: readonly string[]): Promise<void> {
    const { files } = this.#deps;
    let moved = false;
    for (const sha256 of digests) {
      if (this.#kept(sha256) !== null) continue;
      if (this.#locate(sha256) === null) throw missing(sha256);
      try {
        files.rename(join(this.#uploads, sha256), join(this.#directory, sha256));
      } catch (error) {
        throw storageRefusal(error);
      }
      moved = true;
    }
    if (!moved) return;
    try {
      await syncDirectory(files, this.#directory);
      await syncDirectory(files, this.#uploads);
    } catch (error) {
      throw storageRefusal(error);
    }
  }

  /** Throws blob_not_found. `range.end` is exclusive; both are cut to the file. */
  read(sha256: string, range?: { start: number; end: number }): BlobReading {
    const found = DIGEST.test(sha256) ? this.#locate(sha256) : null;
    if (found === null) throw new Refusal("blob_not_found", { details: { sha256 } });
    const { path, bytes } = found;
    const start = Math.min(Math.max(range?.start ?? 0, 0), bytes);
    const end = Math.max(start, Math.min(range?.end ?? bytes, bytes));
    return { bytes, start, end, chunks: this.#chunks(path, start, end) };
  }

  /** The file is opened by the first step: a reading that nobody follows leaves nothing open. */
  async *#chunks(path: string, start: number, end: number): AsyncGenerator<Uint8Array> {
    yield* fileChunks(this.#deps.files.open(path, "read"), start, end);
  }

  /** Removes what interrupted uploads left and uploads that no message took within a day. */
  collect(options: { partial: boolean }): void {
    const { files, clock } = this.#deps;
    if (files.stat(this.#uploads) === null) return;
    const oldest = clock.now() - LIMITS.attachment.orphanHours * HOUR_MS;
    for (const name of files.list(this.#uploads)) {
      const path = join(this.#uploads, name);
      const status = files.stat(path);
      if (status === null || status.kind !== "file") continue;
      if (name.startsWith(PARTIAL) ? options.partial : status.modifiedMs < oldest) unlinkIfThere(files, path);
    }
  }

  #kept(sha256: string): { path: string; bytes: number } | null {
    return this.#file(join(this.#directory, sha256));
  }

  #locate(sha256: string): { path: string; bytes: number } | null {
    return this.#kept(sha256) ?? this.#file(join(this.#uploads, sha256));
  }

  #file(path: string): { path: string; bytes: number } | null {
    const status = this.#deps.files.stat(path);
    return status?.kind === "file" ? { path, bytes: status.bytes } : null;
  }
}

/** How an attachment stands in a message. */
export function describeAttachment(
  blob: { sha256: string; bytes: number },
  file: { name: string; mime_type: string },
): Attachment {
  return {
    path: `state/blobs/${blob.sha256}`,
    name: file.name,
    mime_type: file.mime_type,
    bytes: blob.bytes,
    sha256: blob.sha256,
  };
}

export function missing(sha256: string): Refusal {
  return new Refusal("invalid_attachments", {
    specifics: "An attached file isn't in this Group.",
    details: { sha256 },
  });
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && !(error instanceof Refusal) && "syscall" in error;
}
