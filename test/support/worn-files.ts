/** The real file system on a disk that is wearing out. */
import { readFileSync } from "node:fs";
import type { OpenFile, OpenMode } from "../../platform/files.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { diskError } from "./faulty-files.ts";

/** A disk that can't read one line of a ledger any more. */
export class WornFiles extends RealFiles {
  refused = 0;
  #worn: { path: string; start: number; bytes: number } | null = null;

  wear(path: string, eventId: string): void {
    const bytes = readFileSync(path);
    const start = bytes.lastIndexOf("\n", bytes.indexOf(`"id":"${eventId}"`)) + 1;
    this.#worn = { path, start, bytes: bytes.indexOf("\n", start) + 1 - start };
  }

  heal(): void {
    this.#worn = null;
  }

  override open(path: string, mode: OpenMode): OpenFile {
    const file = super.open(path, mode);
    const read = file.read.bind(file);
    file.read = (buffer, position) => {
      const worn = this.#worn;
      if (worn?.path === path && worn.start === position && worn.bytes === buffer.length) {
        this.refused += 1;
        throw diskError("EIO");
      }
      return read(buffer, position);
    };
    return file;
  }
}
