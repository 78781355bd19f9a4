/**
 * What a runtime runs at its events. With Perl or curl on the machine, it is a shell script that
 * makes one request to the local socket. Otherwise it is the small Node program `svc hook`. It is
 * chosen and written at each launch. All of them read the header fields, including the launch
 * token, from an owner-only file: no token is ever an argument. Claude's own way to post events
 * (hook type `http`) isn't used; docs/runtimes.md explains why.
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
  /** The daemon's local socket. */
  socket: string;
  /** Of this launch. */
  token: string;
  /** What the shell script runs (`findHookClient`); null if there is none. */
  client: HookClient | null;
  /** Absolute paths of Node and of the program `svc`. The Node program for hooks is next to it. */
  node: string;
  svc: string;
  /** What goes in front of Node, where it is an editor's. */
  front?: readonly string[];
}

const HOOK_PATH = `${SOCKET_OPERATION_PREFIX}hook_submit`;
const DECIDE_PATH = `${SOCKET_OPERATION_PREFIX}hook_decide`;
const { openSeconds, graceSeconds } = LIMITS.questions;
const DECIDE_SECONDS = openSeconds + graceSeconds;
/** How the answer of `hook_decide` begins if it is a decision. */
const DECIDED = '{"ok":true,"result":{"hookSpecificOutput":';
const WAIT_SECONDS = LIMITS.activity.hook.waitSeconds;

/** Program and arguments. None of them is secret, and running them needs no shell. */
export type HookCommand = readonly [program: string, ...args: string[]];

/** Writes the files that the launch's hooks need. Throws storage_full or storage_failed. */
export async function prepareHookCommand(options: HookCommandOptions): Promise<HookCommand> {
  const { files, paths, actor_id: actorId, socket, client } = options;
  const fields = fieldsFile(paths, actorId);
  try {
    await ensureDirectory(files, paths.hooks);
    await replaceFile(files, fields, Buffer.from(headFields(options)));
  } catch (error) {
    throw storageRefusal(error);
  }
  if (client === null) return nodeCommand(options, socket, fields);
  return ["/bin/sh", "-c", hookScript(client, socket, fields)];
}

/**
 * What the runtime runs when it asks a person: waits for the answer and prints the decision.
 * Without one, whatever happens, it prints nothing and succeeds, and the runtime does what it does
 * without a hook. It needs the files of `prepareHookCommand`.
 */
export function decideCommand(options: HookCommandOptions): HookCommand {
  const { paths, actor_id: actorId, socket, client } = options;
  const fields = fieldsFile(paths, actorId);
  if (client === null) {
    return nodeCommand(options, "decide", socket, fields);
  }
  const { path, program } = client;
  const script = program === "perl" ? perlDecision(path, socket, fields) : curlDecision(path, socket, fields);
  return ["/bin/sh", "-c", script];
}

function nodeCommand({ front = [], node, svc }: HookCommandOptions, ...words: string[]): HookCommand {
  const [program, ...args] = [...front, node];
  return [program, ...args, join(dirname(svc), "hook.cjs"), ...words];
}

/** Called after the process has ended. Throws storage_failed. */
export async function removeHookCommand(files: Files, paths: GroupPaths, actorId: string): Promise<void> {
  try {
    if (unlinkIfThere(files, fieldsFile(paths, actorId))) await syncDirectory(files, paths.hooks);
  } catch (error) {
    throw storageRefusal(error);
  }
}

function fieldsFile(paths: GroupPaths, actorId: string): string {
  return join(paths.hooks, `${actorId}.head`);
}

/**
 * In the form that curl reads with `-H @FILE`. A name without a value removes a field that curl
 * would add.
 */
function headFields({ token }: HookCommandOptions): string {
  return ["Content-Type: application/json", `${HEADERS.launchToken}: ${token}`, "Expect:", ""].join("\n");
}

/**
 * Passed to the shell as text, because a script file could be gone when a late hook runs, and the
 * shell's own failure (2) means "block this" to Claude. The shell outlives the client, so that it
 * succeeds whatever happens to the client.
 */
