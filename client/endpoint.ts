/**
 * Where the daemon of a Home listens, and why a client may trust it. Lightweight, because the
 * command line and the MCP server load it.
 *
 * The directory is the protection: mode 0700, of this uid, not a link. Only this user can put a
 * socket there. On Windows, where a pipe has no directory, its name is random and the key in the
 * key file is the protection. Elsewhere the key is a second one.
 */
import { createHash } from "node:crypto";
import { basename, dirname, isAbsolute, join } from "node:path";
import { errorCode, readWhole, replaceFile, unlinkIfThere } from "../platform/durable.ts";
import type { Files } from "../platform/files.ts";
import { HomeProblem } from "../platform/problem.ts";
import type { Random } from "../platform/random.ts";
import { LIMITS } from "../shared/limits.ts";
import type { HomePaths } from "./paths.ts";

/** What the address file says about the running daemon. */
export interface Address {
  pid: number;
  version: string;
  /** Path of the socket, or the name of the pipe on Windows. */
  socket: string;
  web_origin: string | null;
  started_at: string;
}

/** The facts about the machine that decide on the socket. */
export interface Host {
  platform: NodeJS.Platform;
  /** -1 where there is none (Windows). */
  uid: number;
  /** XDG_RUNTIME_DIR, when set. */
  runtimeDirectory: string | undefined;
}

/** The host that this process runs on. */
export function currentHost(): Host {
  return {
    platform: process.platform,
    uid: process.getuid?.() ?? -1,
    runtimeDirectory: process.env["XDG_RUNTIME_DIR"],
  };
}

const PIPE = /^\\\\\.\\pipe\\svc-[0-9a-f]{32}$/;
const KEY = /^[A-Za-z0-9_-]{43}$/;

function insecure(path: string, wrong: string, remedy: string): HomeProblem {
  return new HomeProblem("insecure", path, wrong, remedy);
}

/** Node silently cuts a longer path. */
function fits(host: Host, socket: string): boolean {
  const limits = LIMITS.socketPathBytes;
  return Buffer.byteLength(socket) <= (host.platform === "darwin" ? limits.darwin : limits.linux);
}

/**
 * A link on the path that someone else could redirect. Root's own links (`/tmp` on macOS) are as
 * good as directories.
 */
function checkAncestors(files: Files, host: Host, directory: string): void {
  for (let at = directory; at !== dirname(at); at = dirname(at)) {
    const status = files.stat(at);
    if (status?.kind === "link" && status.uid !== 0 && status.uid !== host.uid) {
      throw insecure(at, "The link belongs to another user.", "Use a path without it.");
    }
  }
}

/** Throws unless `directory` is a real directory of this uid that no one else may enter. */
export function checkPrivateDirectory(files: Files, host: Host, directory: string): void {
  const status = files.stat(directory);
  if (status === null) throw insecure(directory, "The directory doesn't exist.", "Start the daemon: svc up.");
  if (status.kind !== "directory") {
    throw insecure(directory, "It's a link or a file, not a directory.", "Remove it.");
  }
  if (host.platform === "win32") return;
  if (status.uid !== host.uid) {
    throw insecure(directory, `The directory belongs to uid ${status.uid}.`, "Use a directory of your own.");
  }
  if ((status.mode & 0o077) !== 0) {
    throw insecure(directory, "Others can enter the directory.", `Close it: chmod 700 '${directory}'.`);
  }
}

/** The bytes of an owner-only file; null when there is none. */
function readPrivate(files: Files, host: Host, path: string): string | null {
  const status = files.stat(path);
  if (status === null) return null;
  if (status.kind !== "file") throw insecure(path, "It isn't a regular file.", "Remove it.");
  if (host.platform !== "win32") {
    if (status.uid !== host.uid) {
      throw insecure(path, `The file belongs to uid ${status.uid}.`, "Use a Home of your own.");
    }
    if ((status.mode & 0o077) !== 0) {
      throw insecure(path, "Others can read the file.", `Close it: chmod 600 '${path}'.`);
    }
  }
  return readWhole(files, path)?.toString("utf8") ?? null;
}

