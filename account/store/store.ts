/**
 * The service's store: one schema and one set of queries for the embedded database and PostgreSQL.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { Kysely, type Transaction } from "kysely";
import type { Pool } from "pg";
import { errorFields, type Log } from "../../platform/log.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { ENVIRONMENT } from "../../shared/names.ts";
import { checkEmbedded, hadService, hasBegun } from "./begun.ts";
import { GroupCommit } from "./group-commit.ts";
import { migrate } from "./migrations.ts";
import { openPostgres } from "./postgres.ts";
import { StoreProblem } from "./problem.ts";
import type { Schema } from "./schema.ts";
import { openSqlite } from "./sqlite.ts";

export type Db = Kysely<Schema>;
/** What queries take: the store itself or a transaction. */
export type Queries = Db | Transaction<Schema>;

const STORE_FILE = "account.sqlite";

/** Errors of PostgreSQL after which the same transaction may succeed. */
const REPEATABLE = new Set(["40001", "40P01"]);
/** A unique index refused a row, on either database. */
const DUPLICATE = new Set(["23505", "SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"]);

export function isDuplicate(error: unknown): boolean {
  return DUPLICATE.has(codeOf(error));
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

/**
 * Whether the database, not the request, is the reason: it is full, locked, restarting, out of
 * reach, or takes no writes for now. Clients try again then.
 */
export function isUnavailable(error: unknown): boolean {
  const code = codeOf(error);
  if (/^SQLITE_(?:BUSY|FULL|IOERR|LOCKED|CANTOPEN|READONLY)/u.test(code)) return true;
  if (/^(?:08|53|57|58|40)[0-9A-Z]{3}$|^25(?:P0[0-9]|006)$/u.test(code)) return true;
  if (/^E(?:CONN|PIPE|TIMEDOUT|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH)/u.test(code)) return true;
  // The socket file of a PostgreSQL that is just starting.
  if (code === "ENOENT" && (error as { syscall?: unknown }).syscall === "connect") return true;
  return (
    error instanceof Error &&
    /^Connection terminated|timeout exceeded when trying to connect|^Client has encountered/u.test(
      error.message,
    )
  );
}

export interface Store {
  readonly kind: "sqlite" | "postgres";
  readonly db: Db;
  /** The connections of PostgreSQL, for the limits that all processes share. */
  readonly pool: Pool | null;
  /**
   * Runs `work` in one transaction, again if the database says that it collided with another.
   * `work` must have no effect outside of the store.
   */
  transaction<Result>(work: (transaction: Transaction<Schema>) => Promise<Result>): Promise<Result>;
  /**
   * Runs one statement and resolves when it is durable. It may share its commit with others, and
   * must have no effect outside of the store.
   */
  write<Result>(statement: (db: Queries) => Promise<Result>): Promise<Result>;
  /** Writes a copy of the embedded database. PostgreSQL has its own tools. */
  backup: (target: string) => void;
  close(): Promise<void>;
}

export interface StoreOptions {
  /** The service's own folder. */
  folder: string;
  /** `postgres://…`; null for the embedded database. */
  database: string | null;
  log: Log;
}

/** Whether `openStore` would open what is there, or miss it, rather than make a database. */
export function hasStore({ folder, database }: Omit<StoreOptions, "log">): boolean {
  return database !== null || existsSync(join(folder, STORE_FILE)) || hadService(folder);
}

/** Opens the store and brings it up to date. Throws StoreProblem. */
export async function openStore({ folder, database, log }: StoreOptions): Promise<Store> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const opened = database === null ? openEmbedded(folder, log) : openServer(database, log);
  try {
    await migrate(opened.db);
    if (opened.kind === "sqlite") await checkNotMoved(opened.db);
  } catch (error) {
    await opened.close();
    throw error;
  }
  return opened;
}

