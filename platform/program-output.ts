/** What other programs print, for questions such as their version. */
import { spawn, spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { withoutMasters } from "./terminals/masters.ts";

const OUTPUT_BYTES = 64 * 1024;

/** A program's output, at most 64 KiB, if it succeeds in time; else null. */
export function outputOf(
  file: string,
  args: readonly string[],
  milliseconds: number,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string | null> {
  return new Promise((done) => {
    const masters = withoutMasters();
    const pieces: Buffer[] = [];
    let bytes = 0;
    try {
      const child = spawn(file, [...args], {
        stdio: ["ignore", "pipe", "ignore", ...masters.stdio],
        timeout: milliseconds,
        killSignal: "SIGKILL",
        cwd: tmpdir(),
        env: environment,
        windowsHide: true,
      });
      child.stdout?.on("data", (piece: Buffer) => {
        bytes += piece.length;
        if (bytes > OUTPUT_BYTES) child.kill("SIGKILL");
        else pieces.push(piece);
      });
      child.on("error", () => done(null));
      child.on("exit", (code) => {
        if (code === 0) return;
        done(null);
        // What it started may hold its output open.
        child.stdout?.destroy();
      });
      child.on("close", () => done(Buffer.concat(pieces).toString()));
    } catch {
      done(null);
    } finally {
      masters.close();
    }
  });
}

/** The same while everything waits; empty if the program can't be run or fails in time. */
export function outputAtOnce(file: string, args: readonly string[], milliseconds: number): string {
  const masters = withoutMasters();
  try {
    const { stdout } = spawnSync(file, args, {
      stdio: ["ignore", "pipe", "ignore", ...masters.stdio],
      encoding: "utf8",
      timeout: milliseconds,
      maxBuffer: OUTPUT_BYTES,
    });
    return stdout ?? "";
  } finally {
    masters.close();
  }
}
