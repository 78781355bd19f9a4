/** Perl or curl on this machine. Either sends a hook event to the local socket faster than Node. */
import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { outputAtOnce } from "../../platform/program-output.ts";

export interface HookClient {
  program: "perl" | "curl";
  /** Absolute. */
  path: string;
}

/** Reads headers from a file (`-H @FILE`). */
const OLDEST_CURL: readonly [number, number] = [7, 55];
const WAIT_MS = 2000;

/**
 * The Perl script loads no module, so it has to know the system's numbers. It is for systems where
 * these are Linux's usual ones. It then prints the path of the interpreter itself, whatever wrapper
 * is on the path.
 */
const PERL_PROBE =
  'socket S,1,1,0 or exit;unpack("S",getsockname S)==1&&unpack("i",getsockopt S,1,3)==1&&print $^X';

/** The fastest usable one on `path` (as in the environment), or null. */
export function findHookClient(path: string): HookClient | null {
  return findPerl(path) ?? findCurl(path);
}

/** Starts in a quarter of curl's time, because curl loads three dozen libraries first. */
export function findPerl(path: string): HookClient | null {
  const perl = findProgram(path, "perl");
  if (perl === null) return null;
  const found = answer(perl, ["-fT", "-C0", "-e", PERL_PROBE]);
  return isAbsolute(found) && isExecutable(found) ? { program: "perl", path: found } : null;
}

export function findCurl(path: string): HookClient | null {
  const curl = findProgram(path, "curl");
  if (curl === null) return null;
  const version = answer(curl, ["-q", "--version"]);
  const [major = 0, minor = 0] = /^curl (\d+)\.(\d+)/.exec(version)?.slice(1).map(Number) ?? [];
  const isNewEnough = major > OLDEST_CURL[0] || (major === OLDEST_CURL[0] && minor >= OLDEST_CURL[1]);
  return isNewEnough && /\bUnixSockets\b/i.test(version) ? { program: "curl", path: curl } : null;
}

function findProgram(path: string, name: string): string | null {
  for (const directory of path.split(delimiter)) {
    const file = join(directory, name);
    if (isAbsolute(file) && isExecutable(file)) return file;
  }
  return null;
}

/** Standard output; empty if the program can't be run. */
function answer(program: string, args: readonly string[]): string {
  return outputAtOnce(program, args, WAIT_MS);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
