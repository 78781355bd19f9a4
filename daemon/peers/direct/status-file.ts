/**
 * `state/connect/direct_status.json`: what the daemon sees of its listener and channels, written on
 * a change and while there is something to watch.
 */
import { dirname } from "node:path";
import { type Clock, type Timer, timestamp } from "../../../platform/clock.ts";
import { ensureDirectory, replaceFile } from "../../../platform/durable.ts";
import type { Files } from "../../../platform/files.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { DirectRuntime } from "../../../shared/operations/direct.ts";

interface Dependencies {
  files: Files;
  clock: Clock;
  log: Log;
  path: string;
  /** The current status; null when there is nothing to watch. */
  look: () => Omit<DirectRuntime, "checked_at"> | null;
}

const REFRESH_MS = LIMITS.direct.statusSeconds * 1000;
const FRESH_MS = LIMITS.direct.statusFreshSeconds * 1000;

export class StatusFile {
  readonly #deps: Dependencies;
  #status: DirectRuntime | null = null;
  #checked = 0;
  #timer: Timer | null = null;
  #writing: Promise<void> | null = null;
  #again = false;
  #closed = false;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** The latest status; null when it is too old to mean anything. */
  get value(): DirectRuntime | null {
    return this.#deps.clock.monotonic() - this.#checked <= FRESH_MS ? this.#status : null;
  }

  /** Something changed. */
  refresh(): void {
    if (this.#closed) return;
    const { clock, look } = this.#deps;
    this.#timer?.cancel();
    this.#timer = null;
    const seen = look();
    const before = this.#status;
    this.#status = seen === null ? null : { checked_at: timestamp(clock), ...seen };
    this.#checked = clock.monotonic();
    if (this.#status !== null) {
      this.#timer = clock.after(REFRESH_MS, () => this.refresh(), { background: true });
    }
    if (this.#status === null && before === null) return;
    if (this.#writing === null) this.#writing = this.#write();
    else this.#again = true;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    await this.#writing;
  }

  async #write(): Promise<void> {
    const { files, log, path } = this.#deps;
    do {
      this.#again = false;
      try {
        await ensureDirectory(files, dirname(dirname(path)));
        await ensureDirectory(files, dirname(path));
        const text = this.#status === null ? "null" : JSON.stringify(this.#status);
        await replaceFile(files, path, Buffer.from(`${text}\n`), { durable: false });
      } catch (error) {
        // It is for outside observers. The daemon itself doesn't read it.
        log.warn("direct status", errorFields(error));
      }
    } while (this.#again);
    this.#writing = null;
  }
}
