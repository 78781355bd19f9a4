/**
 * One daemon per Home. Node has no flock, and with "connect refused, unlink, listen" two starters
 * could both win. An open write transaction of libsql holds an operating-system lock that ends with
 * the process, however it ends.
 *
 * The transaction is IMMEDIATE: with EXCLUSIVE, two starters that meet can refuse each other and
 * neither would win.
 */
import Database from "libsql";
import {
  type Address,
  type Host,
  prepareSocket,
  readAddress,
  removeSocket,
  renewSocketKey,
  writeAddress,
} from "../../client/endpoint.ts";
import type { HomePaths } from "../../client/paths.ts";
import { isAlive } from "../../client/process-state.ts";
import { type Clock, timestamp } from "../../platform/clock.ts";
import { errorCode, unlinkIfThere } from "../../platform/durable.ts";
import type { Files } from "../../platform/files.ts";
import { HomeProblem } from "../../platform/problem.ts";
import type { Random } from "../../platform/random.ts";
import { PRODUCT_VERSION } from "../../shared/version.ts";

export interface LockDependencies {
  files: Files;
  clock: Clock;
  random: Random;
  host: Host;
}

/** How long a second starter waits for the first to identify itself. */
const ANNOUNCE_MS = 10_000;
const LOOK_AGAIN_MS = 20;

/** Another daemon holds the Home. */
export class HomeLocked extends HomeProblem {
  /** Null if it didn't identify itself in time. */
  readonly pid: number | null;
  readonly socket: string | null;

  constructor(root: string, holder: Address | null) {
    const who =
      holder === null
        ? "A daemon is starting for this Home."
        : `A daemon is already running for this Home: process ${holder.pid}, socket ${holder.socket}.`;
    super("locked", root, who, "Use it, or stop it with 'svc daemon stop'.");
    this.name = "HomeLocked";
    this.pid = holder?.pid ?? null;
    this.socket = holder?.socket ?? null;
  }
}

/** The open transaction, or null when another process has it. */
function tryLock(files: Files, path: string): Database.Database | null {
  // libsql would create the file with the umask's mode.
  try {
    files.open(path, "create").close();
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
  if (files.stat(path)?.kind !== "file") {
    throw new HomeProblem("insecure", path, "The lock isn't a regular file.", "Remove it.");
  }
  const database = new Database(path);
  try {
    database.exec("BEGIN IMMEDIATE");
    return database;
  } catch (error) {
    database.close();
    if (errorCode(error)?.startsWith("SQLITE_BUSY") === true) return null;
    throw new HomeProblem("corrupt", path, "The lock can't be taken.", "Remove it and start again.", error);
  }
}

/**
 * Who holds the lock. The address of a killed predecessor may still be there until the holder has
 * written its own.
 */
async function holderOf(deps: LockDependencies, paths: HomePaths): Promise<Address | null> {
  const { files, clock, host } = deps;
  for (const asked = clock.monotonic(); clock.monotonic() - asked < ANNOUNCE_MS; ) {
    const address = readAddress(files, host, paths);
    if (address !== null && isAlive(address.pid)) return address;
    await new Promise<void>((resolve) => {
      clock.after(LOOK_AGAIN_MS, resolve);
    });
  }
  return null;
}

export class HomeLock {
  /** Where to listen. Nothing is there. */
  readonly socket: string;
  /** The key that every request over the socket carries. */
  readonly key: string;
  readonly #deps: LockDependencies;
  readonly #paths: HomePaths;
  #address: Address;
  #database: Database.Database | null;

  private constructor(
    deps: LockDependencies,
    paths: HomePaths,
    database: Database.Database,
    address: Address,
    key: string,
  ) {
    this.#deps = deps;
    this.#paths = paths;
    this.#database = database;
    this.#address = address;
    this.socket = address.socket;
    this.key = key;
  }

  /**
   * Takes the Home and records that in the address file. Throws HomeLocked if another process has
   * it.
   */
  static async acquire(deps: LockDependencies, paths: HomePaths): Promise<HomeLock> {
    const { files, clock, random, host } = deps;
    const database = tryLock(files, paths.daemon.lock);
    if (database === null) throw new HomeLocked(paths.root, await holderOf(deps, paths));
    try {
      const socket = prepareSocket(files, random, host, paths);
      const startedAt = timestamp(clock);
      const address = {
        pid: process.pid,
        version: PRODUCT_VERSION,
        socket,
        web_origin: null,
        started_at: startedAt,
      };
      await writeAddress(files, paths, address);
      const key = await renewSocketKey(files, random, paths);
      return new HomeLock(deps, paths, database, address, key);
    } catch (error) {
      database.close();
      throw error;
    }
  }

  get address(): Readonly<Address> {
    return this.#address;
  }

  /** Records the Web listener's address in the address file. */
  async announce(webOrigin: string | null): Promise<void> {
    this.#address = { ...this.#address, web_origin: webOrigin };
    await writeAddress(this.#deps.files, this.#paths, this.#address);
  }

  /**
   * After the listener has closed: removes socket and address, then releases the Home. Idempotent.
   */
  release(): void {
    if (this.#database === null) return;
    const database = this.#database;
    this.#database = null;
    try {
      removeSocket(this.#deps.files, this.#deps.host, this.socket);
      unlinkIfThere(this.#deps.files, this.#paths.daemon.address);
    } finally {
      database.close();
    }
  }
}
