/**
 * The open write transaction that holds the lock of a Home: of the SQLite in Node where there is
 * one (22.13 and newer, and an editor's own runtime), and of libsql elsewhere. Both lock the same
 * bytes of the file, so that daemons on different versions of Node exclude each other.
 */
export interface Transaction {
  close(): void;
}

interface Sqlite {
  DatabaseSync: new (path: string) => Transaction & { exec(sql: string): void };
}

/** The primary result code of SQLite for a lock that another connection holds. */
const SQLITE_BUSY = 5;
/** With EXCLUSIVE, two starters that meet can refuse each other and neither would win. */
const BEGIN = "BEGIN IMMEDIATE";

/**
 * Opens a transaction on the file. Null when another connection has one, in whichever process.
 * Throws what SQLite says about a file that it can't use.
 */
export async function beginTransaction(path: string): Promise<Transaction | null> {
  const open = nodeSqlite()?.DatabaseSync ?? (await import("libsql")).default;
  const database = new open(path);
  try {
    database.exec(BEGIN);
    return database;
  } catch (error) {
    database.close();
    if (isBusy(error)) return null;
    throw error;
  }
}

/** Node 22 prints that it is experimental. What is used of it here is tested on each version. */
function nodeSqlite(): Sqlite | undefined {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = () => {};
  try {
    return process.getBuiltinModule("node:sqlite") as Sqlite | undefined;
  } finally {
    process.emitWarning = emitWarning;
  }
}

function isBusy(error: unknown): boolean {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  if (typeof errcode === "number") return (errcode & 0xff) === SQLITE_BUSY;
  return String(code).startsWith("SQLITE_BUSY");
}
