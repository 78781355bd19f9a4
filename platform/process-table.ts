/** Which processes run, which started which, and which connected a socket, as the system says. */
import type { Socket } from "node:net";

export interface ProcessEntry {
  pid: number;
  /** 0 for none, or for one outside of what this system shows. */
  parent: number;
  /** Distinguishes the process from a later one with its pid. */
  birth: string;
  /** 0 where the system doesn't say. */
  session: number;
  /** Its controlling terminal; empty for none. */
  terminal: string;
  /** Of its program, as the system shortens it. */
  name: string;
}

export interface ProcessTable {
  /** The process, the one that started it, and so on; empty if it is gone or can't be read. */
  ancestry(pid: number): Promise<readonly ProcessEntry[]>;
  /** The process that had this birth still runs. */
  isThere(entry: Pick<ProcessEntry, "pid" | "birth">): boolean;
  /** Seconds since the machine's start. */
  uptime(): number;
  /** The process began after that moment, as far as the system says. */
  beganAfter(entry: Pick<ProcessEntry, "birth">, uptime: number): boolean;
  /** Its controlling terminal now; empty for none. */
  terminalOf(pid: number): string;
  /**
   * What these variables were when the process's program was started. Those that weren't set, or
   * that the system doesn't show, are missing.
   */
  environment(pid: number, names: readonly string[]): Readonly<Record<string, string>>;
}

/** Where the system says who is at the other end of a local socket. */
export interface SocketPeers {
  /** False: the system, or this machine, has no way to know. */
  readonly canTell: boolean;
  /**
   * The process that connected the socket. Null if it is gone, isn't visible here, or can't be
   * known. The socket's reading is paused afterwards. Rejects if it couldn't be asked for this
   * time.
   */
  pidOf(socket: Socket): Promise<number | null>;
}