function fallbackDirectories(host: Host): string[] {
  const own = `/tmp/svc-${host.uid}`;
  const { runtimeDirectory } = host;
  return runtimeDirectory !== undefined && isAbsolute(runtimeDirectory)
    ? [join(runtimeDirectory, "svc"), own]
    : [own];
}

/** Creates the directory unless it exists, and says whether it can hold a socket. */
function usable(files: Files, host: Host, directory: string): boolean {
  try {
    files.mkdir(directory);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") return false;
  }
  checkPrivateDirectory(files, host, directory);
  return true;
}

/**
 * For the holder of the lock: the path to listen on. Creates and checks its directory and removes a
 * socket left by a crash. A Home whose path is too long for a socket gets a short one in the
 * runtime directory, named after the Home.
 */
export function prepareSocket(files: Files, random: Random, host: Host, paths: HomePaths): string {
  return freeSocket(files, random, host, () => nameOf(files, paths), paths.daemon.socket);
}

/**
 * For the holder of the lock: the path of an Actor's own socket, in an owner-only folder that can
 * be given to it alone. Throws as `prepareSocket`.
 */
export function prepareActorSocket(
  files: Files,
  random: Random,
  host: Host,
  paths: HomePaths,
  actor: { group_id: string; actor_id: string },
): string {
  const name = `${actor.group_id}/${actor.actor_id}`;
  const folder = join(paths.daemon.actors, hashOf(name, 16));
  const wanted = join(folder, "socket");
  if (host.platform !== "win32" && fits(host, wanted)) {
    usable(files, host, paths.daemon.actors);
    usable(files, host, folder);
  }
  return freeSocket(files, random, host, () => `${nameOf(files, paths)}\0${name}`, wanted);
}

/** Also after this very folder: another one may have this path in another container, or later. */
function nameOf(files: Files, paths: HomePaths): string {
  return `${paths.root}\0${Object.values(identityOf(files, paths)).join(":")}`;
}

function hashOf(name: string, length: number): string {
  return createHash("sha256").update(name).digest("hex").slice(0, length);
}

/** `named`: whose socket it is, where the wanted path is too long. */
function freeSocket(files: Files, random: Random, host: Host, named: () => string, wanted: string): string {
  if (host.platform === "win32") {
    return `\\\\.\\pipe\\svc-${Buffer.from(random.bytes(16)).toString("hex")}`;
  }
  let socket = wanted;
  if (!fits(host, socket)) {
    const name = hashOf(named(), 32);
    const short = fallbackDirectories(host).find(
      (directory) => fits(host, join(directory, name)) && usable(files, host, directory),
    );
    if (short === undefined) {
      throw insecure(wanted, "There is no room for a socket path.", "Use a Home with a shorter path.");
    }
    socket = join(short, name);
  }
  removeSocket(files, host, socket);
  return socket;
}

/** For the holder of the lock: removes the socket of a closed or dead listener. */
export function removeSocket(files: Files, host: Host, socket: string): void {
  if (host.platform === "win32") return;
  checkSocket(files, host, socket);
  unlinkIfThere(files, socket);
}

/**
 * Throws HomeProblem unless the listener there must be this user. Called before every listen and
 * every connect.
 */
export function checkSocket(files: Files, host: Host, socket: string): void {
  if (host.platform === "win32") {
    if (!PIPE.test(socket))
      throw insecure(socket, "It isn't a pipe that svc created.", "Restart the daemon.");
    return;
  }
  if (!isAbsolute(socket) || !fits(host, socket)) {
    throw insecure(socket, "The path can't be used for a socket.", "Use a Home with a shorter path.");
  }
  const directory = dirname(socket);
  checkAncestors(files, host, directory);
  checkPrivateDirectory(files, host, directory);
  const status = files.stat(socket);
  if (status !== null && (status.kind !== "other" || status.uid !== host.uid)) {
    throw insecure(socket, "It isn't a socket that you own.", "Remove it.");
  }
}

/** For the holder of the lock: creates a new 256-bit key (base64url) and returns it. */
export async function renewSocketKey(files: Files, random: Random, paths: HomePaths): Promise<string> {
  const key = Buffer.from(random.bytes(32)).toString("base64url");
  await replaceFile(files, paths.daemon.key, Buffer.from(`${key}\n`));
  return key;
}