function hookScript({ program, path }: HookClient, socket: string, fields: string): string {
  const client = program === "perl" ? perlClient(path, socket, fields) : curlClient(path, socket, fields);
  return `exec >/dev/null 2>&1; ${client}; exit 0`;
}

/**
 * `-q` and `--noproxy` keep the user's curl settings out. `-T .` sends standard input as it comes,
 * so that the time limit applies while it is open, and the daemon cuts off what grows too large.
 */
function curlClient(curl: string, socket: string, fields: string): string {
  return curlCall(curl, socket, fields, HOOK_PATH, WAIT_SECONDS);
}

function curlCall(curl: string, socket: string, fields: string, path: string, seconds: number): string {
  const options = `-q -s -m ${seconds} --noproxy '*' --unix-socket ${quoted(socket)}`;
  return `${quoted(curl)} ${options} -H @${quoted(fields)} -X POST -T . http://localhost${path}`;
}

/** The envelope without what is around its result. */
function curlDecision(curl: string, socket: string, fields: string): string {
  const call = curlCall(curl, socket, fields, DECIDE_PATH, DECIDE_SECONDS);
  const around = DECIDED.slice(0, DECIDED.indexOf('{"hookSpecificOutput"'));
  const print = `r=\${r#'${around}'}; printf '%s\\n' "\${r%?}"`;
  return `exec 2>/dev/null; r=$(${call}); case $r in '${DECIDED}'*) ${print};; esac; exit 0`;
}

/**
 * Does what serve.ts does, without any module. `-f`, `-T` and `-C0` keep out the environment's and
 * the site's settings for Perl, and LC_ALL the loading of locales. The alarm has its default action
 * and so ends Perl wherever it waits.
 */
const PERL_SCRIPT = [`$SIG{ALRM}="DEFAULT";alarm ${WAIT_SECONDS};`, perlRequest(HOOK_PATH)].join("");

/**
 * Any end but that of a decision is a success that prints nothing. It replaces the shell, so that a
 * runtime that ends its hook ends this.
 */
const PERL_DECISION = [
  `$SIG{ALRM}=$SIG{TERM}=$SIG{HUP}=$SIG{INT}=sub{exit 0};alarm ${DECIDE_SECONDS};`,
  perlRequest(DECIDE_PATH),
  `$r="";until($r=~/\\r\\n\\r\\n/){sysread S,$r,65536,length $r or exit}`,
  `$r=~/^content-length: (\\d+)/mi or exit;$n=$1+4+index $r,"\\r\\n\\r\\n";`,
  `while(length $r<$n){sysread S,$r,65536,length $r or exit}`,
  `print "$1\\n" if $r=~/\\r\\n\\r\\n\\{"ok":true,"result":(\\{"hookSpecificOutput":.*\\})\\}$/s`,
].join("");

function perlRequest(path: string): string {
  return [
    `($s,$f)=map{/(.*)/s}@ARGV;`,
    `open F,"<",$f or exit;sysread F,$h,65536;`,
    `$h=~s/^\\S+:\\n//mg;$h=~s/\\n/\\r\\n/g;`,
    `while($n=sysread STDIN,$b,65536,length $b){exit if length $b>${LIMITS.activity.hook.payloadBytes}}`,
    `defined $n or exit;`,
    `$b="POST ${path} HTTP/1.1\\r\\nHost: localhost\\r\\n".$h."Content-Length: ".length($b)."\\r\\n\\r\\n".$b;`,
    `socket S,1,1,0 or exit;connect S,pack("Sa108",1,$s) or exit;`,
    `while(length $b){$n=syswrite S,$b or exit;substr($b,0,$n)=""}`,
  ].join("");
}

function perlClient(perl: string, socket: string, fields: string): string {
  return `LC_ALL=C ${perlCall(perl, PERL_SCRIPT, socket, fields)}`;
}

function perlDecision(perl: string, socket: string, fields: string): string {
  return `exec 2>/dev/null; LC_ALL=C; export LC_ALL; exec ${perlCall(perl, PERL_DECISION, socket, fields)}`;
}

function perlCall(perl: string, script: string, socket: string, fields: string): string {
  return `${quoted(perl)} -fT -C0 -e ${quoted(script)} ${quoted(socket)} ${quoted(fields)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
