/**
 * How many files and connections this process may have open. Node raises the soft limit to the hard
 * one when it starts.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** What a process may have open, and has. */
export class Descriptors {
  /** Null where the system sets no limit or doesn't say. */
  readonly limit: number | null;
  readonly #folder: string | null;
  #connections = 0;

  constructor(limit: number | null, folder: string | null) {
    this.limit = limit;
    this.#folder = folder;
  }

  /** How many are open now; null if the system doesn't say. */
  inUse(): number | null {
    if (this.#folder === null) return null;
    try {
      return readdirSync(this.#folder).length;
    } catch {
      return null;
    }
  }

  /** One of them is a connection that a port has taken, until the returned function is called. */
  connected(): () => void {
    this.#connections += 1;
    let isOpen = true;
    return () => {
      if (isOpen) this.#connections -= 1;
      isOpen = false;
    };
  }

  /**
   * Whether another file may be kept open beside `connections`, which the ports may take, and
   * `spare` for what comes and goes.
   */
  hasRoomBeside(connections: number, spare: number): boolean {
    const open = this.inUse();
    if (this.limit === null || open === null) return true;
    return this.limit - (open - this.#connections) > connections + spare;
  }
}

/** For tests and for Windows, which counts no descriptors. */
export const UNLIMITED = new Descriptors(null, null);

const LIMIT = /^Max open files\s+(\d+)\s/m;

/** Of this process on this machine. */
export function realDescriptors(platform: NodeJS.Platform): Descriptors {
  if (platform === "win32") return UNLIMITED;
  return new Descriptors(limitOf(platform), platform === "linux" ? "/proc/self/fd" : "/dev/fd");
}

function limitOf(platform: NodeJS.Platform): number | null {
  try {
    const text =
      platform === "linux"
        ? LIMIT.exec(readFileSync("/proc/self/limits", "latin1"))?.[1]
        : // A child has the same limit.
          spawnSync("/bin/sh", ["-c", "ulimit -n"], { encoding: "latin1", timeout: 5000 }).stdout.trim();
    const limit = Number(text);
    return Number.isSafeInteger(limit) && limit > 0 ? limit : null;
  } catch {
    return null;
  }
}
