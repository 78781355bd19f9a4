/**
 * Copies an embedded store into an empty PostgreSQL (docs/account-service.md#move-to-postgresql).
 */
import { sql } from "kysely";
import { StoreProblem } from "./problem.ts";
import type { Schema } from "./schema.ts";
import { noteMoved, type Queries, type Store } from "./store.ts";

type Table = Exclude<keyof Schema, "rate_limits">;

/** Each after those that it refers to. Counts of limits begin again. */
const TABLES = Object.keys({
  settings: true,
  members: true,
  identities: true,
  passkeys: true,
  recovery_codes: true,
  invitations: true,
  sessions: true,
  used_challenges: true,
  devices: true,
  device_grants: true,
  connect_instances: true,
  group_invitations: true,
  group_connections: true,
  audit: true,
} satisfies Record<Table, true>) as Table[];

/** PostgreSQL takes 65,535 values in a statement. */
const ROWS_AT_ONCE = 1000;

/**
 * Copies everything in one transaction of each store, so that nothing changes the one meanwhile and
 * the other has all of it or nothing. `from` isn't opened any more after that. Answers how many
 * rows. Throws StoreProblem if `to` isn't empty, or `from` can't be marked.
 */
export async function moveStore(from: Store, to: Store, now: string): Promise<number> {
  let moved: number | null = null;
  try {
    return await from.transaction(async (source) => {
      moved = await copyAll(source, to);
      await noteMoved(source, now);
      return moved;
    });
  } catch (error) {
    if (moved === null) throw error;
    throw new StoreProblem("Everything was copied, but the embedded database couldn't be marked as moved.", {
      remedy: "Never start the service on it again: a device that was retired since would be active in it.",
      cause: error,
    });
  }
}

function copyAll(source: Queries, to: Store): Promise<number> {
  return to.transaction(async (target) => {
    for (const table of TABLES) {
      const row = await target.selectFrom(table).select(sql`1`.as("one")).limit(1).executeTakeFirst();
      if (row !== undefined)
        throw new StoreProblem("The database isn't empty. Give one that no account service has used.");
    }
    let rows = 0;
    for (const table of TABLES) rows += await copyTable(table, source, target);
    return rows;
  });
}

async function copyTable(table: Table, source: Queries, target: Queries): Promise<number> {
  let copied = 0;
  for (let after = 0; ; ) {
    const { rows: found } = await sql<
      { rowid: number } & Schema[Table]
    >`select rowid, * from ${sql.table(table)}
      where rowid > ${after} order by rowid limit ${ROWS_AT_ONCE}`.execute(source);
    if (found.length === 0) return copied;
    const rows = found.map(({ rowid, ...row }) => {
      after = rowid;
      return row;
    });
    await target.insertInto(table).values(rows).execute();
    copied += rows.length;
  }
}
