/** Processes that a measurement starts: none outlives the run. */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";

/** Of processor time in a second, as the system counts it. */
const TICKS = 100;

const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

/**
 * The environment of every timed process: without anything that makes Node itself start slower
 * (reading extra certificates takes longer than an empty program) and without anything from a Home.
 */
export function plainEnvironment(extra: Record<string, string> = {}): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !/^(NODE_|SVC_|npm_|NO_COLOR|FORCE_COLOR)/.test(entry[0]),
  );
  return { ...Object.fromEntries(kept), ...extra };
}

export function start(command: string, commandArguments: string[], options: SpawnOptions = {}): ChildProcess {
  const child = spawn(command, commandArguments, {
    env: plainEnvironment(),
    stdio: ["pipe", "ignore", "inherit"],
    ...options,
  });
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

export async function stop(child: ChildProcess, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}

/**
 * Standard output of a program that ends by itself. Throws with its standard error when it fails.
 */
export async function output(
  command: string,
  commandArguments: string[],
  options: SpawnOptions = {},
): Promise<string> {
  const child = start(command, commandArguments, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  let errors = "";
  child.stdout!.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  child.stderr!.setEncoding("utf8").on("data", (chunk: string) => (errors += chunk));
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${command} failed: ${errors.trim() || text.trim() || `exit ${code}`}`);
  return text;
}

function reachable(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => resolve(true));
    socket.once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}

/**
 * Resolves when `child` accepts connections at `path`. Throws when it ends before or takes longer
 * than 30 s.
 */
export async function listening(child: ChildProcess, path: string): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!(await reachable(path))) {
    if (child.exitCode !== null)
      throw new Error(`${child.spawnfile} ended with ${child.exitCode} before it listened`);
    if (performance.now() > deadline) throw new Error(`${child.spawnfile} doesn't listen at ${path}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Seconds of processor time that a process and its threads have used. */
export function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}
