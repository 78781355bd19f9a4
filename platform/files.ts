/**
 * The file system as the daemon sees it: small, positional, and synchronous except for the two
 * calls that wait for the disk. A simulated version keeps an operation log and enumerates every
 * crash state (docs/architecture.md#rules). Errors are Node's own (`code` ENOENT, EEXIST, ENOSPC,
 * EIO, ...).
 */

/** Called once, with null on success. */
export type SyncDone = (error: Error | null) => void;

export interface OpenFile {
  /** Current length in bytes. */
  size(): number;
  /**
   * Fills `buffer` from `position`. Returns the number of bytes read, which is less than its length
   * only at the end of the file.
   */
  read(buffer: Uint8Array, position: number): number;
  /**
   * Writes all of `data` at `position` or throws. After a throw, any part of it may be in the file.
   */
  write(data: Uint8Array, position: number): void;
  truncate(length: number): void;
  /**
   * Makes the file's data and length durable (fdatasync). A failed sync says nothing about what is
   * on disk. `alone` says that only this caller waits. Where syncs are quick, it may then happen at
   * once, with `done` called before `sync` returns.
   */
  sync(done: SyncDone, alone?: boolean): void;
  /** Idempotent. */
  close(): void;
}

export interface FileStatus {
  kind: "file" | "directory" | "link" | "other";
  bytes: number;
  /** Permission bits, 0o000-0o777. */
  mode: number;
  uid: number;
  /** Tells files of different file systems apart: numbers of inodes repeat. */
  device: number;
  inode: number;
  modifiedMs: number;
  /** When bytes, name or permissions changed last; nobody can set it. */
  changedMs: number;
}

/**
 * - `read`: existing file, never written.
 * - `write`: existing file, read and written.
 * - `create`: new file with mode 0600, whatever the umask; EEXIST if it exists.
 * None follows a symbolic link in the last component (ELOOP).
 */
export type OpenMode = "read" | "write" | "create";

export interface Files {
  open(path: string, mode: OpenMode): OpenFile;
  rename(from: string, to: string): void;
  /**
   * Gives a file a second name. Throws EEXIST if there is one, and EPERM where there are no links.
   */
  link(from: string, to: string): void;
  /**
   * The name is gone when it returns. With `later`, the file's disk space is freed a little later,
   * which blocks nothing else.
   */
  unlink(path: string, later?: boolean): void;
  /** Names in a directory, in no order. */
  list(path: string): string[];
  /** Status of the entry itself (a link is not followed); null if it doesn't exist. */
  stat(path: string): FileStatus | null;
  /** One new directory with mode 0700, whatever the umask; EEXIST if it exists. */
  mkdir(path: string): void;
  /** Removes an empty directory. */
  rmdir(path: string): void;
  /**
   * Makes entries that were created, renamed or removed in the directory durable; `alone` as in
   * `OpenFile.sync`.
   */
  syncDir(path: string, done: SyncDone, alone?: boolean): void;
}
