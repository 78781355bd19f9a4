/**
 * Whether a service has begun in this folder: from then on its key and its store belong together,
 * and neither is made anew without the other.
 */
import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ENVIRONMENT } from "../../shared/names.ts";
import { StoreProblem } from "./problem.ts";

/** What codes and digests are made with. */
export const KEY_FILE = "account.key";
const NOTE_FILE = "account.begun";

export function hasBegun(folder: string): boolean {
  return existsSync(join(folder, NOTE_FILE));
}

/** Its key and its store are durable. */
export function noteBegun(folder: string): void {
  if (!hasBegun(folder)) writeFileSync(join(folder, NOTE_FILE), "", { mode: 0o600, flush: true });
}

/**
 * Whether there was a service in this folder: it has begun, or it is an older one, which made
 * its key after its store.
 */
export function hadService(folder: string): boolean {
  return hasBegun(folder) || existsSync(join(folder, KEY_FILE));
}

/**
 * Throws StoreProblem if the embedded database of a service that there was is gone or empty, or if
 * something else is in its place.
 */
export function checkEmbedded(folder: string, path: string): void {
  const status = statSync(path, { throwIfNoEntry: false });
  if (status === undefined || (status.isFile() && status.size === 0)) {
    if (hadService(folder)) throw lost(folder, path);
  } else if (!status.isFile()) {
    throw new StoreProblem(`${path} isn't a file.`, { remedy: "Put the database back from a backup." });
  }
}

/** Something of a service that there was isn't there any more. */
function lost(folder: string, what: string): StoreProblem {
  const remedy = [
    "Put it back from a backup (docs/account-service.md).",
    `If the service uses PostgreSQL, name it with --database or ${ENVIRONMENT.accountDatabase}.`,
    "To begin a new service, choose another --folder.",
  ].join(" ");
  return new StoreProblem(`${what} has been lost: there was an account service in ${folder}.`, { remedy });
}

/** The store has a key, and the folder hasn't. */
export function lostKey(folder: string): StoreProblem {
  const path = join(folder, KEY_FILE);
  const remedy =
    "Put it back from a backup, or copy it from the service's first folder. To begin a new service, choose another --folder.";
  return new StoreProblem(`${path} isn't there, and the store belongs to a key.`, { remedy });
}
