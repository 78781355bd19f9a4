/** The statements of the directory, of which every request of a daemon needs one or two. */
import { type RawBuilder, sql } from "kysely";
import type { DirectoryEntry } from "../../shared/wire/v1/account.ts";
import { shownDeviceNameSql } from "../devices/devices.ts";
import type { Places } from "../store/compiled.ts";
import type { Queries, Store } from "../store/store.ts";
import { activeInstances, SHOWN } from "./instances.ts";

export interface Listed {
  member: string;
}

/** The member's active bindings: rows of client version and the JSON of its entries. */
export function listing(db: Queries, value: Places<Listed>, kind: Store["kind"]) {
  return db
    .selectFrom(ofMember(db, value).as("active"))
    .select(["client_version", entries(kind)])
    .groupBy("client_version");
}

function ofMember(db: Queries, value: Places<Listed>) {
  return (
    activeInstances(db)
      .where("connect_instances.member_id", "=", value("member"))
      // It is the same member, and spares the store looking at the devices of others.
      .where("devices.member_id", "=", value("member"))
  );
}

/**
 * Rows that are active bindings as the JSON of their entries. Reading them as rows of their own and
 * writing their JSON takes several times as long.
 */
function entries(kind: Store["kind"]) {
  return JSON_OF[kind].joined(sql`${entryJson(kind)}, ',' order by instance_id`).as("entries");
}

/** What `entryOf` makes of a row, as text of JSON. */
function entryJson(kind: Store["kind"]): RawBuilder<string> {
  const { made, time } = JSON_OF[kind];
  return made({
    instance_id: plain(sql.ref("instance_id")),
    device_id: plain(sql.ref("device_id")),
    public_key: plain(sql.ref("public_key")),
    // What isn't a version isn't listed.
    client_version: plain(sql.ref("client_version")),
    public_origin: { value: sql.ref("public_origin"), isPlain: false },
    display_name: { value: shownDeviceNameSql(kind), isPlain: false },
    registered_at: plain(time),
  });
}

/** A field of an entry. What is plain is never null and has no character that JSON escapes. */
interface Field {
  value: RawBuilder<unknown>;
  isPlain: boolean;
}

type Fields = Record<keyof DirectoryEntry, Field>;

function plain(value: RawBuilder<unknown>): Field {
  return { value, isPlain: true };
}

/** How each database joins texts, makes an entry, and writes a time. */
const JSON_OF = {
  sqlite: {
    joined: (texts: RawBuilder<unknown>) => sql<string>`group_concat(${texts})`,
    made: (fields: Fields) => {
      const pairs = Object.entries(fields).flatMap(([name, { value }]) => [sql.lit(name), value]);
      return sql<string>`json_object(${sql.join(pairs)})`;
    },
    time: sql`strftime('%Y-%m-%dT%H:%M:%fZ', registered_at / 1000.0, 'unixepoch')`,
  },
  postgres: {
    joined: (texts: RawBuilder<unknown>) => sql<string>`string_agg(${texts})`,
    // Takes two thirds of the time of json_build_object.
    made: (fields: Fields) => {
      const all = Object.entries(fields);
      const places = all.map(([name, { isPlain }]) => `"${name}":${isPlain ? '"%s"' : "%s"}`);
      const values = all.map(([, { value, isPlain }]) =>
        isPlain ? value : sql`coalesce(to_json(${value}), 'null')`,
      );
      return sql<string>`format(${sql.lit(`{${places.join(",")}}`)}, ${sql.join(values)})`;
    },
    time: sql`to_char(to_timestamp(cast(registered_at as float8) / 1000) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  },
} as const;

export interface Bound {
  device: string;
  instance: string;
  key: string;
  version: string;
  origin: string | null;
  /** Milliseconds, of the proof and of the service. */
  proofAt: number;
  now: number;
  /** No proof of a later time could have been taken, unless a clock was wrong. */
  latest: number;
}

/**
 * One statement, so that every condition holds when it writes: the device is active, the binding is
 * the device's own, and no newer proof was there before. Answers a row if it has written.
 */
export function binding(db: Queries, value: Places<Bound>, kind: Store["kind"]) {
  return db
    .insertInto("connect_instances")
    .columns([
      "device_id",
      "member_id",
      "instance_id",
      "public_key",
      "client_version",
      "public_origin",
      "proof_at",
      "registered_at",
    ])
    .expression((eb) =>
      eb
        .selectFrom("devices")
        .select([
          "devices.id",
          "devices.member_id",
          sql<string>`cast(${value("instance")} as text)`.as("instance_id"),
          sql<string>`cast(${value("key")} as text)`.as("public_key"),
          sql<string>`cast(${value("version")} as text)`.as("client_version"),
          sql<string | null>`cast(${value("origin")} as text)`.as("public_origin"),
          sql<number>`cast(${value("proofAt")} as bigint)`.as("proof_at"),
          sql<number>`cast(${value("now")} as bigint)`.as("registered_at"),
        ])
        .where("devices.id", "=", value("device"))
        .where("devices.retired_at", "is", null)
        // A retirement at the same time comes wholly before or wholly after this.
        .$if(kind === "postgres", (query) => query.forShare()),
    )
    .onConflict((conflict) =>
      conflict
        .column("device_id")
        .doUpdateSet((eb) => ({
          client_version: eb.ref("excluded.client_version"),
          public_origin: eb.ref("excluded.public_origin"),
          proof_at: eb.ref("excluded.proof_at"),
          registered_at: eb.ref("excluded.registered_at"),
        }))
        .whereRef("connect_instances.instance_id", "=", "excluded.instance_id")
        .where((eb) =>
          eb.or([
            eb("connect_instances.proof_at", "<=", eb.ref("excluded.proof_at")),
            // It was taken while the clocks were ahead, and would be the newest until then.
            eb("connect_instances.proof_at", ">", value("latest")),
          ]),
        )
        .where("connect_instances.retired_at", "is", null),
    )
    .returning("device_id");
}

/**
 * Refreshes the device's own binding and lists the member's directory with it, in one statement of
 * PostgreSQL: a refresh each minute is almost all that a service is asked. What it doesn't write,
 * `binding` may. It needn't lock the device, because a retirement writes to the binding too. If it
 * has written, `is_written` is true in one of the rows: that of the binding, which the statement
 * can't read from the table yet.
 */
export function refreshWithListing(db: Queries, value: Places<Bound & Listed>) {
  return db
    .with("written", () =>
      db
        .updateTable("connect_instances")
        .from("devices")
        .set({
          client_version: value("version"),
          public_origin: value("origin"),
          proof_at: value("proofAt"),
          registered_at: value("now"),
        })
        .where("connect_instances.device_id", "=", value("device"))
        .where("connect_instances.instance_id", "=", value("instance"))
        .where("connect_instances.proof_at", "<=", value("proofAt"))
        .where("connect_instances.retired_at", "is", null)
        .whereRef("devices.id", "=", "connect_instances.device_id")
        .where("devices.retired_at", "is", null)
        .returning([...SHOWN, sql<boolean>`true`.as("is_written")]),
    )
    .selectFrom((eb) =>
      ofMember(db, value)
        .where("connect_instances.device_id", "!=", value("device"))
        .select(sql<boolean>`false`.as("is_written"))
        .unionAll(eb.selectFrom("written").selectAll())
        .as("active"),
    )
    .select(["client_version", entries("postgres"), sql<boolean>`bool_or(is_written)`.as("is_written")])
    .groupBy("client_version");
}
