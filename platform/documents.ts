/**
 * Owner-only JSON documents that survive a crash at any point: written to a temporary file, synced
 * and renamed, with the directory synced. lowdb keeps the value, the adapter below the file.
 * lowdb's own adapter neither syncs nor sets modes, and would bypass the simulation.
 */
import { type Adapter, Low } from "lowdb";
import type * as z from "zod";
import { exhaustedRefusal, readWhole, replaceFile, storageRefusal } from "./durable.ts";
import type { Files } from "./files.ts";
import { HomeProblem } from "./problem.ts";

export interface DocumentOptions<T extends object> {
  files: Files;
  path: string;
  /**
   * The newest format that this program reads, which is the one it writes. A document without `v`
   * is format 1.
   */
  version: number;
  schema: z.ZodType<T>;
  /** Knows that the file was there, if it holds what nothing else has. */
  kept?: KeptFiles | undefined;
}

/** Remembers which files there were. */
export interface KeptFiles {
  has(path: string): boolean;
  /** Why a file that there was can't be read. */
  missing(path: string): HomeProblem;
  /** The file is durable. What can't be remembered now is remembered by the next start. */
  add(path: string): Promise<void>;
}

/** Everything in `value` becomes immutable. */
function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) freeze(member);
  }
  return value;
}

class DocumentFile<T extends object> implements Adapter<T> {
  readonly #options: DocumentOptions<T>;

  constructor(options: DocumentOptions<T>) {
    this.#options = options;
  }

  async read(): Promise<T | null> {
    const { files, path, version, schema, kept } = this.#options;
    let bytes: Uint8Array | null;
    try {
      bytes = readWhole(files, path);
    } catch (error) {
      const exhausted = exhaustedRefusal(error);
      if (exhausted !== null) throw exhausted;
      throw new HomeProblem(
        "unreadable",
        path,
        "The file can't be read.",
        "Repair its permissions or disk.",
        error,
      );
    }
    if (bytes === null) {
      if (kept?.has(path) === true) throw kept.missing(path);
      return null;
    }
    const corrupt = (wrong: string, cause?: unknown) =>
      new HomeProblem("corrupt", path, wrong, "It was left unchanged. Restore it from a backup.", cause);
    let raw: unknown;
    try {
      raw = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    } catch {
      // The parser's message quotes the content, which may be secret.
      throw corrupt("The file isn't JSON.");
    }
    const found = typeof raw === "object" && raw !== null && "v" in raw ? raw.v : undefined;
    if (typeof found === "number" && found > version) {
      throw new HomeProblem(
        "unsupported_version",
        path,
        `The file has format ${found}; this program supports up to ${version}.`,
        "Update svc.",
      );
    }
    const parsed = schema.safeParse(raw);
    if (parsed.success) return freeze(parsed.data);
    throw corrupt(`The field '${parsed.error.issues[0]?.path.join(".") ?? ""}' isn't valid.`);
  }

  async write(value: T): Promise<void> {
    const { files, path } = this.#options;
    await replaceFile(files, path, Buffer.from(`${JSON.stringify(value, null, 2)}\n`));
  }
}

/** One JSON file with its last durable value in memory. Changes are applied one after another. */
export class JsonDocument<T extends object> {
  readonly #schema: z.ZodType<T>;
  readonly #low: Low<T>;
  #value: T;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(schema: z.ZodType<T>, low: Low<T>) {
    this.#schema = schema;
    this.#low = low;
    this.#value = low.data;
  }

  /**
   * Opens the file; null if there never was one. Throws HomeProblem for a file that it can't read,
   * and leaves it unchanged.
   */
  static async read<T extends object>(options: DocumentOptions<T>): Promise<JsonDocument<T> | null> {
    const adapter = new DocumentFile(options);
    const value = await adapter.read();
    return value === null ? null : new JsonDocument(options.schema, new Low(adapter, value));
  }

  /** Writes a document over whatever is there. Throws Refusal storage_full or storage_failed. */
  static async create<T extends object>(options: DocumentOptions<T>, value: T): Promise<JsonDocument<T>> {
    const low = new Low(new DocumentFile(options), freeze(options.schema.parse(value)));
    try {
      await low.write();
    } catch (error) {
      throw storageRefusal(error);
    }
    await options.kept?.add(options.path);
    return new JsonDocument(options.schema, low);
  }

  /** The last value known to be durable, immutable. */
  get value(): Readonly<T> {
    return this.#value;
  }

  /**
   * Durable once resolved. On a failure (Refusal storage_full or storage_failed) the old value
   * stays. `change` may throw to change nothing, and returns the same object if there is nothing to
   * change.
   */
  update(change: (value: Readonly<T>) => T): Promise<Readonly<T>> {
    const turn = this.#last.then(() => this.#apply(change));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #apply(change: (value: Readonly<T>) => T): Promise<Readonly<T>> {
    const changed = change(this.#value);
    if (changed === this.#value) return this.#value;
    // A value that couldn't be read back must not be written.
    const next = freeze(this.#schema.parse(changed));
    this.#low.data = next;
    try {
      await this.#low.write();
    } catch (error) {
      this.#low.data = this.#value;
      throw storageRefusal(error);
    }
    this.#value = next;
    return next;
  }
}
