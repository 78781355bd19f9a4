/** Where an agent's configuration lies on this machine, and how it is written. */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, sep } from "node:path";
import type { AgentClient } from "../shared/agent-clients.ts";

/** The file in the project's folder, or below the person's. */
export function configPath({ owner, path, variable }: AgentClient, folder: string): string {
  if (owner === "project") return join(folder, path);
  const named = variable === undefined ? undefined : process.env[variable];
  return named === undefined || named === "" ? join(homedir(), path) : join(named, basename(path));
}

/** Its text; null if there is none. */
export function readConfig(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/**
 * Throws if a project's file isn't really in its folder: a link in somebody's repository must not
 * lead to another file of the person.
 */
export function checkInside(path: string, folder: string): void {
  let place = path;
  while (!existsSync(place)) place = dirname(place);
  const real = realpathSync(place);
  const root = realpathSync(folder);
  if (real !== root && !real.startsWith(root.endsWith(sep) ? root : root + sep))
    throw new Error(`${path} leads out of the folder, to ${real}. svc doesn't write there.`);
}

/**
 * Replaces the file in one step, with its mode and through links. Makes missing folders. `usual` is
 * the mode of a new file.
 */
export function writeConfig(path: string, text: string, usual = 0o644): void {
  mkdirSync(dirname(path), { recursive: true });
  const target = existsSync(path) ? realpathSync(path) : path;
  const mode = existsSync(target) ? statSync(target).mode & 0o777 : usual;
  const next = `${target}.${process.pid}.svc-new`;
  try {
    writeFileSync(next, text, { mode, flag: "wx" });
    renameSync(next, target);
  } catch (error) {
    rmSync(next, { force: true });
    throw error;
  }
}

/** Removes the file, and its folder if nothing else is in it. */
export function removeConfig(path: string, folder: string): void {
  rmSync(path, { force: true });
  if (dirname(path) === folder) return;
  try {
    rmdirSync(dirname(path));
  } catch {
    // It holds something else.
  }
}
