/** Devices: the memberships of daemons. Their credentials, names and retirement. */
import { type RawBuilder, sql } from "kysely";
import type { Clock } from "../../platform/clock.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { Audit } from "../audit.ts";
import { digestOf } from "../secrets.ts";
import { closeOfDevices } from "../store/closing.ts";
import { Compiled, type Places } from "../store/compiled.ts";
import type { Queries, Store } from "../store/store.ts";

/** Shown for devices without a name, before the end of their label. */
const BRAND = "Svc";
const LABEL_SHOWN = 6;

/** The device that a request's credential belongs to. */
export interface Device {
  id: string;
  member: string;
  hostname: string;
  displayName: string | null;
  /** The member's name. */
  accountLabel: string;
  retired: boolean;
}

/** What a device is called where people read it (DIR-046). */
export function shownDeviceName(device: { display_name: string | null; hostname: string }): string {
  return device.display_name ?? `${BRAND} · ${device.hostname.slice(-LABEL_SHOWN)}`;
}

/** The same as an expression of the store. */
export function shownDeviceNameSql(kind: Store["kind"]): RawBuilder<string> {
  const label =
    kind === "postgres"
      ? sql`right(hostname, ${sql.lit(LABEL_SHOWN)})`
      : sql`substr(hostname, ${sql.lit(-LABEL_SHOWN)})`;
  return sql`coalesce(display_name, ${sql.lit(`${BRAND} · `)} || ${label})`;
}

// oxlint-disable-next-line no-control-regex
const HIDDEN = /[\u0000-\u001F\u007F-\u009F\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/u;

/** A display name without the space around it (DIR-054 to DIR-056). Throws `invalid_args`. */
export function displayNameOf(typed: string): string {
  const name = typed.trim();
  if (name.length === 0 || name.length > LIMITS.account.nameUnits || HIDDEN.test(name)) {
    throw new Refusal("invalid_args", {
      specifics: `A name has 1 to ${LIMITS.account.nameUnits} characters, without control characters and marks that turn the direction of text.`,
      remedy: "Choose another name.",
      details: { field: "display_name" },
    });
  }
  return name;
}

interface Credential {
  digest: string;
}

function withCredential(db: Queries, value: Places<Credential>) {
  return db
    .selectFrom("devices")
    .innerJoin("members", "members.id", "devices.member_id")
    .select([
      "devices.id",
      "devices.member_id",
      "devices.hostname",
      "devices.display_name",
      "devices.retired_at",
      "members.name",
    ])
    .where("devices.token_digest", "=", value("digest"));
}

export class Devices {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #audit: Audit;
  readonly #ofToken: Compiled<Credential, ReturnType<typeof withCredential>>;

  constructor(store: Store, clock: Clock, audit: Audit) {
    this.#ofToken = new Compiled(store.db, withCredential);
    this.#store = store;
    this.#clock = clock;
    this.#audit = audit;
  }

  /** The device with this credential, or null. */
  async byToken(token: string): Promise<Device | null> {
    const [row] = await this.#ofToken.rows(this.#store.db, { digest: digestOf(token) });
    if (row === undefined) return null;
    return {
      id: row.id,
      member: row.member_id,
      hostname: row.hostname,
      displayName: row.display_name,
      accountLabel: row.name,
      retired: row.retired_at !== null,
    };
  }

  /** Names an active device of the member. Throws `device_disabled`. */
  async rename(member: string, id: string, typed: string, address: string): Promise<string> {
    const name = displayNameOf(typed);
    await this.#store.transaction(async (db) => {
      const renamed = await db
        .updateTable("devices")
        .set({ display_name: name })
        .where("id", "=", id)
        .where("member_id", "=", member)
        .where("retired_at", "is", null)
        .returning("id")
        .executeTakeFirst();
      if (renamed === undefined) throw new Refusal("device_disabled");
      await this.#audit.recordNewest(db, { event: "device_named", member, device: id, address });
    });
    return name;
  }

  /**
   * Retires a device of the member and its binding for good. Retiring it again changes nothing.
   * Answers whether the member has such a device.
   */
  async retire(member: string, id: string, address: string | null): Promise<boolean> {
    return this.#store.transaction(async (db) => {
      const retired = await retireDevices(db, this.#clock.now(), { member, id });
      if (retired.length > 0) {
        await this.#audit.record(db, { event: "device_retired", member, device: id, address });
        return true;
      }
      const known = await db
        .selectFrom("devices")
        .select("id")
        .where("id", "=", id)
        .where("member_id", "=", member)
        .executeTakeFirst();
      return known !== undefined;
    });
  }

  /** Removes a retired device and its directory record (DIR-032). */
  async remove(member: string, id: string, address: string): Promise<boolean> {
    return this.#store.transaction(async (db) => {
      const removed = await db
        .deleteFrom("devices")
        .where("id", "=", id)
        .where("member_id", "=", member)
        .where("retired_at", "is not", null)
        .returning("id")
        .executeTakeFirst();
      if (removed === undefined) return false;
      await this.#audit.record(db, { event: "device_removed", member, device: id, address });
      return true;
    });
  }

  /** A member's devices with their bindings, active ones first. */
  async of(member: string) {
    return this.#store.db
      .selectFrom("devices")
      .leftJoin("connect_instances", "connect_instances.device_id", "devices.id")
      .select([
        "devices.id",
        "devices.hostname",
        "devices.display_name",
        "devices.created_at",
        "devices.retired_at",
        "connect_instances.instance_id",
        "connect_instances.client_version",
        "connect_instances.public_origin",
        "connect_instances.registered_at",
      ])
      .where("devices.member_id", "=", member)
      .orderBy((eb) => eb.case().when("devices.retired_at", "is", null).then(0).else(1).end())
      .orderBy("devices.created_at", "desc")
      .execute();
  }
}

/**
 * Retires devices, their bindings and their connections. The device comes first: a registration at
 * the same time either waits for it or is seen by the second statement.
 */
export async function retireDevices(
  db: Queries,
  now: number,
  { member, id }: { member: string; id?: string },
): Promise<string[]> {
  const rows = await db
    .updateTable("devices")
    .set({ retired_at: now })
    .where("member_id", "=", member)
    .where("retired_at", "is", null)
    .$if(id !== undefined, (query) => query.where("id", "=", id!))
    .returning("id")
    .execute();
  const ids = rows.map((row) => row.id);
  if (ids.length === 0) return [];
  await db
    .updateTable("connect_instances")
    .set({ retired_at: now })
    .where("device_id", "in", ids)
    .where("retired_at", "is", null)
    .execute();
  await closeOfDevices(db, now, ids);
  return ids;
}
