/** The directory of a member's instances (docs/protocol.md#account). */
import { type RawBuilder, sql } from "kysely";
import type { Clock } from "../../platform/clock.ts";
import { VerifyingKeys } from "../../platform/keys.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { DirectoryEntry } from "../../shared/wire/v1/account.ts";
import { fromBase64 } from "../../shared/wire/v1/base64.ts";
import type { Registration } from "../../shared/wire/v1/proofs.ts";
import { registrationStatement } from "../../shared/wire/v1/signing.ts";
import { milliseconds } from "../../shared/wire/v1/time.ts";
import { untimelyRegistration } from "../../shared/wire/v1/timely.ts";
import { type Device, shownDeviceName, shownDeviceNameSql } from "../devices/devices.ts";
import { JsonText } from "../json-text.ts";
import { Compiled, type Places } from "../store/compiled.ts";
import { isDuplicate, type Queries, type Store } from "../store/store.ts";
import type { VersionGate } from "./version-gate.ts";

const LIFETIME_MS = LIMITS.account.directorySeconds * 1000;
/** Clocks of several processes differ a little. */
const LATEST_MS = 2 * LIMITS.connect.registrationSkewSeconds * 1000;

/** Active bindings, with what others see of them. */
export function activeInstances(db: Queries) {
  return db
    .selectFrom("connect_instances")
    .innerJoin("devices", "devices.id", "connect_instances.device_id")
    .select([
      "connect_instances.instance_id",
      "connect_instances.device_id",
      "connect_instances.public_key",
      "connect_instances.client_version",
      "connect_instances.public_origin",
      "connect_instances.registered_at",
      "devices.display_name",
      "devices.hostname",
    ])
    .where("connect_instances.retired_at", "is", null)
    .where("devices.retired_at", "is", null);
}

interface Listed {
  member: string;
}

/**
 * The active bindings of a member as the JSON of their entries, a row for each version. Reading
 * them as rows of their own and writing their JSON takes several times as long.
 */
