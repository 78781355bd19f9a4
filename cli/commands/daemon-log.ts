/**
 * The last lines of the daemon's log, and new ones. It is read from the Home, so that it works when
 * no daemon answers.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { unreadable } from "../../client/connection.ts";
import { homePaths } from "../../client/paths.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { CommandContext } from "../context.ts";
import { oneLine, type Style } from "../output.ts";
import { moment } from "../render.ts";

const DEFAULT_LINES = 50;
const LOOK_MS = 250;
/** Levels that are highlighted. */
const STYLES: Readonly<Record<string, Style>> = { warn: "yellow", error: "red" };

/** A log file that may grow, be rotated, or not exist yet. */
class LogTail {
  readonly #path: string;
  #file: { descriptor: number; inode: number } | null = null;
  #position = 0;
  #rest = "";

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * The lines since the last call. After a rotation, first those that weren't read from the old
   * file.
   */
  lines(): string[] {
    const lines = this.#read();
    const { ino } = statSync(this.#path, { throwIfNoEntry: false }) ?? {};
    if (ino === undefined || ino === this.#file?.inode) return lines;
    this.close();
    const descriptor = openSync(this.#path, "r");
    this.#file = { descriptor, inode: fstatSync(descriptor).ino };
    this.#position = 0;
    this.#rest = "";
    return [...lines, ...this.#read()];
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file.descriptor);
    this.#file = null;
  }

  #read(): string[] {
    if (this.#file === null) return [];
    // The daemon keeps each file below this size.
    const bytes = Buffer.alloc(2 * LIMITS.log.fileBytes);
    const count = readSync(this.#file.descriptor, bytes, 0, bytes.length, this.#position);
    this.#position += count;
    const lines = (this.#rest + bytes.toString("utf8", 0, count)).split("\n");
    this.#rest = lines.pop() ?? "";
    return lines.filter((line) => line !== "");
  }
}

/** Everything in the log: the previous file, then the current one. Throws DaemonUnreachable. */
function past(home: string, path: string): { lines: string[]; tail: LogTail } {
  try {
    const before = new LogTail(`${path}.1`);
    const earlier = before.lines();
    before.close();
    const tail = new LogTail(path);
    return { lines: [...earlier, ...tail.lines()], tail };
  } catch (error) {
    throw unreadable(home, error);
  }
}

export async function logs(context: CommandContext): Promise<number> {
  const { out } = context;
  const path = homePaths(context.home).daemon.log;
  const { lines, tail } = past(context.home, path);
  const follows = context.has("follow");
  if (lines.length === 0 && !follows) out.note(`svc: there is no log yet at ${path}`);
  const wanted = context.number("lines") ?? DEFAULT_LINES;
  for (const line of wanted === 0 ? [] : lines.slice(-wanted)) print(context, line);
  if (!follows) {
    tail.close();
    return 0;
  }
  for (;;) {
    await delay(LOOK_MS);
    for (const line of tail.lines()) print(context, line);
  }
}

/** With --json, the line as it is. For people, its time, level, message and fields. */
function print({ out }: CommandContext, line: string): void {
  const entry = out.json ? null : parsed(line);
  if (entry === null) {
    out.line(out.json ? line : oneLine(line));
    return;
  }
  const { time, level, msg, ...fields } = entry;
  const style = STYLES[String(level)];
  const word = String(level).padEnd(5);
  const told = Object.entries(fields).map(([name, value]) => `${name}=${shown(value)}`);
  out.line(
    [
      out.style("dim", moment(String(time))),
      style ? out.style(style, word) : word,
      oneLine(String(msg)),
      ...told,
    ]
      .join("  ")
      .trimEnd(),
  );
}

function shown(value: unknown): string {
  return oneLine(typeof value === "string" ? value : JSON.stringify(value));
}

function parsed(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
