/** A program in a real terminal. */
import { createRequire } from "node:module";
import { plainEnvironment } from "./daemon-process.ts";
import { until } from "./until.ts";

const pty = createRequire(import.meta.url)("@lydell/node-pty") as typeof import("@lydell/node-pty");

/** What the shell says of the program's end. */
const ENDED = /\[code (\d+)\]/u;

/**
 * Runs a program in a terminal, under a shell that outlives it until `kill`: with Node 20's libuv,
 * what a terminal's last process writes can be lost at its end. `after` is a further command of
 * that shell, after the program.
 */
export class Terminal {
  text = "";
  readonly #pty: import("@lydell/node-pty").IPty;

  constructor(
    command: readonly string[],
    {
      env = {},
      columns = 200,
      after = ":",
    }: { env?: NodeJS.ProcessEnv; columns?: number; after?: string } = {},
  ) {
    const script = `"$@"; code=$?; ${after}; echo "[code $code]"; exec sleep 100000`;
    this.#pty = pty.spawn("sh", ["-c", script, "sh", ...command], {
      env: { ...plainEnvironment(), ...env },
      cols: columns,
      rows: 30,
    });
    this.#pty.onData((data) => (this.text += data));
  }

  /** The shell's process id. */
  get pid(): number {
    return this.#pty.pid;
  }

  type(keys: string): void {
    this.#pty.write(keys);
  }

  resize(columns: number, rows: number): void {
    this.#pty.resize(columns, rows);
  }

  /** Waits for text, counted from `from`, the length of an earlier `text`. */
  shows(pattern: RegExp, from = 0): Promise<boolean> {
    return until(`the terminal shows ${pattern.source}`, () => pattern.test(this.text.slice(from))).catch(
      (cause: unknown) => {
        throw new Error(JSON.stringify(this.text.slice(-2000)), { cause });
      },
    );
  }

  /** The exit code of the program, once everything is shown. */
  async ended(): Promise<number> {
    await this.shows(ENDED);
    return Number(ENDED.exec(this.text)![1]);
  }

  kill(): void {
    this.#pty.kill("SIGKILL");
  }
}
