/** Runs the command line that ships, as a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { plainEnvironment, SVC } from "../support/daemon-process.ts";

export { SVC };

export interface Ran {
  code: number | null;
  out: string;
  err: string;
}

export interface RunOptions {
  home?: string;
  env?: Readonly<Record<string, string>>;
  input?: string;
  cwd?: string;
}

/** A Home where nobody ever was. */
export const NOWHERE = join(import.meta.dirname, "nowhere");

export function start(args: readonly string[], options: RunOptions = {}): ChildProcess {
  return spawn(process.execPath, [SVC, ...args], {
    env: { ...plainEnvironment(), SVC_HOME: options.home ?? NOWHERE, ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
}

/** Collects what a process prints. */
export function collect(child: ChildProcess): Ran {
  const ran: Ran = { code: null, out: "", err: "" };
  child.stdout?.on("data", (chunk: Buffer) => {
    ran.out += chunk.toString("utf8");
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    ran.err += chunk.toString("utf8");
  });
  return ran;
}

export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const child = start(args, options);
  const ran = collect(child);
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(options.input ?? "");
  await once(child, "close");
  ran.code = child.exitCode;
  return ran;
}

export interface Printed<Result> {
  ok: boolean;
  result: Result;
  error: { code: string; message: string; details: Record<string, unknown> };
}

/** The envelope that `--json` printed. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function envelope<Result = Record<string, unknown>>(ran: Ran): Printed<Result> {
  return JSON.parse(ran.out) as Printed<Result>;
}
