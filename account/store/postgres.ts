/** PostgreSQL, for more than one process. */
import { PostgresDialect } from "kysely";
import { Client, Pool, TypeOverrides } from "pg";
import type { Log } from "../../platform/log.ts";
import { LIMITS } from "../../shared/limits.ts";

/** int8: times and counts, which a number holds exactly. */
const INT8 = 20;

/** Names of statements, the same on all connections. */
const names = new Map<string, string>();

/**
 * Names each statement, so that the server parses and plans it once for each connection. This
 * halves its processor time.
 */
class NamingClient extends Client {
  // The overloads of `query` can't be expressed here.
  // oxlint-disable-next-line typescript/no-explicit-any
  override query(...args: any[]): any {
    const [text, values] = args as [unknown, unknown];
    if (args.length !== 2 || typeof text !== "string" || !Array.isArray(values) || values.length === 0)
      return (super.query as (...all: unknown[]) => unknown)(...args);
    let name = names.get(text);
    if (name === undefined) {
      name = `svc_${names.size}`;
      names.set(text, name);
    }
    return super.query({ name, text, values });
  }
}

/**
 * Settings of a connection. The plans of our statements don't depend on the values, and finding a
 * plan each time takes a tenth of all that a request costs.
 */
function sessionSettings(milliseconds: number): string {
  return [
    `set statement_timeout = ${milliseconds}`,
    `set idle_in_transaction_session_timeout = ${milliseconds}`,
    "set plan_cache_mode = force_generic_plan",
  ].join("; ");
}

/**
 * A pool of connections. Their errors are logged: the next query says whether it matters.
 */
export function openPostgres(url: string, log: Log): { dialect: PostgresDialect; pool: Pool } {
  const types = new TypeOverrides();
  types.setTypeParser(INT8, (text: string) => {
    const value = Number(text);
    if (!Number.isSafeInteger(value)) throw new RangeError("An integer of the store is too large.");
    return value;
  });
  const { pool: limits } = LIMITS.account;
  const pool = new Pool({
    connectionString: url,
    Client: NamingClient,
    max: limits.connections,
    connectionTimeoutMillis: limits.waitMilliseconds,
    application_name: "svc account-service",
    types,
    // Poolers refuse them as parameters of a connection's start. The pool waits for this, whatever
    // its type says.
    // oxlint-disable-next-line typescript/no-misused-promises
    onConnect: async (client) => {
      await client.query(sessionSettings(limits.statementMilliseconds));
    },
  });
  const lost = (error: Error & { code?: string }): void =>
    log.warn("database connection lost", { code: error.code });
  pool.on("error", lost);
  // The pool listens only to idle connections. An error of one in use would end the process.
  pool.on("connect", (client) => client.on("error", lost));
  return { dialect: new PostgresDialect({ pool }), pool };
}
