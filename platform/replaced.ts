/** The program's own files, which an upgrade may replace while the daemon runs. */
import { Refusal } from "../shared/errors.ts";

/**
 * For `import(...).catch`: says what to do if the file is gone because svc was upgraded since the
 * daemon started.
 */
export function tellReplaced(error: unknown): never {
  if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
  throw new Refusal("internal_error", {
    specifics: "svc was upgraded while this daemon was running.",
    remedy: "Restart the daemon: svc daemon stop && svc daemon start.",
    cause: error,
  });
}
