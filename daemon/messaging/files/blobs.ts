/**
 * Attached files of a Group: content-addressed, streamed to disk and back, never whole in memory
 * (docs/core-model.md#messages). Until a message with it is in the ledger, a file has a record in
 * `uploads/` (`waiting-files.ts`). If no message takes it within a day, it is removed. In messages
 * the files are named `state/blobs/<sha256>`.
 */
import { join } from "node:path";
import type { Clock } from "../../../platform/clock.ts";
import {
  ensureDirectory,
  errorCode,
  storageRefusal,
  syncDirectory,
  unlinkIfThere,
} from "../../../platform/durable.ts";
import type { Files } from "../../../platform/files.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import type { Random } from "../../../platform/random.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { Attachment } from "../../../shared/model.ts";
import { CheckedFiles } from "./checked-files.ts";
import { CHUNK_BYTES, type Chunks, filePieces, type Written, writeNew } from "./file-streams.ts";
import { type Referring, referredFrom } from "./referred-files.ts";
import type { GroupQuota, Reservation } from "./upload-quota.ts";
import { WaitingFiles } from "./waiting-files.ts";

/** A piece of a file; `start` and `end` (exclusive) are byte positions in the whole of `bytes`. */
export interface BlobReading {
  bytes: number;
  start: number;
  end: number;
  /**
   * Resolves when a file that is small, or of which a part is read, was checked whole; of any size
   * if `isWhole`. Throws file_damaged.
   */
  ready: (isWhole?: boolean) => Promise<void>;
  /**
   * Without its last chunk where the bytes turn out not to be the file's; throws file_damaged then.
   * The file is open from the first chunk until the iteration ends or is left.
   */
  chunks: AsyncIterable<Uint8Array>;
}

export interface BlobDependencies {
  files: Files;
  clock: Clock;
  random: Random;
  log: Log;
}

const DIGEST = /^[0-9a-f]{64}$/;
const HOUR_MS = 3_600_000;

export class BlobStore {
  readonly #deps: BlobDependencies;
  readonly #directory: string;
  readonly #uploads: string;
  readonly #quota: GroupQuota;
  readonly #waiting: WaitingFiles;
  /** What is known of the bytes of the files. */
  readonly checked: CheckedFiles;
  #directories: Promise<void> | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  /** `directory` need not exist yet. */
  constructor(deps: BlobDependencies, directory: string, quota: GroupQuota) {
    this.#deps = deps;
    this.#directory = directory;
    this.#uploads = join(directory, "uploads");
    this.#quota = quota;
    this.checked = new CheckedFiles(deps, directory);
    this.#waiting = new WaitingFiles(deps.files, this.#uploads, quota);
  }

  /** Loads what an earlier run left, without its unfinished files. */
  load(): void {
    this.#waiting.load((sha256) => this.bytesOf(sha256) !== null);
  }

  /** The Group is gone or was reset in the same place, where unfinished work doesn't belong. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.forget();
  }

  /**
   * Size of a file by its digest, whether a message refers to it or not; null when there is none.
   * Throws storage_failed.
   */
  bytesOf(sha256: string): number | null {
    try {
      const status = this.#deps.files.stat(join(this.#directory, sha256));
      return status?.kind === "file" ? status.bytes : null;
    } catch (error) {
      throw storageRefusal(error);
    }
  }

