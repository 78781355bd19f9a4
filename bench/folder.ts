/**
 * The folder in which everything of one run lives, so that all sides of a comparison write to the
 * same disk.
 */
import { closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const TMPFS = 0x01021994;
const TOUCHED_BYTES = 512 * 1024 * 1024;

/**
 * A folder that is removed when the process ends. It must be on a disk, because a memory file
 * system syncs nothing. `SVC_BENCH_DIRECTORY` names another place.
 */
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
 * The first write to a page that a virtual machine never used takes ten times as long. This uses
 * and frees as many pages as the sides will write, so that neither side pays for it.
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

/** A path in it that isn't used yet. Short, because sockets' paths are bounded. */
export function scratchPath(name: string): string {
  counter += 1;
  return join(scratchFolder(), `${counter}-${name}`);
}
