/** The machine's processes as `Processes`. */
import { accessSync, constants, readdirSync, readFileSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve, sep } from "node:path";
import type { Clock } from "./clock.ts";
import type { ProcessEntry } from "./process-table.ts";
import type { Processes, TerminalOptions, TerminalProcess } from "./processes.ts";
import { outputOf } from "./program-output.ts";
import { RealClock } from "./real-clock.ts";
import { foregroundOf, readProcess } from "./real-process-table.ts";
import { UnixTerminal } from "./terminals/unix-terminal.ts";
import { WindowsTerminal } from "./terminals/windows-terminal.ts";

function pids(): number[] {
  return readdirSync("/proc").map(Number).filter(Number.isInteger);
}

/**
 * Only root may read the environment of another user's process. Other users' processes aren't
 * examined at all.
 */
function hasInEnvironment(pid: number, user: number | undefined, wanted: Buffer): boolean {
  try {
    if (statSync(`/proc/${pid}`).uid !== user) return false;
    return Buffer.concat([NUL, readFileSync(`/proc/${pid}/environ`)]).includes(wanted);
  } catch {
    return false;
  }
}

const NUL = Buffer.from([0]);
const HAS_PROC = process.platform === "linux";

export class RealProcesses implements Processes {
  readonly #clock: Pick<Clock, "monotonic" | "after">;

  constructor(clock: Pick<Clock, "monotonic" | "after"> = new RealClock()) {
    this.#clock = clock;
  }

  openTerminal(options: TerminalOptions): TerminalProcess {
    const clock = this.#clock;
    if (process.platform === "win32") return new WindowsTerminal(options, clock);
    return new UnixTerminal({ ...options, clock, interrupt: (leader) => this.#interrupt(leader) });
  }

  /** Where the system doesn't tell what is in the foreground, its leader is. */
  #interrupt(leader: number): void {
    const foreground = HAS_PROC ? foregroundOf(leader) : leader;
    if (foreground > 0) this.signal(-foreground, "SIGINT");
  }

  birthOf(pid: number): string | null {
    if (HAS_PROC) return readProcess(pid)?.birth ?? null;
    // Elsewhere the system doesn't show start times without another program, so it must be enough
    // that the process lives.
    try {
      process.kill(pid, 0);
      return "";
    } catch {
      return null;
    }
  }

  familyOf(pid: number): number[] {
    if (!HAS_PROC) return [pid];
    const entries = new Map<number, ProcessEntry>();
    for (const other of pids()) {
      const entry = readProcess(other);
      if (entry !== null) entries.set(other, entry);
    }
    const family = new Set(
      [...entries].filter(([id, { session }]) => id === pid || session === pid).map(([id]) => id),
    );
    for (let size = -1; size !== family.size; ) {
      size = family.size;
      for (const [id, { parent }] of entries) if (family.has(parent)) family.add(id);
    }
    return [...family];
  }

  startedWith(name: string, value: string): ReadonlyMap<number, string> {
    const found = new Map<number, string>();
    if (!HAS_PROC) return found;
    const wanted = Buffer.from(`\0${name}=${value}\0`);
    const user = process.geteuid?.();
    for (const pid of pids()) {
      if (pid === process.pid) continue;
      const birth = readProcess(pid)?.birth;
      if (birth === undefined || !hasInEnvironment(pid, user, wanted)) continue;
      // The pid may have been reused in between.
      if (readProcess(pid)?.birth === birth) found.set(pid, birth);
    }
    return found;
  }

  signal(pid: number, signal: "SIGHUP" | "SIGINT" | "SIGTERM" | "SIGKILL"): boolean {
    try {
      process.kill(pid, signal);
      return true;
    } catch {
      return false;
    }
  }

  locate(program: string, path: string, directory: string): string | null {
    if (program.includes(sep)) {
      const file = isAbsolute(program) ? program : resolve(directory, program);
      return isProgram(file) ? file : null;
    }
    for (const folder of path.split(delimiter)) {
      // A relative entry would mean another program in every directory.
      if (isAbsolute(folder) && isProgram(join(folder, program))) return join(folder, program);
    }
    return null;
  }

  outputOf(
    file: string,
    args: readonly string[],
    milliseconds: number,
    environment: Readonly<Record<string, string | undefined>> = process.env,
  ): Promise<string | null> {
    return outputOf(file, args, milliseconds, environment);
  }
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
