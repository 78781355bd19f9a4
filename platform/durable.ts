/**
 * Whole files and directories. When a call returns, the change is on disk; if it fails, the old
 * state is.
 */
import { basename, dirname, join } from "node:path";
import { Refusal } from "../shared/errors.ts";
import type { FileStatus, Files, OpenFile } from "./files.ts";

/** The `code` of one of Node's own errors. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** Node's codes for a full disk and for a failing one. */
const FULL: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);
const FAILED: ReadonlySet<string> = new Set(["EIO", "EROFS"]);
/** The process, or the whole system, may open nothing more. */
const EXHAUSTED: ReadonlySet<string> = new Set(["EMFILE", "ENFILE"]);

/** Whether an error comes from the disk, or from the limit on what may be open. */
export function isStorageError(error: unknown): boolean {
  const code = errorCode(error) ?? "";
  return FULL.has(code) || FAILED.has(code) || EXHAUSTED.has(code);
}

/** The refusal for an error that says that nothing more may be opened; null for any other error. */
export function exhaustedRefusal(error: unknown): Refusal | null {
  const code = errorCode(error);
  if (code === undefined || !EXHAUSTED.has(code)) return null;
  return new Refusal("too_many_open_files", { details: { cause: code }, cause: error });
}

/**
 * What a caller gets when the disk fails: storage_full or storage_failed; too_many_open_files when
 * nothing more may be opened. A Refusal passes unchanged.
 */
export function storageRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const code = errorCode(error);
  const isFull = code !== undefined && FULL.has(code);
  const details = code === undefined ? {} : { cause: code };
  return (
    exhaustedRefusal(error) ??
    new Refusal(isFull ? "storage_full" : "storage_failed", { details, cause: error })
  );
}

const STORAGE: ReadonlySet<string> = new Set(["storage_full", "storage_failed", "too_many_open_files"]);

/** Whether it is one of the refusals that `storageRefusal` makes. */
export function isStorageRefusal(error: unknown): error is Refusal {
  return error instanceof Refusal && STORAGE.has(error.code);
}

/**
 * Makes entries that were created, renamed or removed in `directory` durable; `alone` as in
 * `OpenFile.sync`.
 */
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

/** Removes a file if it exists, perhaps freeing its blocks `later`. Returns whether it existed. */
export function unlinkIfThere(files: Files, path: string, later = false): boolean {
  try {
    files.unlink(path, later);
    return true;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return false;
    throw error;
  }
}

/** What changes in a file's status when someone writes it or replaces it. */
export function versionOf({ kind, inode, bytes, modifiedMs }: FileStatus): string {
  return `${kind} ${inode} ${bytes} ${modifiedMs}`;
}

/** All bytes of a file; null if there is none. Throws Node's errors, ELOOP for a link. */
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

/** Whether a name in a directory is a leftover of a crash between the steps of `replaceFile`. */
export function isTemporary(name: string): boolean {
  return name.startsWith(".") && name.endsWith(".tmp");
}

/**
 * Writes bytes, whole or in parts, to `path` with mode 0600. Every reader, even after a crash,
 * finds the whole old file or the whole new one. One writer per path. After a rejection either may
 * be there. Without `durable`, a crash may lose or tear the file; that is for files with a checksum
 * that can be recreated. `alone` as in `OpenFile.sync`.
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
    // The disk may be full: an unusable file must not stay.
    try {
      files.unlink(temporary);
    } catch {
      // The first error is more useful.
    }
    throw error;
  }
  file.close();
  files.rename(temporary, path);
  if (durable) await syncDirectory(files, dirname(path), alone);
}

/**
 * A new file that replaces whatever an earlier attempt left there, which is hardly ever anything.
 */
function create(files: Files, path: string): OpenFile {
  try {
    return files.open(path, "create");
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
  files.unlink(path);
  return files.open(path, "create");
}

/**
 * One directory with mode 0700, durable in its parent, unless it exists. After a rejection it
 * doesn't exist, so that the next attempt starts fresh.
 */
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
      // The first error is more useful.
    }
    throw error;
  }
}

/** The number of entries to remove before yielding to the event loop. */
const SLICE = 64;

/**
 * Removes a directory with everything in it and yields to the event loop in between. Links are
 * removed, never followed.
 */
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
