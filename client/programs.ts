/** Programs on PATH. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

/** Paths of the programs of this name, in the order of PATH. On Windows with its ending. */
export function programsOnPath(environment: Environment, name: string): string[] {
  return (environment["PATH"] ?? environment["Path"] ?? "")
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, name))
    .filter(isExecutable);
}

export function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** What `svc` is called on PATH. */
export function svcCommand(): string {
  return process.platform === "win32" ? "svc.cmd" : "svc";
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return isFile(path);
  } catch {
    return false;
  }
}
