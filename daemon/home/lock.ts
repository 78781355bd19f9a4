/**
 * One daemon per Home. Node has no flock, and with "connect refused, unlink, listen" two starters
 * could both win. An open write transaction of SQLite holds an operating-system lock that ends with
 * the process, however it ends (transaction.ts).
 */
import {
  type Address,
  type Host,
  prepareSocket,
  readNoted,
  removeSocket,
  renewSocketKey,
  writeAddress,
} from "../../client/endpoint.ts";
import { commandLine } from "../../client/failures.ts";
import type { HomePaths } from "../../client/paths.ts";
import { isAlive } from "../../client/process-state.ts";
import { type Clock, timestamp } from "../../platform/clock.ts";
import { errorCode, unlinkIfThere } from "../../platform/durable.ts";
import type { Files } from "../../platform/files.ts";
import { HomeProblem } from "../../platform/problem.ts";
import type { Random } from "../../platform/random.ts";
import { PRODUCT_VERSION } from "../../shared/version.ts";
import { beginTransaction, type Transaction } from "./transaction.ts";

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
    super("locked", root, who, `Use it, or stop it with: ${commandLine(root, "daemon", "stop")}`);
    this.name = "HomeLocked";
    this.pid = holder?.pid ?? null;
    this.socket = holder?.socket ?? null;
  }
}

/** The open transaction, or null when another process has it. */
async function tryLock(files: Files, path: string): Promise<Transaction | null> {
  // SQLite would create the file with the umask's mode.
  try {
    files.open(path, "create").close();
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
  if (files.stat(path)?.kind !== "file") {
    throw new HomeProblem("insecure", path, "The lock isn't a regular file.", "Remove it.");
  }
  try {
    return await beginTransaction(path);
  } catch (error) {
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
    const address = readNoted(files, host, paths)?.address;
    if (address !== undefined && isAlive(address.pid)) return address;
    await new Promise<void>((resolve) => {
      clock.after(LOOK_AGAIN_MS, resolve);
    });
  }
  return null;
}

/** An address that can't be read is about to be replaced. */
function originalOf({ files, host }: LockDependencies, paths: HomePaths): Address | null {
  try {
    const noted = readNoted(files, host, paths);
    return noted?.isCopied === true ? noted.address : null;
  } catch {
    return null;
  }
}

export class HomeLock {
  /** Where to listen. Nothing is there. */
  readonly socket: string;
  /** The key that every request over the socket carries. */
  readonly key: string;
  /** The daemon of the Home that this one is a copy of, when the copy was made; or null. */
  readonly original: Readonly<Address> | null;
  readonly #deps: LockDependencies;
  readonly #paths: HomePaths;
  #address: Address;
  #transaction: Transaction | null;

  private constructor(
    deps: LockDependencies,
    paths: HomePaths,
    transaction: Transaction,
    address: Address,
    key: string,
    original: Address | null,
  ) {
    this.#deps = deps;
    this.#paths = paths;
    this.#transaction = transaction;
    this.#address = address;
    this.socket = address.socket;
    this.key = key;
    this.original = original;
  }

  /**
   * Takes the Home and records that in the address file. Throws HomeLocked if another process has
   * it.
   */
  static async acquire(deps: LockDependencies, paths: HomePaths): Promise<HomeLock> {
    const { files, clock, random, host } = deps;
    const transaction = await tryLock(files, paths.daemon.lock);
    if (transaction === null) throw new HomeLocked(paths.root, await holderOf(deps, paths));
    try {
      const original = originalOf(deps, paths);
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
      return new HomeLock(deps, paths, transaction, address, key, original);
    } catch (error) {
      transaction.close();
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
    if (this.#transaction === null) return;
    const transaction = this.#transaction;
    this.#transaction = null;
    try {
      removeSocket(this.#deps.files, this.#deps.host, this.socket);
      unlinkIfThere(this.#deps.files, this.#paths.daemon.address);
    } finally {
      transaction.close();
    }
  }
}
