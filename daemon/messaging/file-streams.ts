/** Streams into files and out of them: never whole in memory, other work has its turn between chunks. */
import { createHash } from "node:crypto";
import { Refusal } from "../../shared/errors.ts";
import { syncFile, unlinkIfThere } from "../home/durable.ts";
import type { Files, OpenFile } from "../platform/files.ts";

export type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** What was written. */
export interface Written {
  bytes: number;
  sha256: string;
}

const CHUNK_BYTES = 256 * 1024;

/** Gives other work its turn between chunks. */
function breathe(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** The bytes of an open file from `start` to before `end`, in chunks of at most 256 KiB; closes it. */
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

/** Writes a stream into a new file and makes it durable; nothing stays when it fails. */
export async function writeNew(files: Files, path: string, chunks: Chunks, limit: number): Promise<Written> {
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
export async function pour(file: OpenFile, chunks: Chunks, limit: number): Promise<Written> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of chunks) {
    if (bytes + chunk.length > limit) throw new Refusal("too_large", { details: { limit } });
    file.write(chunk, bytes);
    hash.update(chunk);
    bytes += chunk.length;
  }
  await syncFile(file);
  return { bytes, sha256: hash.digest("hex") };
}
