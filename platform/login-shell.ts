/**
 * The environment that a person's login shell ends up with once it has read its files, as editors
 * ask for it. Whatever those files do, the answer comes in time or is null.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, isAbsolute, join } from "node:path";
import { withoutMasters } from "./terminals/masters.ts";

export interface LoginShell {
  /** Path of the shell. */
  file: string;
  /** What a login has before the shell's files are read. */
  environment: Readonly<Record<string, string>>;
  /** Where it starts. */
  directory: string;
  /** Absolute path of Node, and what it needs besides to be Node. */
  node: string;
  nodeEnvironment: Readonly<Record<string, string>>;
  /** Differs each time: what a shell prints by itself isn't taken for the answer. */
  mark: string;
  milliseconds: number;
  /** The most that it may print. */
  bytes: number;
}

/** After its answer the shell may tidy up for so long. */
const END_MS = 1000;
/** After the shell's end, its last output is on its way. */
const DRAIN_MS = 500;
/** Characters that mean nothing to any shell. */
const PLAIN = /^[\w/.-]+$/;

/** Null if the shell doesn't say it in time, or at all. */
export async function askLoginShell(shell: LoginShell): Promise<Record<string, string> | null> {
  const { file, node, mark } = shell;
  if (process.platform === "win32" || !isAbsolute(file)) return null;
  const place = join(PLAIN.test(tmpdir()) ? tmpdir() : "/tmp", "svc-environment-");
  let folder: string;
  try {
    folder = mkdtempSync(place);
  } catch {
    return null;
  }
  try {
    // Two plain words are the same command in every shell, whatever its quotes mean.
    const [program, script] = [join(folder, "node"), join(folder, "print.cjs")];
    const args = argumentsFor(basename(file), `${program} ${script}`);
    if (args === null) return null;
    symlinkSync(node, program);
    const text = JSON.stringify(mark);
    writeFileSync(script, `process.stdout.write(${text} + JSON.stringify(process.env) + ${text});\n`);
    chmodSync(script, 0o600);
    return answerIn(await outputOf(shell, args), shell);
  } catch {
    return null;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As an interactive login shell. Null for a program that isn't known as a shell. */
function argumentsFor(name: string, command: string): string[] | null {
  const kind = name.toLowerCase().replace(/[-\d.]+$/u, "");
  // With any other word beside it, csh doesn't take `-l`.
  if (kind === "csh" || kind === "tcsh") return ["-ic", command];
  if (kind === "pwsh") return ["-Login", "-Command", command];
  if (kind === "elvish") return ["-c", command];
  return kind === "nu" || /^\w*sh$/u.test(kind) ? ["-l", "-i", "-c", command] : null;
}

/** What it printed until its answer was whole; cut at the limits. */
function outputOf(shell: LoginShell, args: readonly string[]): Promise<string> {
  const { file, environment, nodeEnvironment, directory, mark, milliseconds, bytes } = shell;
  return new Promise((resolve) => {
    const masters = withoutMasters();
    // In a session of its own: it has no terminal to wait for, and ends with what it started.
    const child = spawn(file, [...args], {
      cwd: directory,
      env: { ...environment, ...nodeEnvironment },
      stdio: ["ignore", "pipe", "ignore", ...masters.stdio],
      detached: true,
    });
    masters.close();
    let output = "";
    let isOver = false;
    const end = (patience: number): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      child.stdout?.destroy();
      if (patience === 0) endFamily(child);
      else setTimeout(() => endFamily(child), patience).unref();
      resolve(output);
    };
    const timer = setTimeout(() => end(0), milliseconds);
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      const first = output.indexOf(mark);
      if (first >= 0 && output.indexOf(mark, first + mark.length) >= 0) end(END_MS);
      else if (output.length > bytes) end(0);
    });
    child.stdout?.on("error", () => end(0));
    child.on("error", () => end(0));
    child.on("close", () => end(END_MS));
    // Something that it left behind may hold its output open.
    child.on("exit", () => setTimeout(() => end(END_MS), DRAIN_MS).unref());
  });
}

function endFamily({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has just ended.
  }
}

function answerIn(output: string, { mark, nodeEnvironment }: LoginShell): Record<string, string> | null {
  const first = output.indexOf(mark);
  const last = output.indexOf(mark, first + mark.length);
  if (first < 0 || last < 0) return null;
  const found: unknown = JSON.parse(output.slice(first + mark.length, last));
  if (typeof found !== "object" || found === null) return null;
  return Object.fromEntries(
    Object.entries(found).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string" && !(entry[0] in nodeEnvironment),
    ),
  );
}
