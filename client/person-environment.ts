/**
 * What a person's own login has in its environment, as far as a process knows that something else
 * has started (docs/runtimes.md#the-environment-of-an-agent). Decided by kind: what starts programs
 * invents variables without end, and what a person's session consists of changes little.
 */
import { delimiter, isAbsolute, relative, sep } from "node:path";
import { ENVIRONMENT } from "../shared/names.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables of a login and of its session, and what people set to reach networks and models. */
const KINDS: readonly RegExp[] = [
  // The person.
  /^(?:HOME|USER|LOGNAME|SHELL|TMPDIR|TMP|TEMP)$/,
  // Language and time.
  /^(?:LANG|LANGUAGE|LC_\w+|TZ|TZDIR)$/,
  // The session: keys, desktop, bus.
  /^(?:SSH_AUTH_SOCK|SSH_AGENT_PID|KRB5CCNAME|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|DBUS_SESSION_BUS_ADDRESS|DESKTOP_SESSION|PULSE_SERVER|__CF_USER_TEXT_ENCODING)$/,
  // The token belongs to one start of one program.
  /^XDG_(?!ACTIVATION_TOKEN$)\w+$/,
  /^WSL(?:ENV|_\w+)$/,
  // Networks: proxies, and whose certificates count.
  /^(?:https?|ftp|rsync|socks5?|all|no)_proxy$/i,
  /^(?:SSL_CERT_FILE|SSL_CERT_DIR|NIX_SSL_CERT_FILE|NODE_EXTRA_CA_CERTS|NODE_USE_SYSTEM_CA|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|AWS_CA_BUNDLE|GIT_SSL_CAINFO|GIT_SSL_CAPATH|CARGO_HTTP_CAINFO|PIP_CERT|DENO_CERT)$/,
  // Models: keys, places and clouds, and where agents keep their settings.
  /^\w+_API_KEY$/,
  /^(?:ANTHROPIC|OPENAI|AZURE|AWS|GOOGLE|VERTEX)_\w+$/,
  /^(?:CLAUDE_CONFIG_DIR|CLAUDE_CODE_OAUTH_TOKEN|CLAUDE_CODE_USE_\w+|CLOUD_ML_REGION|CODEX_HOME|COPILOT_HOME|OPENCODE_CONFIG|OPENCODE_CONFIG_DIR)$/,
];

/** Without these, few programs of Windows start. It has no login shell that could be asked. */
const WINDOWS =
  /^(?:SystemRoot|SystemDrive|windir|ComSpec|PATHEXT|OS|APPDATA|LOCALAPPDATA|ProgramData|ProgramW6432|ALLUSERSPROFILE|PUBLIC|USERPROFILE|USERNAME|USERDOMAIN\w*|HOMEDRIVE|HOMEPATH|COMPUTERNAME|LOGONSERVER|SESSIONNAME|DriverData|NUMBER_OF_PROCESSORS|PSModulePath|(?:Common)?ProgramFiles(?:\(x86\))?|CommonProgramW6432|PROCESSOR_\w+)$/i;

/** Folders that package managers, editors, Git and agents put into PATH for their children. */
const FOREIGN_FOLDERS: readonly RegExp[] = [
  /\/node_modules\/\.bin$/,
  /\/node-gyp-bin$/,
  /\/(?:yarn--\d[^/]*|xfs-[^/]+|bun-node-[^/]+|_npx\/[^/]+.*)$/,
  /\/git-core$/,
  /\/remote-cli$/,
  /\/\.(?:vscode|cursor|windsurf|positron)[^/]*-server(?:-[^/]+)?\//,
  /\/\.mount_[^/]+(?:\/|$)/,
  /\/\.(?:claude|codex|cursor|gemini|copilot|opencode)\/(?:plugins|tmp|cache|extensions)\//,
];

/** Variables that name such a folder, or one above it. */
const FOREIGN_ROOTS = ["VIRTUAL_ENV", "CONDA_PREFIX", "GIT_EXEC_PATH", "APPDIR", "SNAP", "NIX_BUILD_TOP"];

/** What every shell sets for itself. */
const OF_A_SHELL = new Set(["_", "SHLVL", "PWD", "OLDPWD"]);

/** Says to the login shell's own files that nobody will type. */
export const ASKS_FOR_ENVIRONMENT = "SVC_RESOLVING_ENVIRONMENT";

/** PATH without what the program that started this process put there for itself. */
export function ownPath(environment: Environment): string {
  const roots = FOREIGN_ROOTS.map((name) => environment[name] ?? "").filter(isAbsolute);
  return foldersOf(environment["PATH"] ?? environment["Path"])
    .filter((folder) => {
      const plain = folder.replaceAll(sep, "/").replace(/\/+$/u, "");
      return !FOREIGN_FOLDERS.some((kind) => kind.test(plain)) && !roots.some((root) => isIn(root, folder));
    })
    .join(delimiter);
}

/** What of a process's environment is the person's, and what they named for agents. */
export function ownEnvironment(environment: Environment): Record<string, string> {
  const named = namedIn(environment[ENVIRONMENT.passEnvironment] ?? "");
  const own: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || /^path$/iu.test(name)) continue;
    const isOwn =
      KINDS.some((kind) => kind.test(name)) || (process.platform === "win32" && isOfWindows(name));
    if (isOwn || named(name)) own[name] = value;
  }
  const path = named("PATH") ? environment["PATH"] : ownPath(environment);
  if (path !== undefined && path !== "") own["PATH"] = path;
  return own;
}

/**
 * What a login shell made of the environment of a process, with what the person named for agents as
 * it is. What only the process has in PATH comes last: it is found, and hides nothing of the
 * person's.
 */
export function loginEnvironment(process: Environment, shell: Environment): Record<string, string> {
  const named = namedIn(process[ENVIRONMENT.passEnvironment] ?? "");
  const own = ownEnvironment(process);
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(shell))
    if (value !== undefined && !OF_A_SHELL.has(name) && name !== ASKS_FOR_ENVIRONMENT)
      environment[name] = value;
  environment["PATH"] = [...new Set([...foldersOf(environment["PATH"]), ...foldersOf(own["PATH"])])].join(
    delimiter,
  );
  for (const [name, value] of Object.entries(own)) if (named(name)) environment[name] = value;
  return environment;
}

/** An editor's runtime that runs the daemon has to be Node for what agents start, too. */
function isOfWindows(name: string): boolean {
  return WINDOWS.test(name) || name === "ELECTRON_RUN_AS_NODE";
}

function foldersOf(path: string | undefined): string[] {
  return (path ?? "").split(delimiter).filter(isAbsolute);
}

function isIn(root: string, folder: string): boolean {
  const below = relative(root, folder);
  return below === "" || (!isAbsolute(below) && below !== ".." && !below.startsWith(`..${sep}`));
}

/** Names between spaces or commas; `*` at the end stands for any rest. */
function namedIn(list: string): (name: string) => boolean {
  const names = list.split(/[\s,]+/u).filter((name) => name !== "");
  return (name) =>
    names.some((one) => (one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : one === name));
}
