/** The real file system with failures and delays where a test wants them. */
import type { OpenFile, OpenMode, SyncDone } from "../../platform/files.ts";
import { RealFiles } from "../../platform/real-files.ts";

/**
 * Calls that can be made to fail; each names the path that it is about. `open` is for writing. A
 * write can fail at its beginning, with a part of its bytes there and when all of its bytes are
 * there. `renamed`, `unlinked` and `syncDir` come when the change is there all the same.
 */
type Step = "open" | "write" | "part" | "written" | "rename" | "link" | "renamed" | "unlinked" | "syncDir";

export class FaultyFiles extends RealFiles {
  /** Syncs under way in all tests: somebody waits for the disk. */
  static syncing = 0;
  /** Told each step; gives the error for one that is to fail. */
  fail: (step: Step, path: string) => Error | null = () => null;
  /** Files whose paths hold this aren't durable before `recover`. */
  slow: string | null = null;
  /** What waits for that. */
  readonly held: (() => void)[] = [];
  /** Renames into place so far, and writes. */
  renames: string[] = [];
  writes: string[] = [];

  override open(path: string, mode: OpenMode): OpenFile {
    if (mode !== "read") this.#step("open", path);
    const file = super.open(path, mode);
    const write = file.write.bind(file);
    file.write = (data, position) => {
      this.#step("write", path);
      this.writes.push(path);
      const torn = this.fail("part", path);
      if (torn !== null) {
        write(data.subarray(0, data.length >> 4), position);
        throw torn;
      }
      write(data, position);
      this.#step("written", path);
    };
    const sync = file.sync.bind(file);
    file.sync = (done, alone) => {
      const begin = () => sync(counted(done), alone);
      if (this.slow !== null && path.includes(this.slow)) this.held.push(begin);
      else begin();
    };
    return file;
  }

  override rename(from: string, to: string): void {
    this.#step("rename", to);
    super.rename(from, to);
    this.renames.push(to);
    this.#step("renamed", to);
  }

  override link(from: string, to: string): void {
    this.#step("link", to);
    super.link(from, to);
  }

  override unlink(path: string): void {
    super.unlink(path);
    this.#step("unlinked", path);
  }

  override syncDir(path: string, done: SyncDone): void {
    super.syncDir(
      path,
      counted((error) => done(error ?? this.fail("syncDir", path))),
    );
  }

  /** The disk is as fast as ever again. */
  recover(): void {
    this.slow = null;
    for (const go of this.held.splice(0)) go();
  }

  #step(step: Step, path: string): void {
    const error = this.fail(step, path);
    if (error !== null) throw error;
  }
}

function counted(done: SyncDone): SyncDone {
  FaultyFiles.syncing += 1;
  return (error) => {
    FaultyFiles.syncing -= 1;
    done(error);
  };
}

export function diskError(code: string): Error {
  return Object.assign(new Error(code), { code });
}
