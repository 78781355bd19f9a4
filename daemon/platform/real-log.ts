/**
 * The daemon's log: one JSON line each, owner-only, bounded. When the file is full it becomes `log.1`, and the one before that goes.
 * Rooms write names, ids, codes and counts; what could be a secret in spite of that is taken out here.
 */
import pino from "pino";
import { LIMITS } from "../../shared/limits.ts";
import type { Files, OpenFile } from "./files.ts";
import type { Log, LogFields } from "./log.ts";

/** Never written, wherever they stand. */
const REDACTED = ["authorization", "cookie", "token", "secret", "key", "login_code", "text", "body"];

class BoundedFile {
  readonly #files: Files;
  readonly #path: string;
  #file: OpenFile | null = null;
  #size = 0;

  constructor(files: Files, path: string) {
    this.#files = files;
    this.#path = path;
  }

  /** A log that can't be written must not stop the daemon. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    try {
      if (this.#file === null) this.#open();
      if (this.#size + bytes.length > LIMITS.log.fileBytes) this.#rotate();
      this.#file?.write(bytes, this.#size);
      this.#size += bytes.length;
    } catch {
      this.close();
    }
  }

  close(): void {
    this.#file?.close();
    this.#file = null;
  }

  #open(): void {
    this.#file = this.#files.open(this.#path, this.#files.stat(this.#path) === null ? "create" : "write");
    this.#size = this.#file.size();
  }

  #rotate(): void {
    this.close();
    this.#files.rename(this.#path, `${this.#path}.1`);
    this.#open();
  }
}

export interface LogFile extends Log {
  close(): void;
}

/** Appends to the file at `path`. Levels below `level` cost nothing. */
export function openLog(files: Files, path: string, level: "debug" | "info" = "info"): LogFile {
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
    (event: string, fields: LogFields = {}): void =>
      logger[name](fields, event);
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    close: () => file.close(),
  };
}
