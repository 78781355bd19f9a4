/**
 * What a runtime is told to run at its events. With curl on the machine it is a shell script that makes one request to the local socket, else
 * the small Node program `svc hook`; chosen and written at each launch. Both take the head fields, launch token among them, from an owner-only
 * file: no token is ever an argument. Claude's own way of posting events (hook type `http`) isn't used: docs/runtimes.md says why.
 */
import { dirname, join } from "node:path";
import { LIMITS } from "../../shared/limits.ts";
import { HEADERS, SOCKET_OPERATION_PREFIX } from "../../shared/names.ts";
import {
  ensureDirectory,
  replaceFile,
  storageRefusal,
  syncDirectory,
  unlinkIfThere,
} from "../home/durable.ts";
import type { GroupPaths } from "../home/paths.ts";
import type { Files } from "../platform/files.ts";

export interface HookCommandOptions {
  files: Files;
  paths: GroupPaths;
  actor_id: string;
  /** The daemon's local socket and its key. */
  socket: string;
  socketKey: string;
  /** Of this launch. */
  token: string;
  /** Absolute path of a usable curl (`findCurl`), null without one. */
  curl: string | null;
  /** Absolute paths of Node and of the program `svc`, beside which the Node program of hooks lies. */
  node: string;
  svc: string;
}

/** Program and arguments; nothing in them is secret and no shell is needed to run them. */
export type HookCommand = readonly [program: string, ...args: string[]];

/** Writes what the launch's hooks need. Throws storage_full or storage_failed. */
export async function prepareHookCommand(options: HookCommandOptions): Promise<HookCommand> {
  const { files, paths, actor_id, socket, curl } = options;
  const fields = fieldsFile(paths, actor_id);
  try {
    await ensureDirectory(files, paths.hooks);
    await replaceFile(files, fields, Buffer.from(headFields(options)));
  } catch (error) {
    throw storageRefusal(error);
  }
  if (curl === null) return [options.node, join(dirname(options.svc), "hook.cjs"), socket, fields];
  return ["/bin/sh", "-c", hookScript(curl, socket, fields)];
}

/** After the process has ended. Throws storage_failed. */
export async function removeHookCommand(files: Files, paths: GroupPaths, actor_id: string): Promise<void> {
  try {
    if (unlinkIfThere(files, fieldsFile(paths, actor_id))) await syncDirectory(files, paths.hooks);
  } catch (error) {
    throw storageRefusal(error);
  }
}

function fieldsFile(paths: GroupPaths, actor_id: string): string {
  return join(paths.hooks, `${actor_id}.head`);
}

/** As curl's `-H @FILE` reads them. A name without a value takes a field away that curl would add. */
function headFields({ socketKey, token }: HookCommandOptions): string {
  return [
    "Content-Type: application/json",
    `${HEADERS.socketKey}: ${socketKey}`,
    `${HEADERS.launchToken}: ${token}`,
    "Expect:",
    "",
  ].join("\n");
}

/**
 * Given to the shell as text: a script in a file could be gone when a late hook comes, and the shell's own failure (2) means "block this" to Claude.
 * `-q` and `--noproxy` keep the user's curl settings out. `-T .` sends standard input as it comes, so that the time limit holds while it is
 * open, and the daemon ends what grows too large.
 */
function hookScript(curl: string, socket: string, fields: string): string {
  const url = `http://localhost${SOCKET_OPERATION_PREFIX}hook_submit`;
  const seconds = LIMITS.activity.hook.waitSeconds;
  const options = `-q -s -m ${seconds} --noproxy '*' -o /dev/null --unix-socket ${quoted(socket)}`;
  return `${quoted(curl)} ${options} -H @${quoted(fields)} -X POST -T . ${url} >/dev/null 2>&1; exit 0`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