function listing(db: Queries, value: Places<Listed>, kind: Store["kind"]) {
  const rows = activeInstances(db)
    .where("connect_instances.member_id", "=", value("member"))
    // It is the same member, and spares the store looking at the devices of others.
    .where("devices.member_id", "=", value("member"))
    .as("active");
  const separated = JSON_OF[kind].joined(sql`${entryJson(kind)}, ',' order by instance_id`);
  return db
    .selectFrom(rows)
    .select(["client_version", separated.as("entries")])
    .groupBy("client_version");
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

interface Bound {
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
function binding(db: Queries, value: Places<Bound>, kind: Store["kind"]) {
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

export type ActiveInstance = Awaited<ReturnType<ReturnType<typeof activeInstances>["execute"]>>[number];

export function entryOf(row: ActiveInstance): DirectoryEntry {
  return {
    instance_id: row.instance_id,
    device_id: row.device_id,
    public_key: row.public_key,
    client_version: row.client_version,
    public_origin: row.public_origin,
    display_name: shownDeviceName(row),
    registered_at: new Date(row.registered_at).toISOString(),
  };
}

export interface DirectoryDependencies {
  store: Store;
  clock: Clock;
  gate: VersionGate;
  /** Canonical origin of this service, which every registration signs. */
  origin: string;
  /** Whether an instance may name an HTTP origin on loopback (DIR-019). */
  acceptsLoopback: boolean;
}

export class Directory {
  readonly #deps: DirectoryDependencies;
  readonly #keys = new VerifyingKeys(LIMITS.account.admittedKeys);
  readonly #listed: Compiled<Listed, ReturnType<typeof listing>>;
  readonly #binding: Compiled<Bound, ReturnType<typeof binding>>;

  constructor(deps: DirectoryDependencies) {
    this.#deps = deps;
    this.#listed = new Compiled(deps.store.db, (db, value) => listing(db, value, deps.store.kind));
    this.#binding = new Compiled(deps.store.db, (db, value) => binding(db, value, deps.store.kind));
  }

  /** The active instances of the device's member, as JSON. Changes nothing. */
  async read(device: Device): Promise<JsonText> {
    const { store, clock, gate } = this.#deps;
    const now = clock.now();
    const rows = await this.#listed.rows(store.db, { member: device.member });
    const head = JSON.stringify({
      protocol_version: 1,
      account_id: device.member,
      account_label: device.accountLabel,
      device_id: device.id,
      issued_at: new Date(now).toISOString(),
      expires_at: new Date(now + LIFETIME_MS).toISOString(),
    });
    const entries = rows.filter((row) => gate.lists(row.client_version)).map((row) => row.entries);
    return new JsonText(`${head.slice(0, -1)},"instances":[${entries.join(",")}]}`);
  }

  /**
   * Binds the instance to the device, or refreshes its binding. Throws `invalid_request` for a
   * proof that doesn't hold, `instance_conflict`, `conflict` for an older proof, and
   * `device_disabled`.
   */
  async register(device: Device, registration: Registration, clientVersion: string): Promise<void> {
    this.#verify(device, registration, clientVersion);
    let bound = await this.#bind(device, registration);
    if (bound === null && (await this.#retireLeftover(registration.instance_id)))
      bound = await this.#bind(device, registration);
    if (bound === null) throw new Refusal("instance_conflict");
    if (!bound) throw await this.#whyNot(device, registration);
  }

  #verify(device: Device, registration: Registration, clientVersion: string): void {
    const { origin, acceptsLoopback, clock } = this.#deps;
    if (registration.client_version !== clientVersion)
      throw malformed("'client_version' differs from the SVC-Client-Version header.");
    if (registration.public_origin?.startsWith("http:") === true && !acceptsLoopback)
      throw malformed("'public_origin' isn't an HTTPS origin.");
    const now = clock.now();
    if (untimelyRegistration(registration, now) !== null) {
      throw malformed(
        `'issued_at' is more than ${LIMITS.connect.registrationSkewSeconds} seconds away from this service's time, ${new Date(now).toISOString()}.`,
        "Set the clock of this machine right.",
      );
    }
    let key: ReturnType<VerifyingKeys["of"]>;
    try {
      key = this.#keys.of(registration.public_key);
    } catch (error) {
      if (error instanceof RangeError) throw malformed("'public_key' can't be used as a key.");
      throw error;
    }
    if (key.instance_id !== registration.instance_id)
      throw malformed("'instance_id' doesn't belong to 'public_key'.");
    const statement = registrationStatement({ account_origin: origin, device_id: device.id });
    if (!key.verify(statement.material(registration), fromBase64(registration.signature)!))
      throw malformed("'signature' doesn't fit the registration, this device and this service.");
  }

  /** Whether it was written. Null if another device has this instance (DIR-029). */
  async #bind(device: Device, registration: Registration): Promise<boolean | null> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    try {
      const rows = await store.write((db) =>
        this.#binding.rows(db, {
          device: device.id,
          instance: registration.instance_id,
          key: registration.public_key,
          version: registration.client_version,
          origin: registration.public_origin,
          proofAt: milliseconds(registration.issued_at),
          now,
          latest: now + LATEST_MS,
        }),
      );
      return rows.length > 0;
    } catch (error) {
      if (isDuplicate(error)) return null;
      throw error;
    }
  }

  /**
   * Retires the binding of a device that is retired: a service without Connect on the same store
   * retires the device alone (VER-017). Answers whether there was one.
   */
  async #retireLeftover(instanceId: string): Promise<boolean> {
    const row = await this.#deps.store.write((db) =>
      db
        .updateTable("connect_instances")
        .set({ retired_at: this.#deps.clock.now() })
        .where("instance_id", "=", instanceId)
        .where("retired_at", "is", null)
        .where("device_id", "in", (eb) =>
          eb.selectFrom("devices").select("devices.id").where("devices.retired_at", "is not", null),
        )
        .returning("device_id")
        .executeTakeFirst(),
    );
    return row !== undefined;
  }

  /** Why nothing was written. What is read now explains it and decides nothing. */
  async #whyNot(device: Device, registration: Registration): Promise<Refusal> {
    const row = await this.#deps.store.db
      .selectFrom("devices")
      .leftJoin("connect_instances", "connect_instances.device_id", "devices.id")
      .select(["devices.retired_at", "connect_instances.instance_id"])
      .where("devices.id", "=", device.id)
      .executeTakeFirst();
    if (row === undefined) return new Refusal("unauthenticated");
    if (row.retired_at !== null) return new Refusal("device_disabled");
    if (row.instance_id !== registration.instance_id) return new Refusal("instance_conflict");
    return new Refusal("conflict", {
      specifics: "A newer registration of this instance is already recorded.",
      remedy: "Register again with the current time.",
    });
  }
}

function malformed(specifics: string, remedy?: string): Refusal {
  return new Refusal("invalid_request", remedy === undefined ? { specifics } : { specifics, remedy });
}
