/** Other threads of this process, for work that would keep its only one. */

/** A program of ours that runs in a thread: its bundle's name. */
export type ThreadProgram = "scan";

export interface Thread {
  /** Sends a copy; what lies in shared memory is shared. */
  post(message: unknown): void;
  /** Ends it at once, whatever it does. Idempotent; nothing is told any more. */
  stop(): void;
}

export interface ThreadEvents {
  message(value: unknown): void;
  /** It ended by itself or failed. Told once. */
  ended(): void;
}

export interface Threads {
  /** Null where a thread would only take this one's time: with one processor, or without the program. */
  start(program: ThreadProgram, events: ThreadEvents): Thread | null;
}
