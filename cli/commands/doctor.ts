/** Checks of this machine, the Home and the daemon. Each problem comes with a remedy. */
import { accessSync, constants, existsSync, lstatSync, type Stats, statfsSync } from "node:fs";
import { dirname } from "node:path";
import { DaemonSilent, DaemonUnreachable, RefusedByDaemon } from "../../client/failures.ts";
import { lostFiles, nameInHome, wayOn } from "../../client/home-files.ts";
import { homePaths } from "../../client/paths.ts";
import { Refusal } from "../../shared/errors.ts";
import type { HealthCheck } from "../../shared/health.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { CommandContext } from "../context.ts";
import { oneLine, type Style } from "../output.ts";

const NODE = { major: 20, minor: 19 };
const LOW_SPACE = 256 * 1024 * 1024;

function nodeCheck(): HealthCheck {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const fits = major > NODE.major || (major === NODE.major && minor >= NODE.minor);
  return {
    code: "node_version",
    severity: fits ? "ok" : "error",
    title: "Node.js",
    text: `Version ${process.versions.node}.`,
    remedy: fits ? "" : `Install Node.js ${NODE.major}.${NODE.minor} or newer.`,
  };
}

/** Why this user may not write to the directory, or null. */
function refusedBy(directory: string): unknown {
  try {
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return error;
  }
}

/** The existing part of the Home's path, where the Home would be created. */
function nearestDirectory(home: string): string {
  let at = dirname(home);
  while (at !== dirname(at) && !existsSync(at)) at = dirname(at);
  return at;
}

function notWritable(home: string, error: unknown): HealthCheck {
  return {
    code: "home_not_writable",
    severity: "error",
    title: "Home",
    text: `You can't write to ${home} (${(error as NodeJS.ErrnoException).code ?? "error"}).`,
    remedy: "Give yourself write access, or choose another Home with --home or SVC_HOME.",
  };
}

/** Checks that need no daemon. */
function homeChecks(home: string): HealthCheck[] {
  const title = "Home";
  let stat: Stats | undefined;
  try {
    stat = lstatSync(home, { throwIfNoEntry: false });
  } catch (error) {
    return [notWritable(home, error)];
  }
  const trouble = stat?.isDirectory() ? refusedBy(home) : refusedBy(nearestDirectory(home));
  if (trouble !== null && (stat === undefined || stat.isDirectory())) return [notWritable(home, trouble)];
  if (!stat)
    return [
      {
        code: "home_missing",
        severity: "warning",
        title,
        text: `${home} doesn't exist yet.`,
        remedy: "Start the daemon. It creates the Home.",
      },
    ];
  if (!stat.isDirectory())
    return [
      {
        code: "home_not_a_directory",
        severity: "error",
        title,
        text: `${home} isn't a directory.`,
        remedy: "Move it away, or choose another Home with SVC_HOME.",
      },
    ];
  const { bavail, bsize } = statfsSync(home);
  const free = bavail * bsize;
  const foreign =
    process.getuid !== undefined && (stat.uid !== process.getuid() || (stat.mode & 0o077) !== 0);
  return [
    foreign
      ? {
          code: "home_mode",
          severity: "error",
          title,
          text: `Others can use ${home}.`,
          remedy: `Keep it to yourself: chmod 700 '${home}'.`,
        }
      : { code: "home_mode", severity: "ok", title, text: `Only you can use ${home}.`, remedy: "" },
    {
      code: "disk_space",
      severity: free < LOW_SPACE ? "warning" : "ok",
      title: "Disk space",
      text: `The Home's disk has ${Math.floor(free / 1024 / 1024)} MiB free.`,
      remedy: free < LOW_SPACE ? "Free some space. Without it nothing can be recorded." : "",
    },
  ];
}

/** Needed files that are gone or damaged, each with what was in it. */
function lostChecks(home: string): HealthCheck[] {
  const paths = homePaths(home);
  return lostFiles(paths).map(({ path, lost, how }) => ({
    code: "home_file_lost",
    severity: "error",
    title: "Home",
    text: `${path} ${how === "gone" ? "is gone or has nothing in it" : "is damaged"}. ${lost}`,
    remedy: `Put it back from a backup. ${wayOn(paths, nameInHome(paths, path))}`,
  }));
}

/** The daemon's own checks, or why it can't be asked. */
async function daemonChecks(context: CommandContext): Promise<HealthCheck[]> {
  const title = "Daemon";
  try {
    const { checks } = await context.client.result(
      "health",
      {},
      { answerSeconds: LIMITS.client.statusSeconds },
    );
    return [
      { code: "daemon_running", severity: "ok", title, text: "It is running and answers.", remedy: "" },
      ...checks,
    ];
  } catch (error) {
    if (error instanceof DaemonUnreachable)
      return [
        {
          code: codeOf(error),
          severity: "error",
          title,
          text: error.problem,
          remedy: error.remedy,
        },
      ];
    if (error instanceof Refusal || error instanceof RefusedByDaemon)
      return [
        {
          code: error.body().code,
          severity: "error",
          title,
          text: error.message,
          remedy: "Run it as yourself, without a launch token in the environment.",
        },
      ];
    throw error;
  }
}

const STYLES: Readonly<Record<HealthCheck["severity"], Style>> = {
  ok: "green",
  warning: "yellow",
  error: "red",
};

/** Exits with 1 if a check is an error. */
export async function doctor(context: CommandContext): Promise<number> {
  const { out } = context;
  const told = await daemonChecks(context);
  // A daemon that answers has already checked its Home and its Node.
  const asked = told.length > 1;
  const lost = lostChecks(context.home);
  const checks = asked ? [...told, ...lost] : [nodeCheck(), ...homeChecks(context.home), ...lost, ...told];
  if (out.json) out.document({ ok: true, result: { checks } });
  else
    for (const { severity, title, text, remedy } of checks) {
      out.line(`${out.style(STYLES[severity], severity.padEnd(7))}  ${title}: ${oneLine(text)}`);
      if (remedy !== "" && severity !== "ok") out.line(`         ${context.suggested(remedy)}`);
    }
  return checks.some(({ severity }) => severity === "error") ? 1 : 0;
}

function codeOf(error: DaemonUnreachable): string {
  if (error instanceof DaemonSilent) return "daemon_silent";
  return error.mayRun ? "daemon_out_of_reach" : "daemon_not_running";
}
