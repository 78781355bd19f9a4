/**
 * Streams into and out of files: never whole in memory, and yields to the event loop between
 * chunks.
 */
import { createHash } from "node:crypto";
import { syncFile, unlinkIfThere } from "../../../platform/durable.ts";
import type { Files, OpenFile } from "../../../platform/files.ts";
import { Refusal } from "../../../shared/errors.ts";
import { sizeWords } from "../../../shared/size-words.ts";

export type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** What was written. */
export interface Written {
  bytes: number;
  sha256: string;
}

/** At most as much is read at once. */
export const CHUNK_BYTES = 256 * 1024;

/** Yields to the event loop between chunks. */
function breathe(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/**
 * The bytes of an open file from `start` to before `end`, in chunks of at most 256 KiB; closes it.
 * If they are `shared`, each is valid until the next one is requested.
 */
export async function* fileChunks(
  file: OpenFile,
  start = 0,
  end = Number.POSITIVE_INFINITY,
  { shared }: { shared: boolean } = { shared: false },
): AsyncGenerator<Uint8Array> {
  try {
    let position = start;
    let buffer = Buffer.alloc(0);
    while (position < end) {
      const length = Math.min(CHUNK_BYTES, end - position);
      buffer = shared && buffer.length > 0 ? buffer.subarray(0, length) : Buffer.allocUnsafe(length);
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

/**
 * The first `bytes` of an open file in pieces of `size`, which share their memory; closes it.
 * Throws when the file has become shorter.
 */
export function* filePieces(file: OpenFile, bytes: number, size: number): Generator<Uint8Array> {
  try {
    const buffer = Buffer.allocUnsafe(Math.min(size, bytes));
    for (let position = 0; position < bytes; position += buffer.length) {
      const piece = buffer.subarray(0, bytes - position);
      if (file.read(piece, position) < piece.length) throw new Error("a file has become shorter");
      yield piece;
    }
  } finally {
    file.close();
  }
}

/**
 * Writes a stream into a new file and makes it durable; if it fails, nothing stays. `sha256` is its
 * digest if that is known.
 */
export async function writeNew(
  files: Files,
  path: string,
  chunks: Chunks,
  limit: number,
  sha256?: string,
): Promise<Written> {
  const file = files.open(path, "create");
  try {
    const written = await pour(file, chunks, limit, sha256);
    file.close();
    return written;
  } catch (error) {
    file.close();
    unlinkIfThere(files, path);
    throw error;
  }
}

/**
 * Writes a stream into an open, empty file and syncs it; hashes it unless its digest is known.
 * Throws too_large after `limit` bytes.
 */
export async function pour(file: OpenFile, chunks: Chunks, limit: number, sha256?: string): Promise<Written> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of chunks) {
    if (bytes + chunk.length > limit)
      throw new Refusal("too_large", {
        specifics: `It is larger than ${sizeWords(limit)}.`,
        details: { limit },
      });
    file.write(chunk, bytes);
    if (sha256 === undefined) hash.update(chunk);
    bytes += chunk.length;
  }
  await syncFile(file);
  return { bytes, sha256: sha256 ?? hash.digest("hex") };
}
