/** Stores of the account service with many members, and the bare statements on them. */
import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import Libsql from "libsql";
import { Client } from "pg";
import { openStore, type Store } from "../../account/store/store.ts";
import { RealClock } from "../../platform/real-clock.ts";
import { TestInstance } from "../../test/account/service.ts";
import { scratchPath } from "../folder.ts";

const ROWS_AT_ONCE = 10_000;
/** Devices that ask. Each may do so 30 times a minute. */
const ASKING = 1000;

/** libsql may hang when a closed database is collected as garbage, so none of them is. */
const kept: (Libsql.Database | Store)[] = [];

function opened(path: string): Libsql.Database {
  const database = new Libsql(path);
  kept.push(database);
  return database;
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

export interface Asking {
  id: string;
  token: string;
  member: string;
  instance: TestInstance;
}

/** A store with devices, of which some ask. */
export interface FilledStore {
  folder: string;
  database: string | null;
  asking: readonly Asking[];
  turns: Turns;
}

/** Whose turn it is to ask, so that each device asks as often as the others. */
class Turns {
  #next = 0;

  /** The device that asks first, of the next `requests`. */
  take(requests: number): number {
    const first = this.#next;
    this.#next = (first + requests) % ASKING;
    return first;
  }
}

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();

/** How many active devices a store has, and how many of them each member has in one directory. */
export interface Filling {
  devices: number;
  perMember: number;
}

/** Makes a store whose devices each have their binding. */
export async function filledStore(
  database: string | null,
  { devices, perMember }: Filling,
): Promise<FilledStore> {
  const memberOf = (device: number): string => `member-${Math.floor(device / perMember)}`;
  const folder = scratchPath("account");
  const store = await openStore({ folder, database, log: quiet });
  if (database === null) kept.push(store);
  else await store.close();
  const asking = Array.from({ length: ASKING }, (_, index) => ({
    id: `device-${index}`,
    token: sha256(`token ${index}`).toString("base64url"),
    member: memberOf(index),
    instance: new TestInstance(),
  }));
  const insert =
    database === null ? sqliteInserter(join(folder, "account.sqlite")) : await postgresInserter(database);
  const now = new RealClock().now();
  for (let first = 0; first < devices; first += ROWS_AT_ONCE) {
    const numbers = Array.from(
      { length: Math.min(ROWS_AT_ONCE, devices - first) },
      (_, index) => first + index,
    );
    await insert(
      "members",
      ["id", "name", "is_admin", "created_at"],
      numbers.filter((number) => number % perMember === 0).map((number) => [memberOf(number), "Ann", 0, now]),
    );
    await insert(
      "devices",
      ["id", "member_id", "token_digest", "hostname", "display_name", "created_at"],
      numbers.map((number) => [
        `device-${number}`,
        memberOf(number),
        createHash("sha256")
          .update(asking[number]?.token ?? `${number}`)
          .digest("hex"),
        `host-${number}`,
        "A machine of Ann's",
        now,
      ]),
    );
    await insert(
      "connect_instances",
      [
        "device_id",
        "instance_id",
        "member_id",
        "public_key",
        "client_version",
        "public_origin",
        "proof_at",
        "registered_at",
      ],
      numbers.map((number) => [
        `device-${number}`,
        asking[number]?.instance.instance_id ?? `12D3KooW${String(number).padStart(44, "x")}`,
        memberOf(number),
        asking[number]?.instance.public_key ?? randomBytes(32).toString("base64"),
        "0.5.0",
        `https://machine-${number}.example.org`,
        1,
        now,
      ]),
    );
  }
  await insert("", [], []);
  return { folder, database, asking, turns: new Turns() };
}

type Inserter = (table: string, columns: string[], rows: (string | number)[][]) => Promise<void>;

/** The last call, without rows, ends it. */
function sqliteInserter(path: string): Inserter {
  const database = opened(path);
  return async (table, columns, rows) => {
    if (table === "") return;
    const marks = columns.map(() => "?").join(", ");
    const statement = database.prepare(`insert into ${table} (${columns.join(", ")}) values (${marks})`);
    database.exec("begin");
    for (const row of rows) statement.run(row);
    database.exec("commit");
  };
}

async function postgresInserter(url: string): Promise<Inserter> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query("set synchronous_commit = off");
  return async (table, columns, rows) => {
    if (table === "") {
      await client.query("analyze");
      await client.end();
      return;
    }
    const types = columns.map((name) =>
      name.endsWith("_at") ? "bigint" : name === "is_admin" ? "integer" : "text",
    );
    const values = columns.map((_, index) => rows.map((row) => row[index]));
    const unnested = types.map((type, index) => `$${index + 1}::${type}[]`).join(", ");
    await client.query(
      `insert into ${table} (${columns.join(", ")}) select * from unnest(${unnested})`,
      values,
    );
  };
}

