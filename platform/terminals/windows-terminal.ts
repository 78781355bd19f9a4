/** A process in a console of Windows (ConPTY), by node-pty. */
import { createRequire } from "node:module";
import type { Clock } from "../clock.ts";
import type { InputReceipt, ProcessExit, TerminalOptions, TerminalProcess } from "../processes.ts";
import { InputQueue } from "./input-queue.ts";
import { OutputPieces } from "./output-pieces.ts";

type NodePty = typeof import("@lydell/node-pty");
type Pty = import("@lydell/node-pty").IPty;
/** Starts a console; `spawn` of node-pty. */
export type StartConsole = NodePty["spawn"];

const CONTROL_C = "\u0003";

export class WindowsTerminal implements TerminalProcess {
  readonly #pty: Pty;
  readonly #output = new OutputPieces();
  readonly #input: InputQueue;
  #isOpen = true;
  #onStuck: () => void = () => {};

  /** Throws node-pty's errors. */
  constructor(
    { file, args, directory, environment, columns, rows }: TerminalOptions,
    clock: Pick<Clock, "monotonic" | "after">,
    start: StartConsole = loadedSpawn,
  ) {
    const pty = start(file, [...args], {
      cols: columns,
      rows,
      cwd: directory,
      env: { ...environment },
    });
    this.#pty = pty;
    // A terminal that fails ends. Without two listeners, node-pty would throw into the event loop.
    const withErrors = pty as unknown as { on?(event: "error", listener: () => void): void };
    withErrors.on?.("error", () => undefined);
    withErrors.on?.("error", () => undefined);
    // It keeps what the console doesn't take yet.
    this.#input = new InputQueue(
      {
        write: (bytes, from, to) => {
          pty.write(Buffer.from(bytes.subarray(from, to)));
          return to - from;
        },
      },
      clock,
      () => this.#onStuck(),
    );
    pty.onData((text) => this.#output.push(text));
    pty.onExit(() => {
      this.#isOpen = false;
      this.#input.close();
    });
  }

  get pid(): number {
    return this.#pty.pid;
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
    this.#pty.onExit(({ exitCode, signal }) => {
      this.#output.tell();
      listener({ code: exitCode, signal: signal === undefined || signal === 0 ? null : signal });
    });
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

  /** The console itself turns this key into the event. */
  interrupt(): void {
    this.write(CONTROL_C);
  }

  resize(columns: number, rows: number): void {
    if (!this.#isOpen) return;
    try {
      this.#pty.resize(columns, rows);
    } catch {
      // The process has just ended.
    }
  }

  pause(): void {
    if (this.#isOpen) this.#pty.pause();
  }

  resume(): void {
    if (this.#isOpen) this.#pty.resume();
  }
}

const loadedSpawn: StartConsole = (file, args, options) => {
  const { spawn } = createRequire(import.meta.url)("@lydell/node-pty") as NodePty;
  return spawn(file, args, options);
};
