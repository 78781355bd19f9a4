/** The folder in which everything of one run lives, so that all sides of a comparison write to the same disk. */
import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const TMPFS = 0x01021994;

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

let scratch: string | undefined;

export function scratchFolder(): string {
  scratch ??= makeScratch();
  return scratch;
}

let counter = 0;

/** A path in it that nobody uses yet. Short, because sockets' paths are bounded. */
export function scratchPath(name: string): string {
  counter += 1;
  return join(scratchFolder(), `${counter}-${name}`);
}
