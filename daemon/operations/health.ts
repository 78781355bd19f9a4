/** Health checks: everything the daemon checks of itself, in words, each with a remedy. */

import type { HomePaths } from "../../client/paths.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Descriptors } from "../../platform/descriptors.ts";
import type { Files } from "../../platform/files.ts";
import { hasRoomForGroup } from "../../platform/http/connections.ts";
import { missingFile } from "../../platform/program-files.ts";
import { ERRORS } from "../../shared/errors.ts";
import type { HealthCheck } from "../../shared/health.ts";
import { LIMITS } from "../../shared/limits.ts";
import { sizeWords } from "../../shared/size-words.ts";
import { quoted } from "../../shared/voice.ts";

/** What the checks look at. */
export interface HealthSources {
  files: Files;
  clock: Clock;
  paths: HomePaths;
  /** `process.versions.node`. */
  nodeVersion: string;
  /** Starts `svc`. */
  program: readonly string[];
  /** False where permissions don't say anything (Windows). */
  hasModes: boolean;
  socket: string;
  /** The daemon of the Home that this one is a copy of; null for none. */
  original: { pid: number; socket: string } | null;
  isAlive: (pid: number) => boolean;
  /** Paths whose permissions this start tightened. */
  tightened: readonly string[];
  /** Why it isn't known which needed files there were; null if it is. */
  neededTrouble: string | null;
  descriptors: Descriptors;
  createdAt: () => string;
  /** Why nothing can be written to a directory; null when it can. */
  writeTrouble: (directory: string) => string | null;
  /** Bytes that this user may still write to the Home's disk; null if the system doesn't say. */
  freeBytes: () => number | null;
}

const MiB = 1024 * 1024;
const LOW_DISK_BYTES = 1024 * MiB;
const NO_DISK_BYTES = 64 * MiB;
const OLDEST_NODE: readonly [number, number] = [20, 19];
/** No machine's clock can correctly show an earlier time. */
const EARLIEST = Date.UTC(2025, 0, 1);

type Found = Omit<HealthCheck, "code" | "title">;

const OK = (text: string): Found => ({ severity: "ok", text, remedy: "" });

/** One check of the daemon by itself. */
export interface Check {
  code: string;
  title: string;
  /**
   * Looks more closely, for `run` to tell, when a person asks: it may read a lot, but answers
   * within `LIMITS.health.lookSeconds`.
   */
  look?(): Promise<void>;
  run(): Found;
}

/** Lets every check look more closely; one that fails keeps none from looking. */
export async function lookClosely(checks: readonly Check[]): Promise<void> {
  await Promise.allSettled(checks.map(async (check) => check.look?.()));
}

/** Each check's finding. A check that fails by itself is an error, never a missing one. */
export function runChecks(checks: readonly Check[]): HealthCheck[] {
  return checks.map(({ code, title, ...check }) => {
    try {
      return { code, title, ...check.run() };
    } catch {
      const remedy = "Look at the daemon's log, then run 'svc doctor' again.";
      return { code, title, severity: "error", text: "The check itself failed.", remedy };
    }
  });
}

/** Of the machine and the Home's files. */
export function homeChecks(sources: HealthSources): Check[] {
  const checks: [code: string, title: string, check: (sources: HealthSources) => Found][] = [
    ["node_version", "Node", node],
    ["program", "The daemon's program", ownProgram],
    ["home_modes", "Permissions of the Home", modes],
    ["home_files", "Needed files of the Home", neededFiles],
    ["open_files", "Open files and connections", openFiles],
    ["home_writable", "Writing to the Home", writing],
    ["lock", "Lock of the Home", lock],
    ["home_copy", "Copies of the Home", copies],
    ["socket", "Local socket", socket],
    ["disk_space", "Disk space", disk],
    ["clock", "Clock", clock],
  ];
  return checks.map(([code, title, check]) => ({ code, title, run: () => check(sources) }));
}

function node({ nodeVersion }: HealthSources): Found {
  const [major = 0, minor = 0] = nodeVersion.split(".").map(Number);
  const [oldest, oldestMinor] = OLDEST_NODE;
  if (major > oldest || (major === oldest && minor >= oldestMinor)) return OK(`Node ${nodeVersion}.`);
  const remedy = `Install Node ${oldest}.${oldestMinor} or newer.`;
  return { severity: "error", text: `Node ${nodeVersion} is too old.`, remedy };
}

function ownProgram({ files, program }: HealthSources): Found {
  const gone = missingFile(files, program);
  if (gone === null) return OK("It is where it was.");
  const text = `It isn't there any more: ${gone}. The daemon runs on, but starts no agent and shows no Workbench.`;
  return { severity: "error", text, remedy: ERRORS.program_gone.remedy };
}

