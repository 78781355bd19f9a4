/**
 * The daemon's log: one JSON line per entry, owner-only, bounded. When the file is full it becomes
 * `log.1`, and the previous `log.1` is removed. Services write names, ids, codes and counts.
 * Anything that still could be a secret is removed here. If something repeats one event without
 * end, such as a peer whose requests are refused, it doesn't push everything else out of the file.
 */
import pino from "pino";
import { LIMITS } from "../shared/limits.ts";
import type { Clock } from "./clock.ts";
import type { Files, OpenFile } from "./files.ts";
import type { Log, LogFields } from "./log.ts";

/** Never written, wherever they appear. */
const REDACTED = ["authorization", "cookie", "token", "secret", "key", "login_code", "text", "body"];

class BoundedFile {
  readonly #files: Files;
  readonly #path: string;
  #file: OpenFile | null = null;

  constructor(files: Files, path: string) {
    this.#files = files;
    this.#path = path;
  }

  /** A log that can't be written must not stop the daemon. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    const isFull = (): boolean => this.#open().size() + bytes.length > LIMITS.log.fileBytes;
    try {
      // Other processes may write to it, too, and may have begun a new one.
      if (isFull()) this.close();
      if (isFull()) this.#rotate();
      const file = this.#open();
      file.write(bytes, file.size());
    } catch {
      this.close();
    }
  }

  close(): void {
    this.#file?.close();
    this.#file = null;
  }

  #open(): OpenFile {
    this.#file ??= this.#files.open(this.#path, this.#files.stat(this.#path) === null ? "create" : "write");
    return this.#file;
  }

  #rotate(): void {
    this.close();
    this.#files.rename(this.#path, `${this.#path}.1`);
  }
}

const MINUTE_MS = 60_000;

interface Minute {
  /** `Clock.monotonic()` at its first line. */
  since: number;
  lines: number;
  leftOut: number;
}

/**
 * The maximum number of lines of each event per minute. There are few events: their names are in
 * the code.
 */
class Rations {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #minutes = new Map<string, Minute>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** The extra fields of the event's line; null if it is left out. */
  take(event: string): LogFields | null {
    const now = this.#clock.monotonic();
    let minute = this.#minutes.get(event);
    let told: LogFields = {};
    if (minute === undefined || now - minute.since >= MINUTE_MS) {
      if (minute !== undefined && minute.leftOut > 0) told = { left_out_before: minute.leftOut };
      minute = { since: now, lines: 0, leftOut: 0 };
      this.#minutes.set(event, minute);
    }
    if (minute.lines === LIMITS.log.eventLinesPerMinute) {
      minute.leftOut += 1;
      return null;
    }
    minute.lines += 1;
    if (minute.lines === LIMITS.log.eventLinesPerMinute) told = { ...told, more: "left out for one minute" };
    return told;
  }
}

export interface LogFile extends Log {
  close(): void;
}

/** Appends to the file at `path`. Levels below `level` cost nothing. */
export function openLog(
  files: Files,
  clock: Pick<Clock, "monotonic">,
  path: string,
  level: "debug" | "info" = "info",
): LogFile {
  const rations = new Rations(clock);
  const file = new BoundedFile(files, path);
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: [...REDACTED, ...REDACTED.map((name) => `*.${name}`)], censor: "[redacted]" },
    },
    file,
  );
  const at =
    (name: "debug" | "info" | "warn" | "error") =>
    (event: string, fields: LogFields = {}): void => {
      if (!logger.isLevelEnabled(name)) return;
      const more = rations.take(event);
      if (more !== null) logger[name]({ ...fields, ...more }, event);
    };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    close: () => file.close(),
  };
}
