/**
 * The schema's history. All pending steps run in one transaction. Every step so far only adds, so
 * that the version before it can go on working on the same store. After 0015, a step's name says
 * whether it does: older code starts on a store with steps that it doesn't know if their names end
 * in `_additive` (VER-020). The others end in `_breaking`.
 */
import {
  type ColumnDefinitionBuilder,
  type Kysely,
  type Migration,
  Migrator,
  PostgresAdapter,
  sql,
} from "kysely";
import { StoreProblem } from "./problem.ts";

/** Steps create tables before the types of the schema hold. */
type Db = Kysely<unknown>;

const MIGRATIONS: Record<string, Migration> = {
  "0001_members": {
    async up(db: Db) {
      await db.schema
        .createTable("members")
        .addColumn("id", "text", (column) => column.primaryKey())
        .addColumn("name", "text", (column) => column.notNull())
        .addColumn("is_admin", "integer", (column) => column.notNull().check(sql`is_admin in (0, 1)`))
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("disabled_at", "bigint")
        .execute();
      await db.schema
        .createTable("identities")
        .addColumn("issuer", "text", (column) => column.notNull())
        .addColumn("subject", "text", (column) => column.notNull())
        .addColumn("member_id", "text", ofMember)
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("identities_key", ["issuer", "subject"])
        .execute();
      await db.schema
        .createTable("passkeys")
        .addColumn("credential_id", "text", (column) => column.primaryKey())
        .addColumn("member_id", "text", ofMember)
        .addColumn("public_key", "text", (column) => column.notNull())
        .addColumn("counter", "bigint", (column) => column.notNull())
        .addColumn("transports", "text", (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("used_at", "bigint")
        .execute();
      await db.schema
        .createTable("recovery_codes")
        .addColumn("digest", "text", (column) => column.primaryKey())
        .addColumn("member_id", "text", ofMember)
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("used_at", "bigint")
        .execute();
      await db.schema
        .createTable("invitations")
        .addColumn("digest", "text", (column) => column.primaryKey())
        .addColumn("is_admin", "integer", (column) => column.notNull().check(sql`is_admin in (0, 1)`))
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .addColumn("used_at", "bigint")
        .execute();
      await db.schema
        .createTable("sessions")
        .addColumn("digest", "text", (column) => column.primaryKey())
        .addColumn("member_id", "text", ofMember)
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .execute();
      await db.schema
        .createTable("used_challenges")
        .addColumn("digest", "text", (column) => column.primaryKey())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .execute();
      for (const table of ["identities", "passkeys", "recovery_codes", "sessions"])
        await db.schema.createIndex(`${table}_of_member`).on(table).column("member_id").execute();
      for (const table of ["sessions", "used_challenges", "invitations"])
        await db.schema.createIndex(`${table}_expiry`).on(table).column("expires_at").execute();
    },
  },
  "0002_devices": {
    async up(db: Db) {
      await db.schema
        .createTable("devices")
        .addColumn("id", "text", (column) => column.primaryKey())
        .addColumn("member_id", "text", ofMember)
        .addColumn("token_digest", "text", (column) => column.notNull().unique())
        .addColumn("hostname", "text", (column) => column.notNull().unique())
        .addColumn("display_name", "text")
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("retired_at", "bigint")
        .execute();
      await db.schema.createIndex("devices_of_member").on("devices").column("member_id").execute();
      await db.schema
        .createTable("device_grants")
        .addColumn("device_code_digest", "text", (column) => column.primaryKey())
        .addColumn("user_code_digest", "text", (column) => column.notNull().unique())
        .addColumn("claimed_hostname", "text")
        .addColumn("claimed_version", "text")
        .addColumn("address", "text", (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .addColumn("poll_interval", "bigint", (column) => column.notNull())
        .addColumn("polled_at", "bigint")
        .addColumn("opened", "integer", (column) => column.notNull())
        .addColumn("decision", "text")
        .addColumn("member_id", "text", (column) => column.references("members.id").onDelete("cascade"))
        .execute();
      await db.schema.createIndex("device_grants_expiry").on("device_grants").column("expires_at").execute();
    },
  },
  "0003_operation": {
    async up(db: Db) {
      await db.schema
        .createTable("audit")
        .addColumn("id", "text", (column) => column.primaryKey())
        .addColumn("member_id", "text", (column) => column.references("members.id").onDelete("cascade"))
        .addColumn("at", "bigint", (column) => column.notNull())
        .addColumn("event", "text", (column) => column.notNull())
        .addColumn("device_id", "text")
        .addColumn("address", "text")
        .execute();
      await db.schema.createIndex("audit_of_member").on("audit").columns(["member_id", "at"]).execute();
      await db.schema.createIndex("audit_age").on("audit").column("at").execute();
      await db.schema
        .createTable("rate_limits")
        .addColumn("key", "varchar(255)", (column) => column.primaryKey())
        .addColumn("points", "integer", (column) => column.notNull().defaultTo(0))
        .addColumn("expire", "bigint")
        .execute();
      await db.schema
        .createTable("settings")
        .addColumn("name", "text", (column) => column.primaryKey())
        .addColumn("value", "text", (column) => column.notNull())
        .execute();
    },
  },
  // The contract names this step (VER-015).
  "0010_connect_instances": {
    async up(db: Db) {
      await db.schema
        .createTable("connect_instances")
        .addColumn("device_id", "text", (column) =>
          column.primaryKey().references("devices.id").onDelete("cascade"),
        )
        .addColumn("instance_id", "text", (column) => column.notNull())
        .addColumn("member_id", "text", ofMember)
        .addColumn("public_key", "text", (column) => column.notNull())
        .addColumn("client_version", "text", (column) => column.notNull())
        .addColumn("public_origin", "text")
        .addColumn("proof_at", "bigint", (column) => column.notNull())
        .addColumn("registered_at", "bigint", (column) => column.notNull())
        .addColumn("retired_at", "bigint")
        .execute();
      // One active binding for each instance, whatever runs at the same time (DIR-029).
      await db.schema
        .createIndex("connect_instances_active")
        .unique()
        .on("connect_instances")
        .column("instance_id")
        .where(sql.ref("retired_at"), "is", null)
        .execute();
      await db.schema
        .createIndex("connect_instances_of_member")
        .on("connect_instances")
        .column("member_id")
        .where(sql.ref("retired_at"), "is", null)
        .execute();
    },
  },
  "0011_group_connections": {
    async up(db: Db) {
      let invitations = db.schema
        .createTable("group_invitations")
        .addColumn("id", "text", (column) => column.primaryKey())
        .addColumn("source_member", "text", ofMember);
      for (const name of SELECTED)
        invitations = invitations.addColumn(`source_${name}`, "text", (column) => column.notNull());
      await invitations
        .addColumn("ticket", "text", (column) => column.notNull())
        .addColumn("recipient_member", "text", ofMember)
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .addColumn("state", "text", (column) => column.notNull())
        .addColumn("closed_at", "bigint")
        .addColumn("connection_id", "text")
        .execute();
      let connections = db.schema
        .createTable("group_connections")
        .addColumn("id", "text", (column) => column.primaryKey())
        .addColumn("pair", "text", (column) => column.notNull());
      for (const side of ["source", "target"]) {
        connections = connections.addColumn(`${side}_member`, "text", ofMember);
        for (const name of SELECTED)
          connections = connections.addColumn(`${side}_${name}`, "text", (column) => column.notNull());
      }
      await connections
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("closed_at", "bigint")
        .addColumn("end_reason", "text")
        .addColumn("ended_by", "text")
        .execute();
      // One active connection for each exact pair, whatever is accepted at the same time (EXT-031).
      await db.schema
        .createIndex("group_connections_active")
        .unique()
        .on("group_connections")
        .column("pair")
        .where(sql.ref("closed_at"), "is", null)
        .execute();
      for (const side of ["source", "target"]) {
        for (const column of ["member", "device"]) {
          await db.schema
            .createIndex(`group_connections_${side}_${column}`)
            .on("group_connections")
            .columns([`${side}_${column}`, "closed_at"])
            .execute();
        }
      }
      await db.schema
        .createIndex("group_connections_end")
        .on("group_connections")
        .column("closed_at")
        .execute();
      for (const column of ["source_member", "recipient_member", "source_device"]) {
        await db.schema
          .createIndex(`group_invitations_${column}`)
          .on("group_invitations")
          .columns([column, "state"])
          .execute();
      }
      await db.schema
        .createIndex("group_invitations_expiry")
        .on("group_invitations")
        .column("expires_at")
        .execute();
    },
  },
  "0012_unlogged_limits": {
    // Counts of a minute needn't outlive a crash of the server, and each would cost it a sync.
    async up(db: Db) {
      if (db.getExecutor().adapter instanceof PostgresAdapter)
        await sql`alter table rate_limits set unlogged`.execute(db);
    },
  },
  "0013_invitations_by": {
    async up(db: Db) {
      await db.schema
        .alterTable("invitations")
        .addColumn("made_by", "text", (column) => column.references("members.id").onDelete("cascade"))
        .execute();
    },
  },
  "0014_newest_invitations": {
    // A member's page shows the last invitations that are over, of all that are kept.
    async up(db: Db) {
      for (const side of ["source_member", "recipient_member"]) {
        await db.schema
          .createIndex(`group_invitations_${side}_newest`)
          .on("group_invitations")
          .columns([side, "created_at desc", "id"])
          .execute();
      }
    },
  },
  "0015_first_invitation": {
    async up(db: Db) {
      await db.schema
        .alterTable("invitations")
        .addColumn("is_first", "integer", (column) => column.check(sql`is_first in (0, 1)`))
        .execute();
    },
  },
};

/** What a selection says about a Group, besides its member. */
const SELECTED = ["device", "instance", "group", "generation", "name", "title"] as const;

function ofMember(column: ColumnDefinitionBuilder): ColumnDefinitionBuilder {
  return column.notNull().references("members.id").onDelete("cascade");
}

const ADDITIVE = /^\d{4}_.+_additive$/u;

/**
 * Brings the store up to date, or leaves it as it is where a newer version of the service has only
 * added to it. Throws StoreProblem if that did more.
 */
export async function migrate<Tables>(db: Kysely<Tables>): Promise<void> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => MIGRATIONS },
    migrationTableName: "migrations",
    migrationLockTableName: "migrations_lock",
  });
  const { error } = await migrator.migrateToLatest();
  if (error === undefined) return;
  const isAhead =
    error instanceof Error && /previously executed migration .* is missing/u.test(error.message);
  if (!isAhead) throw error;
  const { rows } = await sql<{ name: string }>`select name from migrations`.execute(db);
  const done = new Set(rows.map(({ name }) => name));
  const own = Object.keys(MIGRATIONS);
  const unknown = [...done].filter((name) => !own.includes(name));
  if (own.every((name) => done.has(name)) && unknown.every((name) => ADDITIVE.test(name))) return;
  throw new StoreProblem(
    "The store belongs to a newer version of the account service, which did more than add to it. Update this one.",
    { cause: error },
  );
}
