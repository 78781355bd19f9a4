/**
 * Processes as the daemon sees them: those that it starts in terminals, and what the system says
 * about any process.
 */

export interface TerminalOptions {
  /** Absolute path of the program. */
  file: string;
  args: readonly string[];
  /** Working directory. */
  directory: string;
  /** Its whole environment. Nothing of the daemon's own environment is passed on. */
  environment: Readonly<Record<string, string>>;
  columns: number;
  rows: number;
}

export interface ProcessExit {
  /** Exit code; 0 if a signal ended it. */
  code: number;
  /** Number of the signal that ended it; null if it ended by itself. */
  signal: number | null;
}

/**
 * What became of input that a terminal has accepted: only what is `written` can be read by the
 * process.
 */
export interface InputReceipt {
  readonly state: "waiting" | "written" | "dropped";
}

/** A process in its own terminal, as the leader of its session. */
export interface TerminalProcess {
  readonly pid: number;
  /** Bytes of input that the process hasn't made room for yet, without `answer`s. */
  readonly unread: number;
  /** Input waits, and the process hasn't read any for a while (LIMITS.terminal.stuckSeconds). */
  readonly isStuck: boolean;
  /**
   * Its output in order. Pieces that come close together are merged. Set once, before anything else
   * happens.
   */
  onOutput(listener: (bytes: Uint8Array) => void): void;
  /** Called once, after it has ended and all of its output was passed on. */
  onExit(listener: (exit: ProcessExit) => void): void;
  /** Called when `isStuck` changes. Set once. */
  onStuck(listener: () => void): void;
  /**
   * Takes `data` as one piece of input that reaches the process in its order, once it reads. Null
   * if too much waits already (LIMITS.terminal.unreadBytes) or it has ended: nothing is taken then.
   */
  write(data: string): InputReceipt | null;
  /**
   * An answer of the terminal to a question of the process. Answers that nobody reads are dropped
   * (LIMITS.terminal.answerBytes).
   */
  answer(data: string): void;
  /** Drops what waits to be read; gives how many bytes. */
  dropInput(): number;
  /** Interrupts (SIGINT) the processes in the foreground of the terminal, as its driver would. */
  interrupt(): void;
  resize(columns: number, rows: number): void;
  /** Stops reading output, so that the process waits once the system's buffer is full. */
  pause(): void;
  resume(): void;
}

export interface Processes {
  /** Starts a process in a new terminal. Throws Node's errors. */
  openTerminal(options: TerminalOptions): TerminalProcess;
  /**
   * Distinguishes the process from a later one with the same pid: its start time. Null if there is
   * none.
   */
  birthOf(pid: number): string | null;
  /** The process, its session and all its living descendants. */
  familyOf(pid: number): number[];
  /**
   * This user's other living processes that were started with `name`=`value` in their environment,
   * each with its birth. None if the system doesn't show environments.
   */
  startedWith(name: string, value: string): ReadonlyMap<number, string>;
  /** Sends a signal; false if the process is gone. */
  signal(pid: number, signal: "SIGHUP" | "SIGINT" | "SIGTERM" | "SIGKILL"): boolean;
  /**
   * Absolute path of a program: looked up in `path` (separated by colons) unless it names a file
   * itself, then from `directory`. Null if there is none.
   */
  locate(program: string, path: string, directory: string): string | null;
  /**
   * A program's output, at most 64 KiB, if it succeeds in time; else null. `environment` is its
   * whole environment, by default this process's.
   */
  outputOf(
    file: string,
    args: readonly string[],
    milliseconds: number,
    environment?: Readonly<Record<string, string | undefined>>,
  ): Promise<string | null>;
}
