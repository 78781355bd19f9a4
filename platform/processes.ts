/** Processes as the daemon sees them: those in terminals, which it starts, and what the system says of any. */

export interface TerminalOptions {
  /** Absolute path of the program. */
  file: string;
  args: readonly string[];
  /** Working directory. */
  directory: string;
  /** All of its environment: nothing of the daemon's own comes along. */
  environment: Readonly<Record<string, string>>;
  columns: number;
  rows: number;
}

export interface ProcessExit {
  /** Exit code; 0 when a signal ended it. */
  code: number;
  /** Number of the signal that ended it; null when it ended by itself. */
  signal: number | null;
}

/** A process in a terminal of its own, leader of its session. */
export interface TerminalProcess {
  readonly pid: number;
  /** What it writes, in the order written; pieces that come close together are one. Set once, before anything else happens. */
  onOutput(listener: (bytes: Uint8Array) => void): void;
  /** Called once, when it has ended and all of its output was told. */
  onExit(listener: (exit: ProcessExit) => void): void;
  /** Hands `data` to the terminal as one write. Nothing happens after the exit. */
  write(data: string): void;
  resize(columns: number, rows: number): void;
  /** Reads no further output, so that the process waits once the system's buffer is full. */
  pause(): void;
  resume(): void;
}

export interface Processes {
  /** Starts a process in a new terminal. Throws Node's errors. */
  openTerminal(options: TerminalOptions): TerminalProcess;
  /** What tells the process from a later one with the same pid: its start time. Null when there is none. */
  birthOf(pid: number): string | null;
  /** The process, its session and everything that descends from it, as far as they live. */
  familyOf(pid: number): number[];
  /**
   * This user's other living processes that were started with `name`=`value` in their environment, each with its birth. None where the system
   * doesn't tell environments.
   */
  startedWith(name: string, value: string): ReadonlyMap<number, string>;
  /** Sends a signal; false when the process is gone. */
  signal(pid: number, signal: "SIGHUP" | "SIGINT" | "SIGTERM" | "SIGKILL"): boolean;
  /** Absolute path of a program: looked up in `path` (colons between) unless it names a file itself, then from `directory`. Null when there is none. */
  locate(program: string, path: string, directory: string): string | null;
  /** What a program writes, at most 64 KiB, when it ends well within the time; else null. */
  outputOf(file: string, args: readonly string[], milliseconds: number): Promise<string | null>;
}
