/** The machine's processes as `Processes`. */
import { execFile } from "node:child_process";
import { accessSync, constants, readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, isAbsolute, join, resolve, sep } from "node:path";
import type { ProcessEntry } from "./process-table.ts";
import type { ProcessExit, Processes, TerminalOptions, TerminalProcess } from "./processes.ts";
import { readProcess } from "./real-process-table.ts";

type NodePty = typeof import("@lydell/node-pty");
type Pty = import("@lydell/node-pty").IPty;

const OUTPUT_BYTES = 64 * 1024;
/** Loaded with the first terminal, because many Homes never need this native code. */
let nodePty: NodePty | undefined;

class RealTerminalProcess implements TerminalProcess {
  readonly #pty: Pty;
  #ended = false;
  /** Output of this turn of the event loop. The system delivers it in small pieces. */
  #pieces: Buffer[] = [];
  #listener: (bytes: Uint8Array) => void = () => {};

  constructor(pty: Pty) {
    this.#pty = pty;
    // A terminal that fails ends. Without its own listeners, node-pty would throw into the event
    // loop.
    const withErrors = pty as unknown as { on(event: "error", listener: () => void): void };
    withErrors.on("error", () => undefined);
    withErrors.on("error", () => undefined);
    // Without an encoding (below) it delivers bytes.
    (pty.onData as unknown as (listener: (bytes: Buffer) => void) => void)((bytes) => {
      this.#pieces.push(bytes);
      if (this.#pieces.length === 1) setImmediate(() => this.#tell());
    });
    pty.onExit(() => {
      this.#ended = true;
    });
  }

  get pid(): number {
    return this.#pty.pid;
  }

  onOutput(listener: (bytes: Uint8Array) => void): void {
    this.#listener = listener;
  }

  onExit(listener: (exit: ProcessExit) => void): void {
    this.#pty.onExit(({ exitCode, signal }) => {
      this.#tell();
      listener({ code: exitCode, signal: signal === undefined || signal === 0 ? null : signal });
    });
  }

  write(data: string): void {
    if (!this.#ended) this.#pty.write(data);
  }

  resize(columns: number, rows: number): void {
    if (this.#ended) return;
    try {
      this.#pty.resize(columns, rows);
    } catch {
      // The process has just ended.
    }
  }

  pause(): void {
    if (!this.#ended) this.#pty.pause();
  }

  resume(): void {
    if (!this.#ended) this.#pty.resume();
  }

  #tell(): void {
    const [first, ...others] = this.#pieces;
    if (first === undefined) return;
    this.#pieces = [];
    this.#listener(others.length === 0 ? first : Buffer.concat([first, ...others]));
  }
}

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
  openTerminal({ file, args, directory, environment, columns, rows }: TerminalOptions): TerminalProcess {
    nodePty ??= createRequire(import.meta.url)("@lydell/node-pty") as NodePty;
    const pty = nodePty.spawn(file, [...args], {
      name: environment["TERM"] ?? "xterm-256color",
      cols: columns,
      rows,
      encoding: null,
      cwd: directory,
      env: { ...environment },
    });
    return new RealTerminalProcess(pty);
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
    return new Promise((done) => {
      execFile(
        file,
        [...args],
        {
          timeout: milliseconds,
          killSignal: "SIGKILL",
          maxBuffer: OUTPUT_BYTES,
          cwd: tmpdir(),
          env: environment,
          windowsHide: true,
        },
        (error, stdout) => done(error === null ? stdout : null),
      ).stdin?.end();
    });
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
