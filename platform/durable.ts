/** Whole files and directories that are on disk when a call returns, or as before. */
import { basename, dirname, join } from "node:path";
import { Refusal } from "../shared/errors.ts";
import type { FileStatus, Files, OpenFile } from "./files.ts";

/** The `code` of one of Node's own errors. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** How Node names a disk that is full, and one that fails. */
const FULL: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);
const FAILED: ReadonlySet<string> = new Set(["EIO", "EROFS"]);

/** Whether an error is the disk's, wherever it comes from. */
export function isStorageError(error: unknown): boolean {
  const code = errorCode(error) ?? "";
  return FULL.has(code) || FAILED.has(code);
}

/** What a caller is told when the disk fails: storage_full or storage_failed. A Refusal passes as it is. */
export function storageRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const code = errorCode(error);
  const isFull = code !== undefined && FULL.has(code);
  const details = code === undefined ? {} : { cause: code };
  return new Refusal(isFull ? "storage_full" : "storage_failed", { details, cause: error });
}

/** Makes what was created, renamed or removed in `directory` durable; `alone` as in `OpenFile.sync`. */
export function syncDirectory(files: Files, directory: string, alone = false): Promise<void> {
  return new Promise((resolve, reject) => {
    files.syncDir(directory, (error) => (error === null ? resolve() : reject(error)), alone);
  });
}

/** Makes the bytes of an open file durable; `alone` as in `OpenFile.sync`. */
export function syncFile(file: OpenFile, alone = false): Promise<void> {
  return new Promise((resolve, reject) => {
    file.sync((error) => (error === null ? resolve() : reject(error)), alone);
  });
}

/** Removes a file if it is there, its blocks perhaps `later`; says whether it was. */
export function unlinkIfThere(files: Files, path: string, later = false): boolean {
  try {
    files.unlink(path, later);
    return true;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return false;
    throw error;
  }
}

/** What changes with a file when somebody writes it or puts another in its place. */
export function versionOf({ kind, inode, bytes, modifiedMs }: FileStatus): string {
  return `${kind} ${inode} ${bytes} ${modifiedMs}`;
}

/** All bytes of a file; null when there is none. Throws Node's errors, ELOOP for a link. */
export function readWhole(files: Files, path: string): Buffer | null {
  let file: OpenFile;
  try {
    file = files.open(path, "read");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
  try {
    const bytes = Buffer.alloc(file.size());
    return bytes.subarray(0, file.read(bytes, 0));
  } finally {
    file.close();
  }
}

/** Whether a name in a directory is what a crash between the steps of `replaceFile` left. */
export function isTemporary(name: string): boolean {
  return name.startsWith(".") && name.endsWith(".tmp");
}

/**
 * Puts bytes, whole or in parts, at `path` with mode 0600: whoever looks, also after a crash, finds the old file or the new one whole.
 * One writer per path. After a rejection either may be there. What isn't `durable` may be lost or torn by a crash: for files that carry
 * a checksum and can be made again. `alone` as in `OpenFile.sync`.
 */
export async function replaceFile(
  files: Files,
  path: string,
  bytes: Uint8Array | readonly Uint8Array[],
  { durable = true, alone = false }: { durable?: boolean; alone?: boolean } = {},
): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.tmp`);
  const file = create(files, temporary);
  try {
    let position = 0;
    for (const part of bytes instanceof Uint8Array ? [bytes] : bytes) {
      file.write(part, position);
      position += part.length;
    }
    if (durable) await syncFile(file, alone);
  } catch (error) {
    file.close();
    // The disk may be full: what can't be used must not stay.
    try {
      files.unlink(temporary);
    } catch {
      // The first error tells more.
    }
    throw error;
  }
  file.close();
  files.rename(temporary, path);
  if (durable) await syncDirectory(files, dirname(path), alone);
}

/** A new file in the place of whatever an earlier try left there, which is hardly ever anything. */
function create(files: Files, path: string): OpenFile {
  try {
    return files.open(path, "create");
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
  files.unlink(path);
  return files.open(path, "create");
}

/** One directory with mode 0700, durable in its parent, unless it is there. After a rejection it isn't, so that the next try is a whole one. */
export async function ensureDirectory(files: Files, path: string): Promise<void> {
  try {
    files.mkdir(path);
  } catch (error) {
    if (errorCode(error) === "EEXIST") return;
    throw error;
  }
  try {
    await syncDirectory(files, dirname(path));
  } catch (error) {
    try {
      files.rmdir(path);
    } catch {
      // The first error tells more.
    }
    throw error;
  }
}

/** So many entries are removed before others have a turn. */
const SLICE = 64;

/** Removes a directory with everything in it, giving way to others meanwhile. Links are removed, never followed. */
export async function removeTree(files: Files, path: string): Promise<void> {
  let removed = 0;
  const remove = async (at: string): Promise<void> => {
    const status = files.stat(at);
    if (status === null) return;
    if (status.kind === "directory") {
      for (const name of files.list(at)) await remove(join(at, name));
      files.rmdir(at);
    } else files.unlink(at);
    removed += 1;
    if (removed % SLICE === 0) await new Promise((resolve) => setImmediate(resolve));
  };
  await remove(path);
}
