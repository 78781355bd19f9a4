/**
 * Attached files as their names say them: each is named by the SHA-256 of its bytes, which is
 * computed whenever a file is read, unless nothing has touched the file since.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Clock } from "../../../platform/clock.ts";
import { errorCode } from "../../../platform/durable.ts";
import type { FileStatus, Files } from "../../../platform/files.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { fileChunks } from "./file-streams.ts";

/** What is wrong with a file. */
export type FileProblem = "missing" | "damaged";

interface Finding {
  version: string;
  isWhole: boolean;
  /** Monotonic. */
  at: number;
}

/** A second write within one tick of the file system's clock leaves the times as they were. */
const SETTLED_MS = 2000;
/** Whoever puts a file back needn't wait longer, whatever its times say. */
const DAMAGED_MS = 10_000;

export class CheckedFiles {
  readonly #files: Files;
  readonly #clock: Clock;
  readonly #directory: string;
  readonly #findings = new Map<string, Finding>();
  #last: Promise<unknown> = Promise.resolve();

  constructor({ files, clock }: { files: Files; clock: Clock }, directory: string) {
    this.#files = files;
    this.#clock = clock;
    this.#directory = directory;
  }

  /**
   * What is wrong with a file, null for nothing. Reads it whole where it isn't known, and always if
   * `again`. One file at a time, and yields to the event loop.
   */
  look(sha256: string, again = false): Promise<FileProblem | null> {
    const result = this.#last.then(() => this.#look(sha256, again));
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Throws file_damaged or blob_not_found. */
  async check(sha256: string): Promise<void> {
    const problem = await this.look(sha256);
    if (problem !== null) throw problemOf(sha256, problem);
  }

  /** Whether a whole file is sent only once all of it was checked; throws file_damaged. */
  needsCheck(sha256: string): boolean {
    const status = this.#status(sha256);
    const known = status === null ? null : this.#known(sha256, versionOf(status));
    if (known === false) throw problemOf(sha256, "damaged");
    return known === null;
  }

  /**
   * The bytes from `start` to before `end`. The last chunk comes only once all of them are known to
   * be the file's: those of a whole file are hashed on the way, and a part is read after the whole
   * was checked. Throws file_damaged or blob_not_found.
   */
  async *chunks(
    sha256: string,
    { bytes, start, end }: { bytes: number; start: number; end: number },
  ): AsyncGenerator<Uint8Array> {
    const before = this.#version(sha256);
    const isUnknown = this.needsCheck(sha256);
    const hash = isUnknown && start === 0 && end === bytes ? createHash("sha256") : null;
    if (isUnknown && hash === null) await this.check(sha256);
    let held: Uint8Array | null = null;
    try {
      for await (const chunk of fileChunks(this.#open(sha256), start, end)) {
        hash?.update(chunk);
        if (held !== null) yield held;
        held = chunk;
      }
    } catch (error) {
      throw unreadable(sha256, error);
    }
    const isWhole = hash === null ? this.#version(sha256) === before : hash.digest("hex") === sha256;
    if (hash !== null) this.#note(sha256, before, isWhole);
    if (!isWhole) throw problemOf(sha256, "damaged");
    if (held !== null) yield held;
  }

  async #look(sha256: string, again: boolean): Promise<FileProblem | null> {
    const status = this.#status(sha256);
    if (status === null) return "missing";
    const before = versionOf(status);
    const known = again ? null : this.#known(sha256, before);
    if (known !== null) return known ? null : "damaged";
    const hash = createHash("sha256");
    try {
      for await (const chunk of fileChunks(this.#open(sha256), 0, undefined, { shared: true })) {
        hash.update(chunk);
      }
    } catch (error) {
      return unreadable(sha256, error).code === "blob_not_found" ? "missing" : "damaged";
    }
    const isWhole = hash.digest("hex") === sha256;
    this.#note(sha256, before, isWhole);
    return isWhole ? null : "damaged";
  }

  #open(sha256: string) {
    return this.#files.open(join(this.#directory, sha256), "read");
  }

  #status(sha256: string): FileStatus | null {
    try {
      const status = this.#files.stat(join(this.#directory, sha256));
      return status?.kind === "file" ? status : null;
    } catch (error) {
      throw unreadable(sha256, error);
    }
  }

  /** Throws blob_not_found. */
  #version(sha256: string): string {
    const status = this.#status(sha256);
    if (status === null) throw problemOf(sha256, "missing");
    return versionOf(status);
  }

  /** Null when it has to be read. */
  #known(sha256: string, version: string): boolean | null {
    const finding = this.#findings.get(sha256);
    if (finding === undefined || finding.version !== version) return null;
    if (!finding.isWhole && this.#clock.monotonic() - finding.at > DAMAGED_MS) return null;
    return finding.isWhole;
  }

  /** Remembers what a reading found of a file that was `before` at its beginning. */
  #note(sha256: string, before: string, isWhole: boolean): void {
    const status = this.#status(sha256);
    const isSettled = status !== null && this.#clock.now() - status.changedMs > SETTLED_MS;
    this.#findings.delete(sha256);
    if (status === null || versionOf(status) !== before || (isWhole && !isSettled)) return;
    if (this.#findings.size >= LIMITS.attachment.remembered) this.#findings.clear();
    this.#findings.set(sha256, { version: before, isWhole, at: this.#clock.monotonic() });
  }
}

/**
 * What changes when anybody writes or replaces the file. Its times can be set back, all but one.
 */
function versionOf({ device, inode, bytes, modifiedMs, changedMs }: FileStatus): string {
  return `${device} ${inode} ${bytes} ${modifiedMs} ${changedMs}`;
}

function problemOf(sha256: string, problem: FileProblem): Refusal {
  return new Refusal(problem === "missing" ? "blob_not_found" : "file_damaged", { details: { sha256 } });
}

/** A disk that doesn't give the bytes has damaged the file for whoever reads it. */
function unreadable(sha256: string, cause: unknown): Refusal {
  if (cause instanceof Refusal) return cause;
  const code = errorCode(cause);
  if (code === undefined) throw cause;
  if (code === "ENOENT" || code === "ELOOP") return problemOf(sha256, "missing");
  return new Refusal("file_damaged", {
    specifics: `The attached file can't be read (${code}).`,
    details: { sha256 },
    cause,
  });
}
