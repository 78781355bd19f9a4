/**
 * A process in a terminal of Linux or macOS. node-pty only makes the terminal and resizes it;
 * reading and writing are our own: its writes can stop the event loop, and its end loses output.
 */
import { closeSync, readSync, writeSync } from "node:fs";
import { ReadStream } from "node:tty";
import type { Clock, Timer } from "../clock.ts";
import type { InputReceipt, ProcessExit, TerminalOptions, TerminalProcess } from "../processes.ts";
import { InputQueue } from "./input-queue.ts";
import { masterClosed, masterOpened, withoutGaps } from "./masters.ts";
import { OutputPieces } from "./output-pieces.ts";
import { nativeTerminals } from "./unix-native.ts";

/** What the process left running may hold the terminal open this long after it has ended. */
const LEFT_OPEN_MS = 200;
/**
 * More than the system holds for a terminal; what else comes is of those that were left running.
 */
const DRAIN_BYTES = 256 * 1024;
const DRAIN = Buffer.allocUnsafeSlow(64 * 1024);

export interface UnixTerminalOptions extends TerminalOptions {
  clock: Pick<Clock, "monotonic" | "after">;
  /** Sends SIGINT to the foreground of the terminal that this process leads. */
  interrupt(leader: number): void;
}

export class UnixTerminal implements TerminalProcess {
  readonly pid: number;
  readonly #descriptor: number;
  readonly #stream: ReadStream;
  readonly #options: UnixTerminalOptions;
  readonly #output = new OutputPieces();
  readonly #input: InputQueue;
  #isOpen = true;
  #exit: ProcessExit | null = null;
  #leftOpen: Timer | null = null;
  #onExit: (exit: ProcessExit) => void = () => {};
  #onStuck: () => void = () => {};

  /** Throws Node's errors. A program that can't be run is one that ends at once with code 1. */
  constructor(options: UnixTerminalOptions) {
    this.#options = options;
    const environment = {
      TERM: "xterm-256color",
      ...options.environment,
      PWD: options.directory,
    };
    const { fork, helper } = nativeTerminals();
    const { fd, pid } = withoutGaps(() =>
      fork(
        options.file,
        [...options.args],
        Object.entries(environment).map(([name, value]) => `${name}=${value}`),
        options.directory,
        options.columns,
        options.rows,
        -1,
        -1,
        false,
        helper,
        (code, signal) => this.#exited({ code, signal: signal === 0 ? null : signal }),
      ),
    );
    masterOpened(fd);
    this.pid = pid;
    this.#descriptor = fd;
    this.#input = new InputQueue(
      { write: (bytes, from, to) => writeNow(fd, bytes, from, to) },
      options.clock,
      () => this.#onStuck(),
    );
    this.#stream = this.#reading(fd);
    this.#stream.on("data", (bytes: Buffer) => this.#output.push(bytes));
    this.#stream.on("end", () => this.#close());
    this.#stream.on("error", () => this.#close());
  }

  /** Without a reader the terminal is closed, which ends the process. */
  #reading(descriptor: number): ReadStream {
    try {
      return new ReadStream(descriptor);
    } catch (error) {
      this.#isOpen = false;
      masterClosed(descriptor);
      closeSync(descriptor);
      throw error;
    }
  }

  get unread(): number {
    return this.#input.unread;
  }

  get isStuck(): boolean {
    return this.#input.isStuck;
  }

  onOutput(listener: (bytes: Uint8Array) => void): void {
    this.#output.onOutput(listener);
  }

  onExit(listener: (exit: ProcessExit) => void): void {
    this.#onExit = listener;
  }

  onStuck(listener: () => void): void {
    this.#onStuck = listener;
  }

  write(data: string): InputReceipt | null {
    return this.#input.write(data);
  }

  answer(data: string): void {
    this.#input.answer(data);
  }

  dropInput(): number {
    return this.#input.drop();
  }

  interrupt(): void {
    if (this.#exit === null) this.#options.interrupt(this.pid);
  }

  resize(columns: number, rows: number): void {
    if (!this.#isOpen) return;
    try {
      nativeTerminals().resize(this.#descriptor, columns, rows, 0, 0);
    } catch {
      // The process has just ended.
    }
  }

  pause(): void {
    if (this.#isOpen) this.#stream.pause();
  }

  resume(): void {
    if (this.#isOpen) this.#stream.resume();
  }

  /** The process is gone. Its terminal may be held open by what it left running, or be paused. */
  #exited(exit: ProcessExit): void {
    this.#exit = exit;
    if (!this.#isOpen) return this.#tellExit(exit);
    this.#leftOpen = this.#options.clock.after(LEFT_OPEN_MS, () => this.#close(), { background: true });
  }

  #close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#leftOpen?.cancel();
    this.#input.close();
    if (!this.#stream.destroyed) {
      // What it had read when it was paused goes out as "data".
      while (this.#stream.read() !== null);
      this.#drain();
      this.#stream.destroy();
    }
    masterClosed(this.#descriptor);
    if (this.#exit !== null) this.#tellExit(this.#exit);
  }

  /** libuv takes a terminal whose process has ended for empty too early (libuv#4992). */
  #drain(): void {
    for (let drained = 0; drained < DRAIN_BYTES; ) {
      let bytes: number;
      try {
        bytes = readSync(this.#descriptor, DRAIN, 0, DRAIN.length, null);
      } catch {
        // EIO: all was read. EAGAIN: others still hold it open.
        return;
      }
      if (bytes === 0) return;
      this.#output.push(Buffer.from(DRAIN.subarray(0, bytes)));
      drained += bytes;
    }
  }

  #tellExit(exit: ProcessExit): void {
    this.#output.tell();
    this.#onExit(exit);
  }
}

/** As much as fits now; 0 when nothing does. Throws when the terminal is gone. */
function writeNow(descriptor: number, bytes: Uint8Array, from: number, to: number): number {
  try {
    return writeSync(descriptor, bytes, from, to - from);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return 0;
    throw error;
  }
}
