/** The machine's processes: from /proc, or where there is none, from `ps`. */
import { execFile } from "node:child_process";
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { uptime } from "node:os";
import type { ProcessEntry, ProcessTable } from "./process-table.ts";

/** A second's, in which Linux gives the start of a process to programs (proc_pid_stat(5)). */
const TICKS = 100;
/** More levels than this aren't read. */
const LEVELS = 64;
const PS_BYTES = 16 * 1024 * 1024;
const PS_MS = 5000;
/** `lstart` is five words. */
const PS_LINE = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\d+\s+\S+\s+\d+)\s+(.*)$/;

/**
 * Holds one line of /proc. `readFileSync` takes 64 KiB for a file without a size, for each running
 * Actor every second.
 */
const LINE = Buffer.allocUnsafeSlow(4096);

function readLine(path: string): string {
  const file = openSync(path, "r");
  try {
    return LINE.toString("latin1", 0, readSync(file, LINE, 0, LINE.length, 0));
  } finally {
    closeSync(file);
  }
}

/** One process from /proc (proc_pid_stat(5)); null if it is gone or only its exit code is left. */
export function readProcess(pid: number): ProcessEntry | null {
  try {
    const stat = readLine(`/proc/${pid}/stat`);
    // The name is in parentheses and may contain anything.
    const end = stat.lastIndexOf(")");
    const fields = stat.slice(end + 2).split(" ");
    if (fields[0] === "Z" || fields[0] === "X") return null;
    const terminal = fields[4] ?? "0";
    return {
      pid,
      parent: Number(fields[1]),
      session: Number(fields[3]),
      terminal: terminal === "0" ? "" : terminal,
      birth: fields[19] ?? "",
      name: stat.slice(stat.indexOf("(") + 1, end),
    };
  } catch {
    return null;
  }
}

/**
 * The process group in the foreground of a process's terminal (proc_pid_stat(5)); -1 without one.
 */
export function foregroundOf(pid: number): number {
  try {
    const stat = readLine(`/proc/${pid}/stat`);
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[5]);
  } catch {
    return -1;
  }
}

/** From `ps -axo pid=,ppid=,tty=,lstart=,comm=`. */
export function readProcessList(text: string): Map<number, ProcessEntry> {
  const found = new Map<number, ProcessEntry>();
  for (const line of text.split("\n")) {
    const [, pid, parent, terminal, birth, path = ""] = PS_LINE.exec(line) ?? [];
    if (pid === undefined) continue;
    found.set(Number(pid), {
      pid: Number(pid),
      parent: Number(parent),
      session: 0,
      terminal: /^\?+$|^-$/.test(terminal!) ? "" : terminal!,
      birth: birth!.replaceAll(/\s+/g, " "),
      name: path.slice(path.lastIndexOf("/") + 1).trim(),
    });
  }
  return found;
}

function climb(pid: number, entryOf: (pid: number) => ProcessEntry | null): ProcessEntry[] {
  const found: ProcessEntry[] = [];
  for (let at = pid; at > 0 && found.length < LEVELS; ) {
    const entry = entryOf(at);
    if (entry === null) break;
    found.push(entry);
    at = entry.parent;
  }
  return found;
}

/** The numbers of a process may change while its ancestors are read: two equal readings count. */
class ProcProcessTable implements ProcessTable {
  ancestry(pid: number): Promise<readonly ProcessEntry[]> {
    for (let tries = 0; tries < 3; tries += 1) {
      const first = climb(pid, readProcess);
      const again = climb(pid, readProcess);
      if (first.map(nameOf).join() === again.map(nameOf).join()) return Promise.resolve(again);
    }
    return Promise.resolve([]);
  }

  isThere({ pid, birth }: Pick<ProcessEntry, "pid" | "birth">): boolean {
    return readProcess(pid)?.birth === birth;
  }

  uptime(): number {
    return uptime();
  }

  /** The system counts in hundredths, and its clocks may differ by one. */
  beganAfter({ birth }: Pick<ProcessEntry, "birth">, moment: number): boolean {
    return Number(birth) / TICKS > moment + 2 / TICKS;
  }

  terminalOf(pid: number): string {
    return readProcess(pid)?.terminal ?? "";
  }

  environment(pid: number, names: readonly string[]): Readonly<Record<string, string>> {
    const found: Record<string, string> = {};
    let text = "";
    try {
      text = readFileSync(`/proc/${pid}/environ`, "utf8");
    } catch {
      // Another user's, or gone.
    }
    for (const pair of text.split("\0")) {
      const at = pair.indexOf("=");
      const name = pair.slice(0, at);
      if (names.includes(name)) found[name] ??= pair.slice(at + 1);
    }
    return found;
  }
}

function nameOf({ pid, birth }: ProcessEntry): string {
  return `${pid} ${birth}`;
}

/** Sessions and environments aren't known here. */
class PsProcessTable implements ProcessTable {
  async ancestry(pid: number): Promise<readonly ProcessEntry[]> {
    const text = await new Promise<string>((resolve) => {
      const options = { timeout: PS_MS, maxBuffer: PS_BYTES, env: { LC_ALL: "C" } };
      execFile("/bin/ps", ["-axo", "pid=,ppid=,tty=,lstart=,comm="], options, (error, output) =>
        resolve(error === null ? output : ""),
      );
    });
    const all = readProcessList(text);
    return climb(pid, (at) => all.get(at) ?? null);
  }

  isThere({ pid }: Pick<ProcessEntry, "pid" | "birth">): boolean {
    try {
      process.kill(pid, 0);
      return true;
    } catch {
      return false;
    }
  }

  uptime(): number {
    return uptime();
  }

  beganAfter(): boolean {
    return false;
  }

  terminalOf(): string {
    return "";
  }

  environment(): Readonly<Record<string, string>> {
    return {};
  }
}

/** Of this system. */
export function processTable(platform: NodeJS.Platform): ProcessTable {
  return platform === "linux" ? new ProcProcessTable() : new PsProcessTable();
}