/**
 * For clients: the key that every request carries; null if no daemon ever ran. Read again after a
 * refused request.
 */
export function readSocketKey(files: Files, host: Host, paths: HomePaths): string | null {
  const key = readPrivate(files, host, paths.daemon.key)?.trim();
  if (key === undefined) return null;
  if (KEY.test(key)) return key;
  throw new HomeProblem("corrupt", paths.daemon.key, "It isn't a key.", "Restart the daemon.");
}

/**
 * What distinguishes a Home from each copy of it, however it was made. A daemon holds the lock's
 * file open, so no other file has its number while it runs. Links to all the files make a copy with
 * the same files, but in a folder of its own.
 */
interface HomeIdentity {
  device: number;
  folder: number;
  lock: number;
}

/** Zero for what isn't there. */
function identityOf(files: Files, { daemon }: HomePaths): HomeIdentity {
  const folder = files.stat(daemon.directory);
  return {
    device: folder?.device ?? 0,
    folder: folder?.inode ?? 0,
    lock: files.stat(daemon.lock)?.inode ?? 0,
  };
}

/** For the holder of the lock. */
export async function writeAddress(files: Files, paths: HomePaths, address: Address): Promise<void> {
  const { pid, version, socket, web_origin: webOrigin, started_at: startedAt } = address;
  const text = JSON.stringify({
    v: 1,
    pid,
    version,
    socket,
    web_origin: webOrigin,
    started_at: startedAt,
    home: identityOf(files, paths),
  });
  await replaceFile(files, paths.daemon.address, Buffer.from(`${text}\n`));
}

/**
 * The address, and whether it was written into another folder, of which this one is a copy. Null if
 * no daemon runs or ever ran. It may be out of date: only a connection proves that the daemon runs.
 */
export function readNoted(
  files: Files,
  host: Host,
  paths: HomePaths,
): { address: Address; isCopied: boolean } | null {
  const text = readPrivate(files, host, paths.daemon.address);
  if (text === null) return null;
  let found: Partial<Record<keyof Address | "home", unknown>>;
  try {
    found = (JSON.parse(text) as typeof found | null) ?? {};
  } catch {
    found = {};
  }
  const { pid, version, socket, web_origin: webOrigin, started_at: startedAt } = found;
  if (
    typeof pid === "number" &&
    typeof version === "string" &&
    typeof socket === "string" &&
    (webOrigin === null || typeof webOrigin === "string") &&
    typeof startedAt === "string"
  ) {
    const address = { pid, version, socket, web_origin: webOrigin, started_at: startedAt };
    return { address, isCopied: isCopied(files, paths, socket, found.home) };
  }
  throw new HomeProblem("corrupt", paths.daemon.address, "It isn't an address.", "Restart the daemon.");
}

/** `noted` is the identity in the address file, where an older daemon wrote none. */
function isCopied(files: Files, paths: HomePaths, socket: string, noted: unknown): boolean {
  const own = identityOf(files, paths);
  if (typeof noted !== "object" || noted === null) {
    // Its socket is in its own Home, or has a name of 32 digits.
    if (basename(socket) !== basename(paths.daemon.socket)) return false;
    const folder = files.stat(dirname(socket));
    return folder !== null && (folder.device !== own.device || folder.inode !== own.folder);
  }
  const { device, folder, lock } = noted as Partial<HomeIdentity>;
  // Without the lock the daemon still says so itself ('svc doctor').
  return device !== own.device || folder !== own.folder || (own.lock !== 0 && lock !== own.lock);
}

/**
 * Where to connect to the daemon that wrote the address. A Home that was moved under a running
 * daemon, or is known by several paths, has the socket in it.
 */
export function socketOf(files: Files, host: Host, paths: HomePaths, { socket }: Address): string {
  if (host.platform === "win32" || socket === paths.daemon.socket) return socket;
  const own = paths.daemon.socket;
  const isInside = basename(socket) === basename(own) && fits(host, own);
  return isInside && files.stat(own) !== null ? own : socket;
}
