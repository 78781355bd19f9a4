/** Writes of the embedded database that wait at the same time share one commit, and so one sync. */
import type { Kysely, Transaction } from "kysely";
import type { Schema } from "./schema.ts";

/** `write` runs the statement and returns what tells its caller, once it is known to be kept. */
interface Job {
  write: (transaction: Transaction<Schema>) => Promise<() => void>;
  fail: (error: unknown) => void;
}

/**
 * Each write is one statement, which happens wholly or not at all: an error that SQLite undoes by
 * itself, as `isOwn` tells, leaves the other writes of the transaction.
 */
export class GroupCommit {
  readonly #db: Kysely<Schema>;
  readonly #isOwn: (error: unknown) => boolean;
  #waiting: Job[] = [];
  #committing: Promise<void> = Promise.resolve();

  constructor(db: Kysely<Schema>, isOwn: (error: unknown) => boolean) {
    this.#db = db;
    this.#isOwn = isOwn;
  }

  /** Resolves when what `statement` wrote is synced. */
  write<Result>(statement: (transaction: Transaction<Schema>) => Promise<Result>): Promise<Result> {
    return new Promise((resolve, fail: Job["fail"]) => {
      const write: Job["write"] = async (transaction) => {
        try {
          const result = await statement(transaction);
          return () => resolve(result);
        } catch (error) {
          if (this.#isOwn(error)) return () => fail(error);
          throw error;
        }
      };
      // Requests that arrived with this one come before the commit.
      if (this.#waiting.push({ write, fail }) === 1) this.#committing = this.#next();
    });
  }

  /** Resolves when everything that was begun is synced or refused. */
  async rest(): Promise<void> {
    await this.#committing;
  }

  async #next(): Promise<void> {
    const before = this.#committing;
    await new Promise((resolve) => setImmediate(resolve));
    await before;
    await this.#commit();
  }

  async #commit(): Promise<void> {
    const jobs = this.#waiting;
    this.#waiting = [];
    try {
      const settle = await this.#db.transaction().execute(async (transaction) => {
        const settles: (() => void)[] = [];
        for (const { write } of jobs) settles.push(await write(transaction));
        return settles;
      });
      for (const one of settle) one();
    } catch (error) {
      for (const { fail } of jobs) fail(error);
    }
  }
}
