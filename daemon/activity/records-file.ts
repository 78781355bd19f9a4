/**
 * One Actor's records on disk: `groups/<id>/runtime-activity/<actor>.json`. The file is checked
 * before each use, so that damage, repair or removal by others is noticed. Damage is reported,
 * never repaired and never read as empty.
 *
 * Written records outlive the daemon, however it ends. Writes in place aren't synced: a crash of
 * the machine may lose the latest revisions, or tear one, and the channel is a buffer that may
 * start empty (ACT-003). So damage from before the machine's start doesn't count as damage.
 */
import { dirname } from "node:path";
import {
  ensureDirectory,
  readWhole,
  replaceFile,
  storageRefusal,
  versionOf,
} from "../../platform/durable.ts";
import type { FileStatus, Files } from "../../platform/files.ts";
import { Refusal } from "../../shared/errors.ts";
import { type PlacedWrite, RecordSlots, type Records } from "./record-slots.ts";

export interface RecordsFileOptions {
  files: Files;
  path: string;
  /** Of the Actor. */
  generation: string;
  /** Wall time in milliseconds. */
  machineStartedAt: number;
}

export class RecordsFile {
  readonly #files: Files;
  readonly #path: string;
  readonly #generation: string;
  readonly #machineStartedAt: number;
  /** Status of the file as last read or written; null if there was none, undefined if unknown. */
  #mark: string | null | undefined;
  /** The file's content, if something can be replaced in place. */
  #slots: RecordSlots | null = null;

  constructor({ files, path, generation, machineStartedAt }: RecordsFileOptions) {
    this.#files = files;
    this.#path = path;
    this.#generation = generation;
    this.#machineStartedAt = machineStartedAt;
  }

  /** Whether the file isn't the one last read or written. */
  hasChanged(): boolean {
    return this.#mark === undefined || this.#mark !== this.#status();
  }

  /**
   * Takes over nothing from another generation of the Actor. Throws runtime_activity_unavailable.
   */
  read(): Records {
    let bytes: Buffer | null;
    const mark = this.#status();
    try {
      bytes = readWhole(this.#files, this.#path);
    } catch (error) {
      throw new Refusal("runtime_activity_unavailable", { cause: error });
    }
    this.#slots = null;
    const records = bytes === null ? nothing() : this.#parse(bytes);
    this.#mark = bytes === null ? null : mark;
    return records;
  }

  /**
   * In the file once resolved. If the disk fails late, it may be there all the same. Then the bytes
   * decide, not the error (HOOK-014). Throws storage_full or storage_failed, and then the earlier
   * content counts.
   */
  async write(records: Records): Promise<void> {
    const placed = this.hasChanged() ? null : (this.#slots?.with(records) ?? null);
    if (placed === null) await this.#writeWhole(records);
    else await this.#writeInPlace(placed.slots, placed.writes);
    this.#mark = this.#status();
  }

  async #writeWhole(records: Records): Promise<void> {
    const slots = RecordSlots.of(this.#generation, records);
    try {
      await this.#replace(slots);
    } catch (error) {
      if (!this.#holds(slots)) {
        this.#slots = null;
        this.#mark = this.#status();
        throw storageRefusal(error);
      }
    }
    this.#slots = slots;
  }

  async #writeInPlace(slots: RecordSlots, writes: readonly PlacedWrite[]): Promise<void> {
    const before = this.#slots!;
    try {
      const file = this.#files.open(this.#path, "write");
      try {
        for (const { bytes, position } of writes) file.write(bytes, position);
      } finally {
        file.close();
      }
    } catch (error) {
      if (!this.#holds(slots)) {
        // Part of a line may be there. If the disk refuses this too, the next write replaces the
        // whole file.
        this.#slots = null;
        await this.#replace(before).catch(() => {});
        this.#mark = this.#status();
        throw storageRefusal(error);
      }
    }
    this.#slots = slots;
  }

  async #replace(slots: RecordSlots): Promise<void> {
    await ensureDirectory(this.#files, dirname(this.#path));
    await replaceFile(this.#files, this.#path, slots.bytes());
  }

  #holds(slots: RecordSlots): boolean {
    try {
      return readWhole(this.#files, this.#path)?.equals(slots.bytes()) ?? false;
    } catch {
      return false;
    }
  }

  #parse(bytes: Buffer): Records {
    let found: ReturnType<typeof RecordSlots.read>;
    try {
      found = RecordSlots.read(bytes);
    } catch {
      if (this.#isFromBefore()) return nothing();
      // The error could quote what is in the file.
      throw new Refusal("runtime_activity_unavailable");
    }
    if (found.generation !== this.#generation) return nothing();
    this.#slots = found.slots;
    return found.records;
  }

  /** The machine's start came after the last write. */
  #isFromBefore(): boolean {
    const status = this.#stat();
    return status !== null && status !== undefined && status.modifiedMs < this.#machineStartedAt;
  }

  #status(): string | null | undefined {
    const status = this.#stat();
    return status && versionOf(status);
  }

  /** Undefined when the disk doesn't say. */
  #stat(): FileStatus | null | undefined {
    try {
      return this.#files.stat(this.#path);
    } catch {
      return undefined;
    }
  }
}

function nothing(): Records {
  return new Map();
}
