/** Whether this machine has a curl that can reach the local socket. */
import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

/** Reads headers from a file (`-H @FILE`). */
const OLDEST: readonly [number, number] = [7, 55];
const WAIT_MS = 2000;

/** Absolute path of the curl that `path` (as in the environment) leads to; null without a usable one. */
export function findCurl(path: string): string | null {
  for (const directory of path.split(delimiter)) {
    const curl = join(directory, "curl");
    if (!isAbsolute(curl) || !isExecutable(curl)) continue;
    const { stdout } = spawnSync(curl, ["-q", "--version"], { encoding: "utf8", timeout: WAIT_MS });
    const [major = 0, minor = 0] =
      /^curl (\d+)\.(\d+)/
        .exec(stdout ?? "")
        ?.slice(1)
        .map(Number) ?? [];
    const isNewEnough = major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
    return isNewEnough && /\bUnixSockets\b/i.test(stdout) ? curl : null;
  }
  return null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
