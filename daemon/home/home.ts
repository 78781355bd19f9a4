/**
 * A Home on disk: created, checked, opened (docs/core-model.md#home).
 *
 * Owner and kind must be right: a foreign owner or a link is refused. Permissions of our own files
 * are tightened to 0700 and 0600, and the caller is told. A Home that was restored from a backup or
 * created by hand must start.
 */
import { dirname } from "node:path";
import type { Host } from "../../client/endpoint.ts";
import { type HomePaths, homePaths } from "../../client/paths.ts";
import { type Clock, timestamp } from "../../platform/clock.ts";
import { JsonDocument } from "../../platform/documents.ts";
import { ensureDirectory, errorCode, syncDirectory } from "../../platform/durable.ts";
import type { Files } from "../../platform/files.ts";
import { HomeProblem } from "../../platform/problem.ts";
import type { Random } from "../../platform/random.ts";
import { HomeFiles } from "./home-files.ts";
import { InstanceIdentity } from "./identity.ts";
import { HomeLock } from "./lock.ts";
import { defaultSettings, HOME_FORMAT, SETTINGS_VERSION, Settings } from "./settings.ts";

export interface HomeDependencies {
  files: Files;
  clock: Clock;
  random: Random;
  host: Host;
  /** Only ever removes permissions of group and others. */
  chmod(path: string, mode: number): void;
}

export interface Home {
  readonly paths: HomePaths;
  readonly lock: HomeLock;
  readonly identity: InstanceIdentity;
  readonly settings: JsonDocument<Settings>;
  /** Which needed files there were. */
  readonly kept: HomeFiles;
  /** Paths whose permissions were too wide and were tightened at this start. */
  readonly tightened: readonly string[];
}

const KINDS = {
  file: "a file",
  directory: "a directory",
  link: "a link",
  other: "a device, pipe or socket",
} as const;

/** Checks what is there; a missing entry is fine. Notes in `tightened` what it had to close. */
function checkEntry(
  deps: HomeDependencies,
  path: string,
  kind: "directory" | "file",
  tightened: string[],
): void {
  const status = deps.files.stat(path);
  if (status === null) return;
  if (status.kind !== kind) {
    const remedy = "Replace it, or set SVC_HOME to the real directory.";
    throw new HomeProblem("insecure", path, `It is ${KINDS[status.kind]}, not ${KINDS[kind]}.`, remedy);
  }
  if (deps.host.platform === "win32") return;
  if (status.uid !== deps.host.uid) {
    const remedy = "Use a Home of your own, or give it to you with chown.";
    throw new HomeProblem("insecure", path, `It belongs to uid ${status.uid}.`, remedy);
  }
  const mode = kind === "directory" ? 0o700 : 0o600;
  if ((status.mode & ~mode) === 0) return;
  deps.chmod(path, mode);
  tightened.push(path);
}

async function ensureTree(files: Files, directory: string): Promise<void> {
  if (files.stat(directory) !== null) return;
  await ensureTree(files, dirname(directory));
  await ensureDirectory(files, directory);
}

async function readSettings(files: Files, paths: HomePaths): Promise<JsonDocument<Settings> | null> {
  const settings = await JsonDocument.read({
    files,
    path: paths.settings,
    version: SETTINGS_VERSION,
    schema: Settings,
  });
  const format = settings?.value.format ?? HOME_FORMAT;
  if (format > HOME_FORMAT) {
    const wrong = `The Home has format ${format}; this program supports up to ${HOME_FORMAT}.`;
    throw new HomeProblem("unsupported_version", paths.root, wrong, "Update svc.");
  }
  return settings;
}

/**
 * Creates or checks the Home at `root` (absolute), takes its lock and opens identity and settings.
 * Throws HomeProblem, including HomeLocked, and Refusal if the disk fails. A Home of a newer
 * program stays untouched.
 */
export async function openHome(deps: HomeDependencies, root: string): Promise<Home> {
  try {
    return await open(deps, root);
  } catch (error) {
    throw inaccessible(root, error) ?? error;
  }
}

/** The system's reason for refusing a path, in words; null for anything else. */
function inaccessible(root: string, error: unknown): HomeProblem | null {
  const code = errorCode(error);
  if (code === undefined || !["EACCES", "EPERM", "EROFS", "ENOENT", "ENOTDIR"].includes(code)) return null;
  const path = (error as NodeJS.ErrnoException).path ?? root;
  const wrong =
    code === "ENOENT" || code === "ENOTDIR"
      ? `It can't be created (${code}).`
      : `You can't write there (${code}).`;
  const remedy = "Give yourself write access, or choose another Home with --home or SVC_HOME.";
  return new HomeProblem("unreadable", path, wrong, remedy, error);
}

/**
 * A needed file of the Home at `root` is no longer expected. If something is there in its place, it
 * is renamed; resolves with its new path, or null. Throws HomeProblem, HomeLocked while a daemon
 * runs, and Refusal if that can't be noted.
 */
export async function forgetFile(deps: HomeDependencies, root: string, path: string): Promise<string | null> {
  const { files, clock } = deps;
  const paths = homePaths(root);
  const lock = await HomeLock.acquire(deps, paths);
  try {
    const kept = await HomeFiles.open(files, paths);
    kept.checkWritable();
    let aside: string | null = null;
    if (files.stat(path) !== null) {
      aside = `${path}.aside-${timestamp(clock).replaceAll(/[^0-9]/g, "")}`;
      files.rename(path, aside);
      await syncDirectory(files, dirname(path));
    }
    await kept.forget(path);
    return aside;
  } finally {
    lock.release();
  }
}

async function open(deps: HomeDependencies, root: string): Promise<Home> {
  const { files, clock, random } = deps;
  const paths = homePaths(root);
  const tightened: string[] = [];
  await ensureTree(files, root);
  checkEntry(deps, root, "directory", tightened);
  checkEntry(deps, paths.settings, "file", tightened);
  await readSettings(files, paths);
  for (const directory of [paths.daemon.directory, paths.groups, paths.secrets]) {
    await ensureDirectory(files, directory);
    checkEntry(deps, directory, "directory", tightened);
  }
  for (const file of [
    paths.identity,
    paths.files,
    paths.daemon.lock,
    paths.daemon.key,
    paths.daemon.address,
  ]) {
    checkEntry(deps, file, "file", tightened);
  }
  const lock = await HomeLock.acquire(deps, paths);
  try {
    const kept = await HomeFiles.open(files, paths);
    const { outbox } = paths.connect;
    for (const directory of [dirname(dirname(outbox)), dirname(outbox), outbox])
      checkEntry(deps, directory, "directory", tightened);
    for (const path of [paths.identity, paths.settings, outbox]) kept.check(path);
    const identity = await InstanceIdentity.obtain(files, random, paths.identity);
    const settings =
      (await readSettings(files, paths)) ??
      (await JsonDocument.create(
        { files, path: paths.settings, version: SETTINGS_VERSION, schema: Settings },
        defaultSettings(timestamp(clock)),
      ));
    await kept.noteAll();
    return { paths, lock, identity, settings, kept, tightened };
  } catch (error) {
    lock.release();
    throw error;
  }
}
