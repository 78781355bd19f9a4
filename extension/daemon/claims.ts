/**
 * Who of several windows does something that must be done once. All windows of a person share a
 * folder; whoever creates the file first does it. It knows nothing of the editor.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A claim older than this is forgotten. What was claimed then no longer matters. */
const KEPT_MS = 24 * 3600 * 1000;

export class Claims {
  readonly #folder: string;
  #isSwept = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Whether this window is the first to claim `key`. */
  claim(key: string): boolean {
    this.#sweep();
    try {
      writeFileSync(join(this.#folder, nameOf(key)), "", { flag: "wx", mode: 0o600 });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
      throw error;
    }
  }

  #sweep(): void {
    if (this.#isSwept) return;
    this.#isSwept = true;
    mkdirSync(this.#folder, { recursive: true });
    for (const name of readdirSync(this.#folder)) {
      const path = join(this.#folder, name);
      const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? {};
      if (mtimeMs !== undefined && Date.now() - mtimeMs > KEPT_MS) rmSync(path, { force: true });
    }
  }
}

function nameOf(key: string): string {
  return createHash("sha256").update(key).digest("hex").slice(0, 32);
}
