/** The embedded database: kysely's SQLite dialect over libsql. */
import { closeSync, openSync, rmSync } from "node:fs";
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
  type SqliteDialectConfig,
  SqliteDriver,
  type SqliteStatement,
} from "kysely";
import Libsql from "libsql";
import { LIMITS } from "../../shared/limits.ts";

/**
 * Binds what libsql takes. It would bind integers as floating-point numbers, and a boolean ends the
 * process.
 */
function bindable(value: unknown): unknown {
  if (value === undefined || value === null) return null;
  if (typeof value === "number") {
    if (Number.isSafeInteger(value)) return BigInt(value);
    throw new TypeError("Only safe integers go into the store.");
  }
  if (typeof value === "string" || typeof value === "bigint") return value;
  throw new TypeError(`A value of type ${typeof value} can't go into the store.`);
}

/** A libsql database as kysely wants it, with statements prepared once. */
class Statements implements SqliteDatabase {
  readonly #database: Libsql.Database;
  readonly #prepared = new Map<string, SqliteStatement>();

  constructor(database: Libsql.Database) {
    this.#database = database;
  }

  prepare(sql: string): SqliteStatement {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = wrapped(this.#database.prepare(sql));
      // Queries are made of a fixed set. What belongs to migrations isn't asked again.
      if (this.#prepared.size >= LIMITS.account.preparedStatements) this.#prepared.clear();
      this.#prepared.set(sql, statement);
    }
    return statement;
  }

  close(): void {
    this.#prepared.clear();
    this.#database.close();
  }
}

function wrapped(statement: Libsql.Statement): SqliteStatement {
  const bind = (parameters: readonly unknown[]): unknown[] => parameters.map(bindable);
  return {
    reader: statement.reader,
    all: (parameters) => statement.all(bind(parameters)),
    run: (parameters) => statement.run(bind(parameters)),
    iterate: (parameters) => statement.iterate(bind(parameters)),
  };
}

/**
 * Writing transactions take the lock at their beginning. One that reads first would fail at its
 * first write if another process has written in between.
 */
class ImmediateDriver extends SqliteDriver {
  readonly #database: Libsql.Database;

  constructor(config: SqliteDialectConfig, database: Libsql.Database) {
    super(config);
    this.#database = database;
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw("begin immediate"));
  }

  /** SQLite itself has rolled back what met a full disk, for example. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.inTransaction) await super.rollbackTransaction(connection);
  }
}

/** SQLite's DDL can be rolled back, so that all migrations run in one transaction. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

interface Checked {
  /** `ok`, or the first thing that is wrong. */
  quick_check: string;
}

export interface OpenedSqlite {
  dialect: Dialect;
  /** Writes a copy, which is whole, into a new file. */
  backup: (target: string) => void;
  /**
   * Moves all that was committed from the write-ahead log into the file itself. Throws SQLite's
   * errors, after which the log still has it.
   */
  checkpoint: () => void;
}

/**
 * Opens the file, which is created owner-only. Throws SQLite's errors, also for a damaged page that
 * nothing may read before some member's request.
 */
export function openSqlite(path: string): OpenedSqlite {
  // libsql would create the file with the umask's mode.
  closeSync(openSync(path, "a", 0o600));
  const database = new Libsql(path);
  try {
    prepare(database);
  } catch (error) {
    database.close();
    throw error;
  }
  return opened(database);
}

function prepare(database: Libsql.Database): void {
  // In this order: a second process that sets the journal mode waits instead of failing.
  database.exec(`pragma busy_timeout = ${LIMITS.account.busyMilliseconds}`);
  database.exec("pragma journal_mode = wal");
  database.exec("pragma synchronous = full");
  database.exec("pragma foreign_keys = on");
  // All pages, at some 600 MB a second; not whether indexes and tables agree.
  const { quick_check: found } = database.prepare("pragma quick_check(1)").get([]) as Checked;
  if (found !== "ok") throw Object.assign(new Error(found), { code: "SQLITE_CORRUPT" });
}

function opened(database: Libsql.Database): OpenedSqlite {
  const config = { database: new Statements(database) };
  const plain = new SqliteDialect(config);
  return {
    dialect: {
      createDriver: (): Driver => new ImmediateDriver(config, database),
      createAdapter: () => new TransactionalAdapter(),
      createQueryCompiler: () => plain.createQueryCompiler(),
      createIntrospector: (db) => plain.createIntrospector(db),
    },
    backup(target) {
      closeSync(openSync(target, "wx", 0o600));
      try {
        database.prepare("vacuum into ?").run([target]);
      } catch (error) {
        // A part of a copy could be taken for a backup.
        rmSync(target, { force: true });
        throw error;
      }
    },
    // The bundled library doesn't do it when the last connection closes, as SQLite documents.
    checkpoint: () => void database.pragma("wal_checkpoint(truncate)"),
  };
}
