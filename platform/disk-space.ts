/** Whether and how much may be written, for health checks. */
import { accessSync, constants, statfsSync } from "node:fs";

/** Why this user may not write to `directory`, as the system's code, or null. */
export function writeTrouble(directory: string): string | null {
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "error";
  }
}

/**
 * Bytes that this user may still write to the file system of `path`; null if the system doesn't
 * say.
 */
export function freeBytes(path: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  } catch {
    return null;
  }
}