function openEmbedded(folder: string, log: Log): Store {
  const path = join(folder, STORE_FILE);
  checkEmbedded(folder, path);
  const { dialect, backup, checkpoint } = openSqlite(path);
  const db: Db = new Kysely({ dialect });
  const commits = new GroupCommit(db, isDuplicate);
  return {
    kind: "sqlite",
    db,
    pool: null,
    transaction: async (work) => db.transaction().execute(work),
    write: async (statement) => commits.write(statement),
    backup,
    async close() {
      await commits.rest();
      try {
        checkpoint();
      } catch (error) {
        log.warn("checkpoint failed", errorFields(error));
      }
      await db.destroy();
    },
  };
}

function openServer(url: string, log: Log): Store {
  const { dialect, pool } = openPostgres(url, log);
  const db: Db = new Kysely({ dialect });
  return {
    kind: "postgres",
    db,
    pool,
    async transaction(work) {
      for (let round = 1; ; round += 1) {
        try {
          return await db.transaction().execute(work);
        } catch (error) {
          if (!REPEATABLE.has(codeOf(error)) || round === LIMITS.account.transactionRounds) throw error;
        }
      }
    },
    // The server lets statements of all processes share their syncs.
    write: async (statement) => statement(db),
    backup() {
      throw new Refusal("invalid_args", {
        specifics: "The store is PostgreSQL.",
        remedy: "Back it up with pg_dump.",
      });
    },
    close: async () => db.destroy(),
  };
}

/**
 * Ties the store to the key of the service's folder. With another key, nobody's codes would be
 * found, and a second process would refuse what the first one gave out. Throws StoreProblem.
 */
export async function tieToKey(db: Db, key: Uint8Array, folder: string): Promise<void> {
  await checkKey(db, key, folder);
  await db
    .insertInto("settings")
    .values({ name: "key", value: digestOfKey(key) })
    .onConflict((conflict) => conflict.column("name").doNothing())
    .execute();
  // Another process may have been first.
  await checkKey(db, key, folder);
}

/**
 * Throws StoreProblem if the store belongs to another key, or if the service of the folder has
 * begun and the store knows of no key: then it isn't its store.
 */
export async function checkKey(db: Db, key: Uint8Array, folder: string): Promise<void> {
  const known = await noted(db, "key");
  if (known === null && hasBegun(folder))
    throw new StoreProblem(`The database knows nothing of the account service that began in ${folder}.`, {
      remedy:
        "Put its data back from a backup, move the embedded database with 'svc account-service move', or begin a new service in another --folder.",
    });
  if (known !== null && known !== digestOfKey(key)) {
    throw new StoreProblem(
      "This store belongs to another key. Copy account.key from the service's first folder into this one.",
    );
  }
}

function digestOfKey(key: Uint8Array): string {
  return createHash("sha256").update("svc.account.key").update(key).digest("hex");
}

/** Whether a key belongs to the store. */
export async function hasKey(db: Db): Promise<boolean> {
  return (await noted(db, "key")) !== null;
}

/** Notes the origin under which the service runs, for the commands beside it. */
export async function noteOrigin(db: Db, origin: string): Promise<void> {
  await note(db, "origin", origin);
}

/** Reads and writes a row, as requests do. Throws what the database says. */
export async function tryStore(store: Store, at: string): Promise<void> {
  await store.write((db) => note(db, "ready", at));
}

/** The origin of the service's last start; null before the first. */
export async function notedOrigin(db: Db): Promise<string | null> {
  return noted(db, "origin");
}

/** Notes when an embedded database was copied to PostgreSQL. It isn't opened any more. */
export async function noteMoved(db: Queries, at: string): Promise<void> {
  await note(db, "moved", at);
}

async function checkNotMoved(db: Db): Promise<void> {
  const at = await noted(db, "moved");
  if (at === null) return;
  throw new StoreProblem(
    `This embedded database was moved to PostgreSQL at ${at}. A device that was retired since would be active in it.`,
    { remedy: `Name the PostgreSQL with --database or ${ENVIRONMENT.accountDatabase}.` },
  );
}

async function note(db: Queries, name: string, value: string): Promise<void> {
  await db
    .insertInto("settings")
    .values({ name, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
    .execute();
}

async function noted(db: Db, name: string): Promise<string | null> {
  const row = await db.selectFrom("settings").select("value").where("name", "=", name).executeTakeFirst();
  return row?.value ?? null;
}
