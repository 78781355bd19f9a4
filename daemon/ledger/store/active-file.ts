/**
 * The file that appends go to. It is extended ahead of time with line feeds that are synced before
 * use, because a sync into allocated space is faster and a torn write then shows as a blank or
 * broken line.
 */
import { syncDirectory, syncFile } from "../../../platform/durable.ts";
import type { OpenFile } from "../../../platform/files.ts";
import { ACTIVE } from "../files/segments.ts";
import { pathOf, type Storage } from "../files/storage.ts";
import { LINE_FEED } from "../format/line.ts";

let padding = Buffer.alloc(0);
function lineFeeds(bytes: number): Buffer {
  if (padding.length < bytes) padding = Buffer.alloc(bytes, LINE_FEED);
  return padding.subarray(0, bytes);
}

/** Where the file's allocated space begins: after its last line that isn't blank. */
export function usedBytes(file: OpenFile, size: number): number {
  const piece = Buffer.allocUnsafe(64 * 1024);
  let end = size;
  while (end > 0) {
    const from = Math.max(0, end - piece.length);
    const got = file.read(piece.subarray(0, end - from), from);
    let at = got;
    while (at > 0 && piece[at - 1] === LINE_FEED) at -= 1;
    if (at > 0) return Math.min(size, from + at + 1);
    end = from;
  }
  return 0;
}

export class ActiveFile {
  readonly file: OpenFile;
  readonly #extendBytes: number;
  /** Bytes acknowledged; the next batch begins here. */
  end: number;
  /** Bytes allocated and synced. */
  #capacity: number;
  /** What `#capacity` becomes with the next successful sync. */
  #extended: number;

  constructor(file: OpenFile, end: number, capacity: number, extendBytes: number) {
    this.file = file;
    this.end = end;
    this.#capacity = capacity;
    this.#extended = capacity;
    this.#extendBytes = extendBytes;
  }

  /**
   * A new one, on disk with its name. An existing file of that name is empty: its creation failed
   * halfway.
   */
  static async create(storage: Storage, extendBytes: number): Promise<ActiveFile> {
    const { files, directory } = storage;
    const path = pathOf(storage, ACTIVE);
    if (files.stat(path) !== null) files.unlink(path);
    const file = files.open(path, "create");
    try {
      file.write(lineFeeds(extendBytes), 0);
      await syncFile(file);
      await syncDirectory(files, directory);
    } catch (error) {
      file.close();
      throw error;
    }
    return new ActiveFile(file, 0, extendBytes, extendBytes);
  }

  hasRoomFor(bytes: number): boolean {
    return this.end + bytes <= this.#capacity;
  }

  /** Extends so that `bytes` fit. A full disk leaves the file as it was; a failed sync ends it. */
  async makeRoomFor(bytes: number): Promise<void> {
    while (!this.hasRoomFor(bytes)) {
      this.#extend();
      await this.sync();
    }
  }

  /**
   * Writes line feeds after the allocated space when that runs low. The sync of the next batch
   * covers them too.
   */
  extendAhead(): void {
    if (this.#extended > this.#capacity || this.#capacity - this.end >= this.#extendBytes / 2) return;
    try {
      this.#extend();
    } catch {
      // No room to go ahead; the batch that needs it will say so.
    }
  }

  #extend(): void {
    this.file.write(lineFeeds(this.#extendBytes), this.#capacity);
    this.#extended = this.#capacity + this.#extendBytes;
  }

  /** Space was written that no sync has covered yet: a failure now came from the sync. */
  get isExtending(): boolean {
    return this.#extended > this.#capacity;
  }

  async sync(): Promise<void> {
    await syncFile(this.file);
    this.synced();
  }

  /** To be called after a successful sync of `file`. */
  synced(): void {
    this.#capacity = this.#extended;
  }

  /** Cuts off everything after the end. */
  trim(): void {
    this.file.truncate(this.end);
    this.#capacity = this.end;
    this.#extended = this.end;
  }
}
