/**
 * One Actor's records on disk: `groups/<id>/runtime-activity/<actor>.json`. Written whole and durable, looked at again before each use, so
 * that a file that somebody damaged, repaired or removed meanwhile is noticed. Damage is told, never repaired and never read as empty.
 */
import { dirname } from "node:path";
import * as z from "zod";
import { RuntimeActivityEvent } from "../../shared/activity/event.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { ensureDirectory, readWhole, replaceFile, storageRefusal } from "../home/durable.ts";
import type { Files } from "../platform/files.ts";

/** The latest revision of an activity, with its start: durations need no more (ACT-047). */
export interface ActivityRecord {
  event: RuntimeActivityEvent;
  started_at: string;
}

/** By activity_id, oldest revision first. */
export type Records = ReadonlyMap<string, ActivityRecord>;

const FileContent = z.strictObject({
  v: z.literal(1),
  /** Of the Actor. */
  generation: z.string(),
  records: z
    .array(z.strictObject({ event: RuntimeActivityEvent, started_at: z.string() }))
    .max(LIMITS.activity.records),
});

export class RecordsFile {
  readonly #files: Files;
  readonly #path: string;
  readonly #generation: string;
  /** Status of the file as last read or written; null when there was none. */
  #mark: string | null | undefined;

  constructor(files: Files, path: string, generation: string) {
    this.#files = files;
    this.#path = path;
    this.#generation = generation;
  }

  /** Whether the file isn't the one last read or written. */
  hasChanged(): boolean {
    return this.#mark !== this.#status();
  }

  /** Of another generation of the Actor nothing is taken over. Throws runtime_activity_unavailable. */
  read(): Records {
    let bytes: Buffer | null;
    const mark = this.#status();
    try {
      bytes = readWhole(this.#files, this.#path);
    } catch (error) {
      throw new Refusal("runtime_activity_unavailable", { cause: error });
    }
    const records = bytes === null ? new Map<string, ActivityRecord>() : this.#parse(bytes);
    this.#mark = bytes === null ? null : mark;
    return records;
  }

  /**
   * Durable when resolved. When the disk fails late it may be there all the same: then the bytes decide, not the error (HOOK-014). Throws
   * storage_full or storage_failed, and what was there before counts.
   */
  async write(records: Records): Promise<void> {
    const content = { v: 1, generation: this.#generation, records: [...records.values()] };
    const bytes = Buffer.from(`${JSON.stringify(content)}\n`);
    try {
      await ensureDirectory(this.#files, dirname(this.#path));
      await replaceFile(this.#files, this.#path, bytes);
    } catch (error) {
      if (!this.#holds(bytes)) {
        this.#mark = this.#status();
        throw storageRefusal(error);
      }
    }
    this.#mark = this.#status();
  }

  #holds(bytes: Buffer): boolean {
    try {
      return readWhole(this.#files, this.#path)?.equals(bytes) ?? false;
    } catch {
      return false;
    }
  }

  #parse(bytes: Buffer): Records {
    let content: z.infer<typeof FileContent>;
    try {
      content = FileContent.parse(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
    } catch {
      // The error could quote what is in the file.
      throw new Refusal("runtime_activity_unavailable");
    }
    if (content.generation !== this.#generation) return new Map();
    return new Map(content.records.map((record) => [record.event.activity_id, record]));
  }

  #status(): string | null {
    const status = this.#files.stat(this.#path);
    return status === null ? null : `${status.kind} ${status.inode} ${status.bytes} ${status.modifiedMs}`;
  }
}
