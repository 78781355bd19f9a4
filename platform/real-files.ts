/** The real file system as `Files`. */
import * as fs from "node:fs";
import { join } from "node:path";
import type { FileStatus, Files, OpenFile, OpenMode, SyncDone } from "./files.ts";

const NOFOLLOW = fs.constants.O_NOFOLLOW ?? 0;
const DIRECTORY = fs.constants.O_DIRECTORY ?? 0;
/** A FIFO in a file's place must not block until its other end opens. */
const NONBLOCK = fs.constants.O_NONBLOCK ?? 0;
const FLAGS: Record<OpenMode, number> = {
  read: fs.constants.O_RDONLY | NOFOLLOW | NONBLOCK,
  write: fs.constants.O_RDWR | NOFOLLOW | NONBLOCK,
  create: fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_EXCL | NOFOLLOW,
};

/**
 * If a sync took less than this on average, it may block: passing it to a thread and back costs
 * half as much again.
 */
const QUICK_SYNC_MS = 0.6;
/**
 * After one slow sync, the next ones don't block until this many quick ones have made up for it.
 */
const SYNC_MEMORY = 32;

/** How long syncs take on this machine, and how many are in progress. */
const syncs = { averageMs: Number.POSITIVE_INFINITY, running: 0 };

function measured(started: number): void {
  const took = performance.now() - started;
  const known = Number.isFinite(syncs.averageMs) ? syncs.averageMs : took;
  syncs.averageMs = known + (took - known) / SYNC_MEMORY;
}

/** The two ways to sync: right here, or in a thread. */
interface SyncCalls {
  now(descriptor: number): void;
  inThread(descriptor: number, done: (error: Error | null) => void): void;
}
const DATA: SyncCalls = { now: fs.fdatasyncSync, inThread: fs.fdatasync };
const DIRECTORIES: SyncCalls = { now: fs.fsyncSync, inThread: fs.fsync };

function syncDescriptor(calls: SyncCalls, descriptor: number, alone: boolean, done: SyncDone): void {
  const started = performance.now();
  if (alone && syncs.running === 0 && syncs.averageMs < QUICK_SYNC_MS) {
    let failure: Error | null = null;
    try {
      calls.now(descriptor);
    } catch (error) {
      failure = error as Error;
    }
    measured(started);
    done(failure);
    return;
  }
  syncs.running += 1;
  calls.inThread(descriptor, (error) => {
    syncs.running -= 1;
    measured(started);
    done(error);
  });
}

export class RealFile implements OpenFile {
  #descriptor: number;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  size(): number {
    return fs.fstatSync(this.#descriptor).size;
  }

  read(buffer: Uint8Array, position: number): number {
    let done = 0;
    while (done < buffer.length) {
      const got = fs.readSync(this.#descriptor, buffer, done, buffer.length - done, position + done);
      if (got === 0) break;
      done += got;
    }
    return done;
  }

  write(data: Uint8Array, position: number): void {
    let done = 0;
    while (done < data.length) {
      done += fs.writeSync(this.#descriptor, data, done, data.length - done, position + done);
    }
  }

  truncate(length: number): void {
    fs.ftruncateSync(this.#descriptor, length);
  }

  sync(done: SyncDone, alone = false): void {
    syncDescriptor(DATA, this.#descriptor, alone, done);
  }

  close(): void {
    if (this.#descriptor < 0) return;
    const descriptor = this.#descriptor;
    this.#descriptor = -1;
    fs.closeSync(descriptor);
  }
}

/** Files whose last descriptor a thread is closing. */
let closing = 0;
const CLOSING_MAX = 64;

/**
 * Keeps a file open while its name is removed, so that closing it frees its blocks. On a disk with
 * online discard that takes as long as a sync. Null if this isn't possible. Windows keeps the name,
 * too, while the file is open.
 */
function hold(path: string): number | null {
  if (process.platform === "win32" || closing >= CLOSING_MAX) return null;
  try {
    return fs.openSync(path, FLAGS.read);
  } catch {
    return null;
  }
}

function letGo(descriptor: number): void {
  closing += 1;
  fs.close(descriptor, () => {
    closing -= 1;
  });
}

function kindOf(status: fs.Stats): FileStatus["kind"] {
  if (status.isFile()) return "file";
  if (status.isDirectory()) return "directory";
  return status.isSymbolicLink() ? "link" : "other";
}

/** The disk. Modes are set after creation, so that the umask has no effect. */
export class RealFiles implements Files {
  open(path: string, mode: OpenMode): OpenFile {
    const descriptor = fs.openSync(path, FLAGS[mode], 0o600);
    try {
      if (mode === "create") fs.fchmodSync(descriptor, 0o600);
    } catch (error) {
      fs.closeSync(descriptor);
      throw error;
    }
    return new RealFile(descriptor);
  }

  rename(from: string, to: string): void {
    fs.renameSync(from, to);
  }

  link(from: string, to: string): void {
    fs.linkSync(from, to);
  }

  unlink(path: string, later = false): void {
    const held = later ? hold(path) : null;
    try {
      fs.unlinkSync(path);
    } finally {
      if (held !== null) letGo(held);
    }
  }

  list(path: string): string[] {
    return fs.readdirSync(path);
  }

  stat(path: string): FileStatus | null {
    const status = fs.lstatSync(path, { throwIfNoEntry: false });
    if (status === undefined) return null;
    const { size: bytes, mode, uid, dev: device, ino: inode } = status;
    const { mtimeMs: modifiedMs, ctimeMs: changedMs } = status;
    return { kind: kindOf(status), bytes, mode: mode & 0o777, uid, device, inode, modifiedMs, changedMs };
  }

  mkdir(path: string): void {
    fs.mkdirSync(path, { mode: 0o700 });
    fs.chmodSync(path, 0o700);
  }

  rmdir(path: string): void {
    fs.rmdirSync(path);
  }

  syncDir(path: string, done: SyncDone, alone = false): void {
    // Windows can't open a directory. Its file systems journal names themselves.
    if (process.platform === "win32") {
      setImmediate(done, null);
      return;
    }
    // Opening and closing take microseconds. A thread for each would take longer than the sync.
    let descriptor: number;
    try {
      descriptor = fs.openSync(join(path, "."), fs.constants.O_RDONLY | DIRECTORY);
    } catch (error) {
      setImmediate(done, error as Error);
      return;
    }
    syncDescriptor(DIRECTORIES, descriptor, alone, (failed) => {
      fs.closeSync(descriptor);
      done(failed);
    });
  }
}
