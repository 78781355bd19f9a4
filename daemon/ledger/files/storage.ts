/** Where a ledger is stored, and its one refusal to choose. */

import type { Files } from "../../../platform/files.ts";
import { Refusal } from "../../../shared/errors.ts";

/** `Files` and the one directory that a ledger lives in. */
export interface Storage {
  files: Files;
  directory: string;
}

export function pathOf(storage: Storage, name: string): string {
  return `${storage.directory}/${name}`;
}

/** Nothing is chosen and nothing changed. A person must decide. */
export function corrupt(specifics: string, details: Record<string, unknown> = {}): Refusal {
  return new Refusal("ledger_corrupt", { specifics, details });
}
