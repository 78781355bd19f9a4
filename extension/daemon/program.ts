/**
 * Which program starts the daemon: the one in the settings, the one in this extension, or `svc` on
 * PATH. And which Node runs it: one of this machine, or else the editor's own runtime. It knows
 * nothing of the editor.
 */
import { execFile } from "node:child_process";
import { isAbsolute } from "node:path";
import { promisify } from "node:util";
import { isFile, programsOnPath, svcCommand } from "../../client/programs.ts";
import { ENVIRONMENT } from "../../shared/names.ts";
import { shellWords } from "../../shared/quoting.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export interface Program {
  command: string;
  /** Go before what the program is asked to do. */
  args: readonly string[];
  environment: NodeJS.ProcessEnv;
  source: "setting" | "bundled" | "path";
}

export interface Places {
  /** The setting `svc.command`; empty means none. */
  setting: string;
  /** Where this extension has its daemon, if it brings one. */
  bundled: string;
  environment: Environment;
  /** The runtime of the editor. */
  execPath: string;
}

const OLDEST_NODE = [20, 19] as const;
const ANSWER_MS = 5000;
const run = promisify(execFile);

/** A program that can't be used, in words that say what to do. */
export class ProgramProblem extends Error {}

/** The program, or null when there is none. Throws ProgramProblem for a setting that names none. */
export async function findProgram(places: Places): Promise<Program | null> {
  const { setting, bundled, environment } = places;
  if (setting !== "") {
    if (!isAbsolute(setting) || !isFile(setting))
      throw new ProgramProblem(`The setting svc.command names no program: ${setting}`);
    return programOf(setting, "setting", places);
  }
  if (isFile(bundled)) return programOf(bundled, "bundled", places);
  for (const path of programsOnPath(environment, svcCommand())) {
    // Another program of this name exists. It must not be asked to do anything.
    if (/^svc \d+\.\d+\.\d+/.test(await answerOf(path, environment))) return programOf(path, "path", places);
  }
  return null;
}

async function programOf(path: string, source: Program["source"], places: Places): Promise<Program> {
  if (!/\.[cm]?js$/.test(path))
    return { command: path, args: [], source, environment: plainEnvironment(places.environment) };
  const node = await findNode(places.environment);
  const environment = plainEnvironment(places.environment);
  if (node === null) environment["ELECTRON_RUN_AS_NODE"] = "1";
  return { command: node ?? places.execPath, args: [path], source, environment };
}

/** What starts the program, for a POSIX shell or for Windows. */
export function launcherText({ command, args, environment }: Program, isWindows: boolean): string {
  const asNode = environment["ELECTRON_RUN_AS_NODE"] !== undefined;
  if (!isWindows) {
    const words = shellWords([command, ...args]);
    return `#!/bin/sh\n${asNode ? "ELECTRON_RUN_AS_NODE=1 " : ""}exec ${words} "$@"\n`;
  }
  // A percent sign would be read as a variable.
  const words = [command, ...args].map((word) => `"${word.replaceAll("%", "%%")}"`).join(" ");
  return `@echo off\r\n${asNode ? "set ELECTRON_RUN_AS_NODE=1\r\n" : ""}${words} %*\r\n`;
}

/** A Node of this machine that is new enough. */
async function findNode(environment: Environment): Promise<string | null> {
  for (const path of programsOnPath(environment, process.platform === "win32" ? "node.exe" : "node")) {
    const [major = 0, minor = 0] = (await answerOf(path, environment))
      .replace(/^v/, "")
      .split(".")
      .map(Number);
    if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return path;
  }
  return null;
}

async function answerOf(path: string, environment: Environment): Promise<string> {
  try {
    const { stdout } = await run(path, ["--version"], {
      timeout: ANSWER_MS,
      env: plainEnvironment(environment),
      shell: path.endsWith(".cmd"),
    });
    return stdout.trim();
  } catch {
    return "";
  }
}

/** What the editor sets for itself, or an agent's launch set, doesn't reach the daemon. */
function plainEnvironment(environment: Environment): NodeJS.ProcessEnv {
  const ours = new Set<string>([
    ENVIRONMENT.group,
    ENVIRONMENT.actor,
    ENVIRONMENT.actorFile,
    ENVIRONMENT.launchMark,
    ENVIRONMENT.launchToken,
  ]);
  return Object.fromEntries(
    Object.entries(environment).filter(
      ([name]) => !ours.has(name) && !/^(?:VSCODE_|ELECTRON_|NODE_OPTIONS$|NODE_CHANNEL_FD$)/.test(name),
    ),
  );
}
