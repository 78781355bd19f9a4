/**
 * Whether a service has begun in this folder: from then on its key and its store belong together,
 * and neither is made anew without the other.
 */
import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StoreProblem } from "./problem.ts";

const NOTE_FILE = "account.begun";

export function hasBegun(folder: string): boolean {
  return existsSync(join(folder, NOTE_FILE));
}

/** Its key and its store are durable. */
export function noteBegun(folder: string): void {
  if (!hasBegun(folder)) writeFileSync(join(folder, NOTE_FILE), "", { mode: 0o600, flush: true });
}

/** Throws StoreProblem if the embedded database of a service that has begun is gone or empty. */
export function checkEmbedded(folder: string, path: string): void {
  if (!hasBegun(folder)) return;
  const status = statSync(path, { throwIfNoEntry: false });
  if (status === undefined || (status.isFile() && status.size === 0)) throw lost(folder, path);
}

/** Something of a service that has begun isn't there any more. */
export function lost(folder: string, what: string): StoreProblem {
  return new StoreProblem(`${what} has been lost: there was an account service in ${folder}.`, {
    remedy:
      "Put it back from a backup (docs/account-service.md). To begin a new service, choose another --folder.",
  });
}
