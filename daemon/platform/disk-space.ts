/** How much room is left, for health checks. */
import { statfsSync } from "node:fs";

/** Bytes that this user may still write to the file system of `path`; null when the system doesn't say. */
export function freeBytes(path: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  } catch {
    return null;
  }
}
