/** Whose process this is, and their login shell (docs/runtimes.md#the-environment-of-an-agent). */
import { homedir, userInfo } from "node:os";
import { basename } from "node:path";
import { ASKS_FOR_ENVIRONMENT, ownEnvironment } from "../../client/person-environment.ts";
import { isFile } from "../../client/programs.ts";
import type { Log } from "../../platform/log.ts";
import { askLoginShell } from "../../platform/login-shell.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { LIMITS } from "../../shared/limits.ts";
import { ENVIRONMENT } from "../../shared/names.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Where a login begins; its shell's files add the rest. */
const FIRST_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Nobody logs in with these. */
const NO_SHELLS = new Set(["nologin", "false", "true"]);

/** What each login has, also where cron or a service manager doesn't say it. */
export function environmentWithPerson(environment: Environment): Environment {
  const { username = "", shell = "" } = person();
  const named = environment[ENVIRONMENT.loginShell] || "none";
  const login = named === "none" ? shell : named;
  return {
    HOME: homedir(),
    ...(username === "" ? {} : { USER: username, LOGNAME: username }),
    ...environment,
    ...(canLogIn(login) ? { SHELL: login } : {}),
  };
}

/**
 * Asks the login shell. Null if it doesn't answer in time, or if there is none. The log says so,
 * without a value.
 */
export async function environmentOfLogin(
  environment: Environment,
  log: Pick<Log, "warn">,
): Promise<Record<string, string> | null> {
  const file = environment["SHELL"] ?? "";
  if (environment[ENVIRONMENT.loginShell] === "none" || !canLogIn(file)) return null;
  const own = ownEnvironment(environment);
  const answer = await askLoginShell({
    file,
    environment: { ...own, PATH: FIRST_PATH, TERM: "xterm-256color", [ASKS_FOR_ENVIRONMENT]: "1" },
    directory: own["HOME"] ?? "/",
    node: process.execPath,
    nodeEnvironment: process.versions["electron"] === undefined ? {} : { ELECTRON_RUN_AS_NODE: "1" },
    mark: Buffer.from(new RealRandom().bytes(16)).toString("hex"),
    milliseconds: LIMITS.loginShell.seconds * 1000,
    bytes: LIMITS.loginShell.outputBytes,
  });
  if (answer === null)
    log.warn("login shell", { shell: file, problem: "it didn't say its environment in time" });
  return answer;
}

/** Empty where the system doesn't know this user. */
function person(): { username?: string; shell?: string | null } {
  try {
    return userInfo();
  } catch {
    return {};
  }
}

function canLogIn(shell: string | null | undefined): shell is string {
  return Boolean(shell) && !NO_SHELLS.has(basename(shell!)) && isFile(shell!);
}