const DIRECTORY = (
  mark: string,
): string => `select c.instance_id, c.device_id, c.public_key, c.client_version,
  c.public_origin, c.registered_at, d.display_name, d.hostname from connect_instances c
  join devices d on d.id = c.device_id
  where c.member_id = ${mark} and c.retired_at is null and d.retired_at is null order by c.instance_id`;
const UPSERT = (
  marks: string,
): string => `insert into connect_instances (device_id, instance_id, member_id, public_key,
  client_version, public_origin, proof_at, registered_at) values (${marks})
  on conflict (device_id) do update set client_version = excluded.client_version,
  public_origin = excluded.public_origin, proof_at = excluded.proof_at, registered_at = excluded.registered_at`;

/** The bare statements, at most `width` of them at a time. */
export interface Bare {
  /** Directories a second. */
  directories(count: number): Promise<number>;
  /** Registrations a second. */
  upserts(count: number): Promise<number>;
  close(): Promise<void>;
}

function upsertValues({ id, member, instance }: Asking): (string | number)[] {
  const now = new RealClock().now();
  return [id, instance.instance_id, member, instance.public_key, "0.5.0", "https://one.example.org", 1, now];
}

export async function bareStatements(
  { folder, database, asking }: FilledStore,
  width: number,
): Promise<Bare> {
  const rate = async (count: number, one: (device: Asking) => unknown): Promise<number> => {
    const begun = performance.now();
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < count) {
        next += 1;
        await one(asking[next % asking.length]!);
      }
    };
    await Promise.all(Array.from({ length: width }, work));
    return (count / (performance.now() - begun)) * 1000;
  };
  if (database === null) {
    const bare = opened(join(folder, "account.sqlite"));
    bare.exec("pragma busy_timeout = 5000");
    bare.exec("pragma synchronous = full");
    const directory = bare.prepare(DIRECTORY("?"));
    const upsert = bare.prepare(UPSERT("?, ?, ?, ?, ?, ?, ?, ?"));
    return {
      directories: async (count) => rate(count, ({ member }) => directory.all([member])),
      upserts: async (count) => rate(count, (device) => upsert.run(upsertValues(device))),
      close: async () => undefined,
    };
  }
  const clients = await Promise.all(
    Array.from({ length: width }, async () => {
      const client = new Client({ connectionString: database });
      await client.connect();
      return client;
    }),
  );
  const query = async (name: string, text: string, values: unknown[]): Promise<void> => {
    const client = clients.pop()!;
    await client.query({ name, text, values });
    clients.push(client);
  };
  return {
    directories: async (count) =>
      rate(count, async ({ member }) => query("directory", DIRECTORY("$1"), [member])),
    upserts: async (count) =>
      rate(count, async (device) =>
        query("upsert", UPSERT("$1, $2, $3, $4, $5, $6, $7, $8"), upsertValues(device)),
      ),
    async close() {
      for (const client of clients) await client.end();
    },
  };
}
