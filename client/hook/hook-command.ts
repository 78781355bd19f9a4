/**
 * What a runtime is told to run at its events. With Perl or curl on the machine it is a shell script that makes one request to the local
 * socket, else the small Node program `svc hook`; chosen and written at each launch. All take the head fields, launch token among them, from an
 * owner-only file: no token is ever an argument. Claude's own way of posting events (hook type `http`) isn't used: docs/runtimes.md says why.
 */
import { dirname, join } from "node:path";
import {
  ensureDirectory,
  replaceFile,
  storageRefusal,
  syncDirectory,
  unlinkIfThere,
} from "../../platform/durable.ts";
import type { Files } from "../../platform/files.ts";
import { LIMITS } from "../../shared/limits.ts";
import { HEADERS, SOCKET_OPERATION_PREFIX } from "../../shared/names.ts";
import type { GroupPaths } from "../paths.ts";
import type { HookClient } from "./hook-client.ts";

export interface HookCommandOptions {
  files: Files;
  paths: GroupPaths;
  actor_id: string;
  /** The daemon's local socket and its key. */
  socket: string;
  socketKey: string;
  /** Of this launch. */
  token: string;
  /** What the shell script runs (`findHookClient`), null without any. */
  client: HookClient | null;
  /** Absolute paths of Node and of the program `svc`, beside which the Node program of hooks lies. */
  node: string;
  svc: string;
}

const HOOK_PATH = `${SOCKET_OPERATION_PREFIX}hook_submit`;
const WAIT_SECONDS = LIMITS.activity.hook.waitSeconds;

/** Program and arguments; nothing in them is secret and no shell is needed to run them. */
export type HookCommand = readonly [program: string, ...args: string[]];

/** Writes what the launch's hooks need. Throws storage_full or storage_failed. */
export async function prepareHookCommand(options: HookCommandOptions): Promise<HookCommand> {
  const { files, paths, actor_id, socket, client } = options;
  const fields = fieldsFile(paths, actor_id);
  try {
    await ensureDirectory(files, paths.hooks);
    await replaceFile(files, fields, Buffer.from(headFields(options)));
  } catch (error) {
    throw storageRefusal(error);
  }
  if (client === null) return [options.node, join(dirname(options.svc), "hook.cjs"), socket, fields];
  return ["/bin/sh", "-c", hookScript(client, socket, fields)];
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
 * The shell stays behind the client, so that it ends well whatever becomes of that.
 */
function hookScript({ program, path }: HookClient, socket: string, fields: string): string {
  const client = program === "perl" ? perlClient(path, socket, fields) : curlClient(path, socket, fields);
  return `exec >/dev/null 2>&1; ${client}; exit 0`;
}

/**
 * `-q` and `--noproxy` keep the user's curl settings out. `-T .` sends standard input as it comes, so that the time limit holds while it is
 * open, and the daemon ends what grows too large.
 */
function curlClient(curl: string, socket: string, fields: string): string {
  const url = `http://localhost${HOOK_PATH}`;
  const options = `-q -s -m ${WAIT_SECONDS} --noproxy '*' --unix-socket ${quoted(socket)}`;
  return `${quoted(curl)} ${options} -H @${quoted(fields)} -X POST -T . ${url}`;
}

/**
 * As serve.ts does it, without any module. `-f`, `-T` and `-C0` keep the environment's and the site's
 * settings for Perl out, and LC_ALL the loading of locales. Left to its default, the alarm ends it wherever it waits.
 */
const PERL_SCRIPT = [
  `$SIG{ALRM}="DEFAULT";alarm ${WAIT_SECONDS};`,
  `($s,$f)=map{/(.*)/s}@ARGV;`,
  `open F,"<",$f or exit;sysread F,$h,65536;`,
  `$h=~s/^\\S+:\\n//mg;$h=~s/\\n/\\r\\n/g;`,
  `while($n=sysread STDIN,$b,65536,length $b){exit if length $b>${LIMITS.activity.hook.payloadBytes}}`,
  `defined $n or exit;`,
  `$b="POST ${HOOK_PATH} HTTP/1.1\\r\\nHost: localhost\\r\\n".$h."Content-Length: ".length($b)."\\r\\n\\r\\n".$b;`,
  `socket S,1,1,0 or exit;connect S,pack("Sa108",1,$s) or exit;`,
  `while(length $b){$n=syswrite S,$b or exit;substr($b,0,$n)=""}`,
].join("");

function perlClient(perl: string, socket: string, fields: string): string {
  return `LC_ALL=C ${quoted(perl)} -fT -C0 -e ${quoted(PERL_SCRIPT)} ${quoted(socket)} ${quoted(fields)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
