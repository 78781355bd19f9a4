/**
 * How often something may be done. On PostgreSQL the counts are in the store, so that they hold for
 * all processes together. Each process counts for itself while the database is down.
 */
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterPostgres } from "rate-limiter-flexible";
import { Refusal } from "../shared/errors.ts";
import { LIMITS } from "../shared/limits.ts";
import type { Store } from "./store/store.ts";

const { account } = LIMITS;

/** What is counted: how many in how many seconds. */
export const COUNTED = {
  /** By device: the directory, and the Group connections. */
  directory: { points: account.devicePerMinute, seconds: 60 },
  groups: { points: account.devicePerMinute, seconds: 60 },
  /** By device: its name and its retirement. */
  device: { points: account.devicePerMinute, seconds: 60 },
  /** By member: invitations and connections. */
  sharing: { points: account.groups.mutationsPerMinute, seconds: 60 },
  /** By address: new device grants and polls for them, wrong credentials, sign-ins. */
  grants: { points: account.grantsPerMinute, seconds: 60 },
  polls: { points: account.pollsPerMinute, seconds: 60 },
  failures: { points: account.failuresPerMinute, seconds: 60 },
  signIns: { points: account.signInsPerMinute, seconds: 60 },
  recovery: { points: account.recoveryTriesPerHour, seconds: 3600 },
  /** User codes that somebody tries, by member and by address. */
  codesOfMember: { points: account.userCodes.perMember, seconds: account.userCodes.seconds },
  codesOfAddress: { points: account.userCodes.perAddress, seconds: account.userCodes.seconds },
} as const;

export type Counted = keyof typeof COUNTED;

export class Limits {
  readonly #limiters: ReadonlyMap<Counted, RateLimiterAbstract>;

  constructor(store: Pick<Store, "pool">) {
    const names = Object.keys(COUNTED) as Counted[];
    this.#limiters = new Map(names.map((name) => [name, limiterOf(name, store)]));
  }

  /** Counts one. Throws `rate_limited`, with `retry_after_seconds`, when there were too many. */
  async count(what: Counted, key: string): Promise<void> {
    const limiter = this.#limiters.get(what)!;
    let wait = await waitOf(limiter, key);
    if (wait > 2 * COUNTED[what].seconds) {
      // It was counted while the clock was ahead, and would be refused until it is as late again.
      await limiter.delete(key);
      wait = await waitOf(limiter, key);
    }
    if (wait === 0) return;
    const details = { retry_after_seconds: wait };
    throw new Refusal("rate_limited", { remedy: `Try again in ${timeOf(wait)}.`, details });
  }
}

function timeOf(seconds: number): string {
  if (seconds > 90) return `${Math.ceil(seconds / 60)} minutes`;
  return seconds === 1 ? "a second" : `${seconds} seconds`;
}

/** Counts one. Answers after how many seconds it may be tried again; 0 if it may be now. */
async function waitOf(limiter: RateLimiterAbstract, key: string): Promise<number> {
  try {
    await limiter.consume(key);
    return 0;
  } catch (refused) {
    if (refused instanceof Error) throw refused;
    const { msBeforeNext } = refused as { msBeforeNext: number };
    return Math.max(1, Math.ceil(msBeforeNext / 1000));
  }
}

function limiterOf(name: Counted, { pool }: Pick<Store, "pool">): RateLimiterAbstract {
  const { points, seconds } = COUNTED[name];
  const memory = new RateLimiterMemory({ keyPrefix: name, points, duration: seconds });
  if (pool === null) return memory;
  return new RateLimiterPostgres({
    storeClient: pool,
    // Explicit: the detection reads the names of constructors.
    storeType: "pool",
    tableName: "rate_limits",
    tableCreated: true,
    clearExpiredByTimeout: false,
    keyPrefix: name,
    points,
    duration: seconds,
    // A refused one isn't asked of the database again.
    inMemoryBlockOnConsumed: points + 1,
    insuranceLimiter: memory,
  });
}