function modes({ files, paths, hasModes, tightened }: HealthSources): Found {
  if (!hasModes) return OK("This system has no permission bits.");
  const open = [paths.root, paths.daemon.directory, paths.groups, paths.settings, paths.daemon.key].filter(
    (path) => ((files.stat(path)?.mode ?? 0) & 0o077) !== 0,
  );
  if (open.length > 0) {
    const remedy = `Close it: chmod go= '${open[0]}'.`;
    return { severity: "error", text: `Others can read ${open.join(", ")}.`, remedy };
  }
  if (tightened.length === 0) return OK("Only you can read it.");
  const text = `Before this start, others could read ${tightened.length} paths. They are now closed: ${tightened.join(", ")}.`;
  return { severity: "warning", text, remedy: "Renew tokens if others use this machine." };
}

function neededFiles({ neededTrouble }: HealthSources): Found {
  if (neededTrouble === null) return OK("They are known.");
  const text = `It isn't known which there were, so that one that is gone may be made again: ${neededTrouble}`;
  const remedy = "Restore home_files.json from a backup, or move it away. Then restart the daemon.";
  return { severity: "error", text, remedy };
}

function openFiles({ descriptors }: HealthSources): Found {
  const { limit } = descriptors;
  const open = descriptors.inUse();
  if (limit === null || open === null) return OK("The system sets no limit, or doesn't say.");
  const text = `${open} of ${limit}.`;
  const remedy = "Raise the daemon's limit (ulimit -n, or LimitNOFILE of the service), and restart it.";
  if (!hasRoomForGroup(descriptors))
    return { severity: "error", text: `${text} No Group can be opened.`, remedy };
  return limit < LIMITS.descriptors.few
    ? { severity: "warning", text: `${text} That is few.`, remedy }
    : OK(text);
}

function writing({ paths, writeTrouble }: HealthSources): Found {
  for (const directory of [paths.root, paths.daemon.directory, paths.groups]) {
    const trouble = writeTrouble(directory);
    if (trouble === null) continue;
    const remedy = "Make it writable again. Until then nothing can be recorded.";
    return { severity: "error", text: `The daemon can't write to ${directory} (${trouble}).`, remedy };
  }
  return OK("Allowed.");
}

function lock({ files, paths }: HealthSources): Found {
  if (files.stat(paths.daemon.lock)?.kind === "file") return OK("Held by this daemon.");
  const remedy = "Restart the daemon.";
  return { severity: "error", text: "The lock file was removed. A second daemon could start.", remedy };
}

function copies({ files, original, isAlive }: HealthSources): Found {
  // Another program may have the number of the process, but not its socket as well.
  if (original === null || !isAlive(original.pid) || files.stat(original.socket) === null)
    return OK("None is known to be in use.");
  const text = `This Home is a copy of one that is in use (process ${original.pid}). Both have one key, so other instances take them for one.`;
  return { severity: "error", text, remedy: "Stop one of the two daemons, and don't start it again." };
}

function socket({ files, paths, socket, hasModes }: HealthSources): Found {
  if (hasModes && files.stat(socket) === null) {
    return { severity: "error", text: `The socket ${socket} was removed.`, remedy: "Restart the daemon." };
  }
  if (!hasModes || socket === paths.daemon.socket) return OK(socket);
  return OK(`${socket}, because the Home's own path is too long for a socket.`);
}

/** `trouble` says why the listener couldn't start; `origin` is null when it is off. */
export function webCheck(
  look: () => { origin: string | null; exposed: boolean; trouble: { text: string; remedy: string } | null },
): Check {
  return { code: "web_listener", title: "Web listener", run: () => web(look()) };
}

function web({ origin, exposed, trouble }: ReturnType<Parameters<typeof webCheck>[0]>): Found {
  if (trouble !== null) {
    return { severity: "error", ...trouble };
  }
  if (origin === null) return OK("Off.");
  if (!exposed) return OK(origin);
  const remedy =
    "Give it a certificate (--tls-cert, --tls-key), or listen on 127.0.0.1 behind a proxy with TLS.";
  return { severity: "warning", text: `${origin} serves plain HTTP beyond this machine.`, remedy };
}

export function callersCheck(canTell: () => boolean): Check {
  return {
    code: "callers",
    title: "Callers",
    run: () =>
      canTell()
        ? OK("The system says which program is at the local socket.")
        : {
            severity: "warning",
            text: "svc can't see which program is at the local socket, so the command line decides nothing for you.",
            remedy: "Install Perl, or decide in the Workbench: 'svc up' prints its link.",
          },
  };
}

