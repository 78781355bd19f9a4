/** The real file system with failures and delays where a test wants them. */
import type { Files, OpenFile, OpenMode, SyncDone } from "../../platform/files.ts";
import { RealFiles } from "../../platform/real-files.ts";

/**
 * Calls that can be made to fail; each names the path that it is about. A write can fail at its beginning, with a part of its bytes there and when all of its
 * bytes are there.
 */
type Step = "write" | "part" | "written" | "rename" | "syncDir";

export class FaultyFiles implements Files {
  readonly #real = new RealFiles();
  /** The error for a call, if it is to fail. `syncDir` fails after the directory was synced: the change is there all the same. */
  fail: (step: Step, path: string) => Error | null = () => null;
  /** Renames into place so far, and writes. */
  renames: string[] = [];
  writes: string[] = [];

  open(path: string, mode: OpenMode): OpenFile {
    const file = this.#real.open(path, mode);
    const write = file.write.bind(file);
    file.write = (data, position) => {
      const failOf = (step: Step): void => {
        const error = this.fail(step, path);
        if (error !== null) throw error;
      };
      failOf("write");
      this.writes.push(path);
      write(data.subarray(0, data.length >> 4), position);
      failOf("part");
      write(data, position);
      failOf("written");
    };
    return file;
  }
  rename(from: string, to: string): void {
    const error = this.fail("rename", to);
    if (error !== null) throw error;
    this.#real.rename(from, to);
    this.renames.push(to);
  }
  syncDir(path: string, done: SyncDone): void {
    this.#real.syncDir(path, (error) => done(error ?? this.fail("syncDir", path)));
  }
  unlink = (path: string): void => this.#real.unlink(path);
  list = (path: string): string[] => this.#real.list(path);
  stat = (path: string): ReturnType<Files["stat"]> => this.#real.stat(path);
  mkdir = (path: string): void => this.#real.mkdir(path);
  rmdir = (path: string): void => this.#real.rmdir(path);
}

export function diskError(code: string): Error {
  return Object.assign(new Error(code), { code });
}
