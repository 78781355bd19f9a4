/**
 * Records of the files that no message is known to refer to: one small document each, created
 * before the file gets its name and removed once a message with it is in the ledger. So orphans are
 * found by their records, never by a scan. A message that is about to be appended notes in the
 * record from which event on a reference may appear. After a crash only those events are checked.
 */
import { join } from "node:path";
import * as z from "zod";
import { isTemporary, readWhole, replaceFile, unlinkIfThere } from "../../../platform/durable.ts";
import type { Files } from "../../../platform/files.ts";
import { Sha256 } from "../../../shared/model.ts";
import type { GroupQuota } from "./upload-quota.ts";

const StoredRecord = z.strictObject({
  v: z.literal(1),
  bytes: z.int().min(0),
  uploaded_at: z.iso.datetime(),
  /** Ordinal from which on a message may refer to the file; null while it only waits. */
  sent_from: z.int().min(0).nullable(),
});

export type FileRecord = Omit<z.infer<typeof StoredRecord>, "v">;

interface Waiting extends FileRecord {
  /** Messages with it that are being appended. */
  sending: number;
  /** An earlier run was sending it: whether a message refers to it has to be looked up. */
  isUnsettled: boolean;
}

const RECORD = /^([0-9a-f]{64})\.json$/;
const PARTIAL = ".partial-";

export class WaitingFiles {
  readonly #files: Files;
  readonly #directory: string;
  readonly #quota: GroupQuota;
  readonly #waiting = new Map<string, Waiting>();

  constructor(files: Files, directory: string, quota: GroupQuota) {
    this.#files = files;
    this.#directory = directory;
    this.#quota = quota;
  }

  /** The path of an unfinished file. */
  partial(id: string): string {
    return join(this.#directory, `${PARTIAL}${id}`);
  }

  get(sha256: string): Waiting | undefined {
    return this.#waiting.get(sha256);
  }

  entries(): Iterable<[string, Waiting]> {
    return this.#waiting;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Loads what an earlier run left, without what it was writing then. Leaves other files alone. */
  load(isThere: (sha256: string) => boolean): void {
    if (this.#files.stat(this.#directory) === null) return;
    for (const name of this.#files.list(this.#directory)) {
      const path = join(this.#directory, name);
      const sha256 = Sha256.safeParse(RECORD.exec(name)?.[1]).data;
      if (name.startsWith(PARTIAL) || isTemporary(name)) this.#files.unlink(path);
      else if (sha256 !== undefined && !isThere(sha256)) this.#files.unlink(path);
      else if (sha256 !== undefined) this.#take(sha256, path);
    }
  }

  #take(sha256: string, path: string): void {
    const record = parsed(readWhole(this.#files, path));
    if (record === null) return;
    this.#waiting.set(sha256, { ...record, sending: 0, isUnsettled: record.sent_from !== null });
    this.#quota.waits(record.bytes);
  }

  /** Durable when it returns. */
  async put(sha256: string, record: FileRecord): Promise<void> {
    const { bytes, uploaded_at: uploadedAt, sent_from: sentFrom } = record;
    const stored = { v: 1, bytes, uploaded_at: uploadedAt, sent_from: sentFrom };
    await replaceFile(this.#files, this.#path(sha256), Buffer.from(`${JSON.stringify(stored)}\n`));
    const known = this.#waiting.get(sha256);
    if (known !== undefined) {
      const isUnsettled = known.isUnsettled && sentFrom !== null;
      Object.assign(known, { bytes, uploaded_at: uploadedAt, sent_from: sentFrom, isUnsettled });
    } else {
      this.#waiting.set(sha256, {
        bytes,
        uploaded_at: uploadedAt,
        sent_from: sentFrom,
        sending: 0,
        isUnsettled: false,
      });
      this.#quota.waits(bytes);
    }
  }

  /** Not durable: a record that comes back is looked up at the next start. */
  remove(sha256: string): void {
    const known = this.#waiting.get(sha256);
    if (known !== undefined) this.#quota.waitsNoMore(known.bytes);
    this.#waiting.delete(sha256);
    unlinkIfThere(this.#files, this.#path(sha256));
  }

  /** The Group is gone, so its files take no room. */
  forget(): void {
    for (const { bytes } of this.#waiting.values()) this.#quota.waitsNoMore(bytes);
    this.#waiting.clear();
  }

  #path(sha256: string): string {
    return join(this.#directory, `${sha256}.json`);
  }
}

function parsed(bytes: Uint8Array | null): FileRecord | null {
  try {
    return StoredRecord.safeParse(JSON.parse(Buffer.from(bytes ?? []).toString())).data ?? null;
  } catch {
    return null;
  }
}