function disk({ freeBytes }: HealthSources): Found {
  const free = freeBytes();
  if (free === null) return OK("The system doesn't report the free space.");
  const text = `${sizeWords(free)} are free on the Home's disk.`;
  if (free >= LOW_DISK_BYTES) return OK(text);
  const severity = free < NO_DISK_BYTES ? "error" : "warning";
  return { severity, text, remedy: "Free up some space there." };
}

function clock({ clock, createdAt }: HealthSources): Found {
  const now = clock.now();
  const remedy = "Set the clock, or turn on time synchronization.";
  if (now < EARLIEST) return { severity: "error", text: "The clock shows a time far in the past.", remedy };
  if (now + 60_000 < Date.parse(createdAt())) {
    return { severity: "warning", text: "The clock shows a time before this Home was created.", remedy };
  }
  return OK(`${new Date(now).toISOString().slice(0, 19).replace("T", " ")} UTC.`);
}

/** What is wrong with one Group, in sentences, and what to do about it. */
export interface GroupProblem {
  group_id: string;
  text: string;
  remedy: string;
}

/** Which Groups can't be opened, and what is wrong with others. */
export function groupsCheck(
  find: () => { open: number; problems: readonly GroupProblem[] },
  look: () => Promise<void>,
): Check {
  return { code: "groups", title: "Groups and their ledgers", look, run: () => groups(find()) };
}

function groups({ open, problems }: ReturnType<Parameters<typeof groupsCheck>[0]>): Found {
  if (problems.length === 0) return OK(`${open} open.`);
  const text = problems.map((problem) => `${problem.group_id}: ${problem.text}`).join(" ");
  const remedy = [...new Set(problems.map((problem) => problem.remedy))].join(" ");
  return { severity: "error", text, remedy };
}

/** Whether the folders that Actors work in are there. */
export function projectsCheck(missing: () => readonly { group_id: string; path: string }[]): Check {
  return { code: "projects", title: "Project folders", run: () => projectFolders(missing()) };
}

function projectFolders(missing: readonly { group_id: string; path: string }[]): Found {
  const [first] = missing;
  if (first === undefined) return OK("Each that an Actor works in is there.");
  const text = missing.map(({ group_id: groupId, path }) => `${groupId}: ${quoted(path)} isn't there.`);
  const remedy = `Put it back, or say where it is now: 'svc attach PATH --group ${first.group_id}'.`;
  return { severity: "warning", text: text.join(" "), remedy };
}

/** Actors in terminals that don't run, while messages wait for them. */
export function actorsCheck(waiting: () => readonly Waiting[], look: () => Promise<void>): Check {
  return { code: "actors", title: "Messages for Actors in terminals", look, run: () => actors(waiting()) };
}

interface Waiting {
  group_id: string;
  actor_id: string;
  messages: number;
  /** It isn't there. */
  program: string | null;
}

function actors(waiting: readonly Waiting[]): Found {
  const first = waiting.find(({ program }) => program !== null) ?? waiting[0];
  if (first === undefined) return OK("None waits for one that isn't running.");
  const text = waiting.map(({ group_id: groupId, actor_id: actorId, messages, program }) => {
    const why =
      program === null ? "isn't running" : `has no program: ${quoted(program)} isn't on this machine`;
    return `${groupId}: ${messages} ${messages === 1 ? "waits" : "wait"} for ${actorId}, which ${why}.`;
  });
  const { group_id: groupId, actor_id: actorId, program } = first;
  const start = `'svc actor start ${actorId} --group ${groupId}'`;
  const remedy =
    program === null
      ? `Start it: ${start}.`
      : `Install it, or give the Actor another command: 'svc actor update ${actorId} --group ${groupId} -- COMMAND'. Then ${start}.`;
  return { severity: "warning", text: text.join(" "), remedy };
}

export function tokensCheck(count: () => number): Check {
  return { code: "access_tokens", title: "Access tokens", run: () => tokens(count()) };
}

function tokens(count: number): Found {
  const limit = LIMITS.accessToken.perHome;
  if (count < limit * 0.9) return OK(`${count} of ${limit}.`);
  return {
    severity: "warning",
    text: `${count} of ${limit} are in use.`,
    remedy: "Revoke some. 'svc token list' shows them.",
  };
}

/** `problem` says why the sessions of browsers can't be read. */
export function sessionsCheck(problem: () => string | null): Check {
  return { code: "web_sessions", title: "Sessions of browsers", run: () => sessions(problem()) };
}

