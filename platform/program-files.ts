/** Whether a program that runs could be started once more. */
import { isAbsolute } from "node:path";
import type { Files } from "./files.ts";

/**
 * The first file of a command line that isn't there any more, such as after an update; null while
 * all of them are. Words without a full path count as there.
 */
export function missingFile(files: Pick<Files, "stat">, words: readonly string[]): string | null {
  return (
    words.find((word) => {
      try {
        return isAbsolute(word) && files.stat(word) === null;
      } catch {
        return false;
      }
    }) ?? null
  );
}