  /** Digests of the files that messages refer to. */
  list(): string[] {
    if (this.#deps.files.stat(this.#directory) === null) return [];
    return this.#deps.files
      .list(this.#directory)
      .filter((name) => DIGEST.test(name) && (this.#waiting.get(name)?.sending ?? 1) > 0)
      .sort();
  }

  /** Throws limit_reached when uploads of that many bytes don't fit. */
  checkQuota(bytes: number): void {
    this.#quota.reserve(bytes).release();
  }

  /**
   * Streams a file in, to wait for a message. `announced` is its size, if known. Throws
   * limit_reached before the first byte is read, too_large, storage_full or storage_failed, or what
   * the stream threw; then nothing is left.
   */
  async upload(chunks: AsyncIterable<Uint8Array>, announced = 0): Promise<Written> {
    const reservation = this.#quota.reserve(announced);
    try {
      return await this.#write(covered(chunks, reservation), { sent_from: null });
    } finally {
      reservation.release();
    }
  }

  /**
   * Streams a file in for a message that will be at the ordinal `sent_from` or later. `sha256` is
   * its digest if the caller has computed it.
   */
  take(chunks: Chunks, sentFrom: number, sha256?: string): Promise<Written> {
    return this.#write(chunks, { sent_from: sentFrom }, sha256);
  }

  /** Streams in a file that messages refer to already, in a Group that is being built. */
  add(chunks: Chunks): Promise<Written> {
    return this.#write(chunks, null);
  }

  /**
   * Keeps files for a message that `append` writes, at the ordinal `sent_from` or later. Throws
   * invalid_attachments for missing files, file_damaged, storage_full or storage_failed, or what
   * `append` throws; then the files keep waiting.
   */
  async send<Result>(
    digests: readonly string[],
    sentFrom: number,
    append: () => Promise<Result>,
  ): Promise<Result> {
    const distinct = [...new Set(digests)];
    const sending = await this.#inTurn(() => this.#begin(distinct, sentFrom));
    let isReferred = false;
    try {
      const result = await append();
      isReferred = true;
      return result;
    } finally {
      if (sending.length > 0) void this.#inTurn(async () => this.#end(sending, isReferred));
    }
  }

  /**
   * Throws blob_not_found, and file_damaged for a file that was found so. `range.end` is exclusive;
   * both are cut to the file.
   */
  read(sha256: string, range?: { start: number; end: number }): BlobReading {
    const bytes = DIGEST.test(sha256) ? this.bytesOf(sha256) : null;
    if (bytes === null) throw new Refusal("blob_not_found", { details: { sha256 } });
    const start = Math.min(Math.max(range?.start ?? 0, 0), bytes);
    const end = Math.max(start, Math.min(range?.end ?? bytes, bytes));
    const ready = async (isWhole = false): Promise<void> => {
      const isPart = start > 0 || end < bytes;
      if ((isWhole || isPart || bytes <= CHUNK_BYTES) && this.checked.needsCheck(sha256))
        await this.checked.check(sha256);
    };
    this.checked.needsCheck(sha256);
    return { bytes, start, end, ready, chunks: this.checked.chunks(sha256, { bytes, start, end }) };
  }

  /**
   * A whole file in pieces of this size, which `checked` has to know. Each is valid until the next
   * one is requested. Throws blob_not_found or file_damaged; `pieces` also Node's errors.
   */
  inPieces(sha256: string, size: number): { bytes: number; pieces: () => Iterable<Uint8Array> } {
    const { bytes } = this.read(sha256);
    const path = join(this.#directory, sha256);
    return { bytes, pieces: () => filePieces(this.#deps.files.open(path, "read"), bytes, size) };
  }

  /** Removes files that no message took within a day. Throws storage_full or storage_failed. */
  async collect(): Promise<void> {
    if (this.#waiting.size === 0) return;
    await this.#inTurn(async () => {
      const { files, clock } = this.#deps;
      const oldest = clock.now() - LIMITS.attachment.orphanHours * HOUR_MS;
      const over = [...this.#waiting.entries()].filter(
        ([, { uploaded_at: uploadedAt, sending, isUnsettled }]) =>
          sending === 0 && !isUnsettled && Date.parse(uploadedAt) < oldest,
      );
      if (over.length === 0) return;
      try {
        for (const [sha256] of over) unlinkIfThere(files, join(this.#directory, sha256));
        // A file whose record is gone would stay for ever.
        await syncDirectory(files, this.#directory);
        for (const [sha256] of over) this.#waiting.remove(sha256);
      } catch (error) {
        throw storageRefusal(error);
      }
    });
  }

  /**
   * At the start: checks whether messages refer to the files that were being sent when an earlier
   * run ended. Ordinals have `moved` when a person went on without lost events.
   */
  async settle(ledger: Referring, moved = false): Promise<void> {
    const unsettled = new Map([...this.#waiting.entries()].filter(([, { isUnsettled }]) => isUnsettled));
    if (unsettled.size === 0) return;
    const from = Math.min(...[...unsettled.values()].map(({ sent_from: sentFrom }) => sentFrom ?? 0));
    const referred = await referredFrom(ledger, moved ? 0 : from);
    await this.#inTurn(async () => {
      for (const [sha256, waiting] of unsettled) {
        // A message may have taken it in the meantime.
        if (this.#waiting.get(sha256) !== waiting || waiting.sending > 0) continue;
        if (referred.has(sha256)) this.#waiting.remove(sha256);
        else await this.#waiting.put(sha256, { ...waiting, sent_from: null });
      }
    });
  }

  async #write(
    chunks: Chunks,
    record: { sent_from: number | null } | null,
    sha256?: string,
  ): Promise<Written> {
    const { files, random } = this.#deps;
    try {
      await this.#makeDirectories();
      this.#checkOpen();
      const partial = this.#waiting.partial(random.uuid());
      const written = await writeNew(files, partial, chunks, LIMITS.attachment.uploadBytes, sha256);
      try {
        await this.#inTurn(() => this.#place(partial, written, record));
      } catch (error) {
        unlinkIfThere(files, partial);
        throw error;
      }
      return written;
    } catch (error) {
      throw isSystemError(error) ? storageRefusal(error) : error;
    }
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new Refusal("group_busy");
  }

  /** Once: nothing is written into a directory that isn't durable yet. */
  #makeDirectories(): Promise<void> {
    this.#directories ??= ensureDirectory(this.#deps.files, this.#directory)
      .then(() => ensureDirectory(this.#deps.files, this.#uploads))
      .catch((error: unknown) => {
        this.#directories = null;
        throw error;
      });
    return this.#directories;
  }

  /** Gives a written file its name. Its record comes first. */
  async #place(
    partial: string,
    { bytes, sha256 }: Written,
    record: { sent_from: number | null } | null,
  ): Promise<void> {
    this.#checkOpen();
    const { files, clock } = this.#deps;
    const waiting = this.#waiting.get(sha256);
    const isThere = this.bytesOf(sha256) !== null;
    if (record !== null && (waiting !== undefined || !isThere)) {
      // Replaces an older upload of the same bytes, so its time to live starts again.
      const uploadedAt = new Date(clock.now()).toISOString();
      const sentFrom = waiting?.sent_from ?? record.sent_from;
      await this.#waiting.put(sha256, { bytes, uploaded_at: uploadedAt, sent_from: sentFrom });
    }
    // A file whose bytes aren't its own any more is replaced by what it was.
    if (isThere && (await this.checked.look(sha256)) === null) files.unlink(partial);
    else files.rename(partial, join(this.#directory, sha256));
    await syncDirectory(files, this.#directory);
  }

  /** Those of the files that have a record, which says now that a message may refer to them. */
  async #begin(digests: readonly string[], sentFrom: number): Promise<string[]> {
    for (const sha256 of digests) {
      if (this.bytesOf(sha256) === null) throw missing(sha256);
      // One that waits was written a moment ago.
      if (this.#waiting.get(sha256) === undefined) await this.checked.check(sha256);
    }
    const sending = digests.filter((sha256) => this.#waiting.get(sha256) !== undefined);
    for (const sha256 of sending) {
      const waiting = this.#waiting.get(sha256)!;
      try {
        if (waiting.sent_from === null) await this.#waiting.put(sha256, { ...waiting, sent_from: sentFrom });
      } catch (error) {
        throw storageRefusal(error);
      }
    }
    for (const sha256 of sending) this.#waiting.get(sha256)!.sending += 1;
    return sending;
  }

  /**
   * Never throws, because the message is already recorded or refused. A record that couldn't be
   * removed is checked at the next start.
   */
  #end(sending: readonly string[], isReferred: boolean): void {
    for (const sha256 of sending) {
      const waiting = this.#waiting.get(sha256);
      if (waiting === undefined) continue;
      waiting.sending -= 1;
      try {
        if (isReferred) this.#waiting.remove(sha256);
      } catch (error) {
        this.#deps.log.warn("file_record", errorFields(error));
      }
    }
  }

  /** Changes of names and records, one after the other. */
  #inTurn<Result>(step: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(step);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

async function* covered(
  chunks: AsyncIterable<Uint8Array>,
  reservation: Reservation,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    reservation.cover(bytes);
    yield chunk;
  }
}

/** An attachment as stored in a message. */
export function describeAttachment(
  blob: { sha256: string; bytes: number },
  file: { name: string; mime_type: string },
): Attachment {
  return {
    path: `state/blobs/${blob.sha256}`,
    name: file.name,
    mime_type: file.mime_type,
    bytes: blob.bytes,
    sha256: blob.sha256,
  };
}

export function missing(sha256: string): Refusal {
  return new Refusal("invalid_attachments", {
    specifics: "An attached file isn't in this Group.",
    remedy: "Upload it first.",
    details: { sha256 },
  });
}

function isSystemError(error: unknown): boolean {
  return /^E[A-Z0-9]+$/.test(errorCode(error) ?? "");
}