function sessions(problem: string | null): Found {
  if (problem === null) return OK("They are saved.");
  const remedy =
    "Restore web_sessions.json from a backup, or move it away. Then restart the daemon. Until then, browsers must sign in again after each start.";
  return { severity: "error", text: `They can't be read: ${problem}`, remedy };
}

/**
 * Messages that wait for other instances, paths of their records that can't be read, and why it is
 * unknown which ones a reset ended.
 */
export function outboxCheck(
  look: () => { waiting: number; unreadable: readonly string[]; problem: string | null },
): Check {
  return { code: "outbox", title: "Messages to other instances", run: () => outbox(look()) };
}

function outbox({ waiting, unreadable, problem }: ReturnType<Parameters<typeof outboxCheck>[0]>): Found {
  if (problem !== null) {
    const text = `The daemon doesn't know which waiting messages a Group's reset has cancelled: ${problem}`;
    const remedy =
      "Restore outbox_generations.json from a backup, or move it away. Then restart the daemon. New messages are still sent.";
    return { severity: "error", text, remedy };
  }
  if (unreadable.length === 0) return OK(waiting === 1 ? "1 waits." : `${waiting} wait.`);
  const text = `${unreadable.length} can't be read and ${unreadable.length === 1 ? "takes" : "take"} up space: ${unreadable.join(", ")}.`;
  const remedy =
    "Restore these files from a backup, or remove them and send the messages again. Then restart the daemon.";
  return { severity: "error", text, remedy };
}

/** Why the relations can't be read, and the listener's state. */
export function directCheck(
  look: () => {
    problem: string | null;
    listener: { bind: string; trouble: string | null } | null;
    clocks: { peer: { title: string; name: string }; trouble: string }[];
  },
): Check {
  return { code: "direct", title: "Direct connections", run: () => direct(look()) };
}

function direct({ problem, listener, clocks }: ReturnType<Parameters<typeof directCheck>[0]>): Found {
  if (problem !== null) {
    const remedy =
      "Restore direct_connections.json from a backup, or move it away and invite again. Then restart the daemon.";
    return { severity: "error", text: `They can't be read, so none is allowed: ${problem}`, remedy };
  }
  if (clocks.length > 0) {
    const text = clocks
      .map(({ peer, trouble }) => `${quoted(peer.title)} at ${quoted(peer.name)}: ${trouble}`)
      .join(" ");
    const remedy =
      "Compare this machine's clock with a time server and ask the other side to do the same. Until the clocks agree, messages are refused.";
    return { severity: "warning", text, remedy };
  }
  if (listener === null) return OK("No listener.");
  if (listener.trouble === null) return OK(`Listening on ${listener.bind}.`);
  const remedy = "Others can't reach this instance until then. The daemon tries again every 5 seconds.";
  return { severity: "warning", text: listener.trouble, remedy };
}

/** Why the account service doesn't confirm this instance. */
export function accountCheck(look: () => { state: string; error: string | null }): Check {
  return { code: "account", title: "Link to an account", run: () => account(look()) };
}

/** `joined`: who joined the account since a person last looked, in words. */
export function joinedCheck(look: () => { joined: readonly string[]; origin: string | null }): Check {
  return {
    code: "account_joined",
    title: "New instances in the account",
    run() {
      const { joined, origin } = look();
      if (joined.length === 0) return OK("None since you last looked.");
      const remedy = `If that wasn't you, retire it at ${origin ?? "the account's page"}. Otherwise run 'svc account --seen'.`;
      return { severity: "warning", text: joined.join(" "), remedy };
    },
  };
}

function account({ state, error }: ReturnType<Parameters<typeof accountCheck>[0]>): Found {
  if (state === "not_linked" && error === null) return OK("Not linked.");
  if (error === null) return OK(state === "waiting" ? "Waiting for its confirmation." : "Linked.");
  const remedy =
    "See 'svc account'. Messages to the account's other instances wait until it is confirmed again.";
  return { severity: "warning", text: error, remedy };
}

export function notificationsCheck(
  look: () => { problem: string | null; browsers: number; sent: number; failed: number },
): Check {
  return { code: "notifications", title: "Web Push", run: () => notifications(look()) };
}

function notifications(state: ReturnType<Parameters<typeof notificationsCheck>[0]>): Found {
  const { problem, browsers, sent, failed } = state;
  if (problem !== null) {
    const remedy = "Restore the file from a backup, or remove it and subscribe again.";
    return { severity: "warning", text: problem, remedy };
  }
  if (browsers === 0) return OK("No browser is told by Web Push.");
  const of = browsers === 1 ? "1 browser" : `${browsers} browsers`;
  return OK(`${of}; ${sent} sent, ${failed} failed.`);
}
