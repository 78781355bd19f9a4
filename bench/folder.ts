/** The folder in which everything of one run lives, so that all sides of a comparison write to the same disk. */
import { closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const TMPFS = 0x01021994;
const TOUCHED_BYTES = 512 * 1024 * 1024;

/** A folder that is gone when the process ends. On a disk: a memory file system syncs nothing. `SVC_BENCH_DIRECTORY` names another place. */
function makeScratch(): string {
  const wanted = process.env["SVC_BENCH_DIRECTORY"] ?? tmpdir();
  const parent = statfsSync(wanted).type === TMPFS ? "/var/tmp" : wanted;
  if (statfsSync(parent).type === TMPFS) {
    throw new Error(`${parent} lies in memory; name a folder on a disk with SVC_BENCH_DIRECTORY`);
  }
  const folder = mkdtempSync(join(parent, "svc-bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Pages that a virtual machine never used cost whoever writes to them first ten times as much. Uses and frees as many as the sides will
 * write, so that it is neither of them: a program that writes the same file again would never pay, one that goes on writing always.
 */
function touchMemory(folder: string): void {
  const path = join(folder, "touched");
  const file = openSync(path, "w");
  const piece = Buffer.alloc(1024 * 1024);
  for (let at = 0; at < TOUCHED_BYTES; at += piece.length) writeSync(file, piece);
  closeSync(file);
  rmSync(path);
}

let scratch: string | undefined;

export function scratchFolder(): string {
  if (scratch === undefined) {
    scratch = makeScratch();
    touchMemory(scratch);
  }
  return scratch;
}

let counter = 0;

/** A path in it that nobody uses yet. Short, because sockets' paths are bounded. */
export function scratchPath(name: string): string {
  counter += 1;
  return join(scratchFolder(), `${counter}-${name}`);
}
