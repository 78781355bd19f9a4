/** Small steps on `Files` that every part of the ledger needs. */
import { Refusal } from "../../shared/errors.ts";
import type { Files, OpenFile } from "../platform/files.ts";

/** `Files` and the one directory that a ledger lives in. */
export interface Storage {
  files: Files;
  directory: string;
}

export function pathOf(storage: Storage, name: string): string {
  return `${storage.directory}/${name}`;
}

export function synced(file: OpenFile): Promise<void> {
  return new Promise((done, failed) => {
    file.sync((error) => (error === null ? done() : failed(error)));
  });
}

export function directorySynced(files: Files, directory: string): Promise<void> {
  return new Promise((done, failed) => {
    files.syncDir(directory, (error) => (error === null ? done() : failed(error)));
  });
}

export function readWhole(files: Files, path: string): Buffer {
  const file = files.open(path, "read");
  try {
    const bytes = Buffer.alloc(file.size());
    return bytes.subarray(0, file.read(bytes, 0));
  } finally {
    file.close();
  }
}

/** Leftovers of a crash between the steps of `replaceFile`; an open removes them. */
export function isTemporary(name: string): boolean {
  return name.endsWith(".new");
}

/**
 * Puts a file in place, whole or not at all. A `durable` one is on disk when the promise resolves; the others carry a checksum
 * and may be lost.
 */
export async function replaceFile(
  storage: Storage,
  name: string,
  parts: Uint8Array[],
  durable: boolean,
): Promise<void> {
  const { files, directory } = storage;
  const temporary = pathOf(storage, `${name}.new`);
  if (files.stat(temporary) !== null) files.unlink(temporary);
  const file = files.open(temporary, "create");
  try {
    let position = 0;
    for (const part of parts) {
      file.write(part, position);
      position += part.length;
    }
    if (durable) await synced(file);
  } finally {
    file.close();
  }
  files.rename(temporary, pathOf(storage, name));
  if (durable) await directorySynced(files, directory);
}

/** What a caller is told when the disk refused. */
export function storageRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const { code } = error as { code?: unknown };
  const isFull = code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG";
  const details = typeof code === "string" ? { cause: code } : {};
  return new Refusal(isFull ? "storage_full" : "storage_failed", { details, cause: error });
}

/** Nothing is chosen and nothing changed: a person must look. */
export function corrupt(specifics: string, details: Record<string, unknown> = {}): Refusal {
  return new Refusal("ledger_corrupt", { specifics, details });
}
