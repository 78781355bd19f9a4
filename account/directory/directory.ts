/** The directory of a member's instances (docs/protocol.md#account). */
import type { Clock } from "../../platform/clock.ts";
import { VerifyingKeys } from "../../platform/keys.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { fromBase64 } from "../../shared/wire/v1/base64.ts";
import type { Registration } from "../../shared/wire/v1/proofs.ts";
import { registrationStatement } from "../../shared/wire/v1/signing.ts";
import { milliseconds } from "../../shared/wire/v1/time.ts";
import { untimelyRegistration } from "../../shared/wire/v1/timely.ts";
import type { Device } from "../devices/devices.ts";
import { JsonText } from "../json-text.ts";
import { Compiled } from "../store/compiled.ts";
import { isDuplicate, type Store } from "../store/store.ts";
import { type Bound, binding, type Listed, listing, refreshWithListing } from "./statements.ts";
import type { VersionGate } from "./version-gate.ts";

const LIFETIME_MS = LIMITS.account.directorySeconds * 1000;
/** Clocks of several processes differ a little. */
const LATEST_MS = 2 * LIMITS.connect.registrationSkewSeconds * 1000;

export interface DirectoryDependencies {
  store: Store;
  clock: Clock;
  gate: VersionGate;
  /** Canonical origin of this service, which every registration signs. */
  origin: string;
  /** Whether an instance may name an HTTP origin on loopback (DIR-019). */
  acceptsLoopback: boolean;
}

/** A directory's entries as JSON, of one client version each. */
type Listing = { client_version: string; entries: string }[];

export class Directory {
  readonly #deps: DirectoryDependencies;
  readonly #keys = new VerifyingKeys(LIMITS.account.admittedKeys);
  readonly #listed: Compiled<Listed, ReturnType<typeof listing>>;
  readonly #bound: Compiled<Bound, ReturnType<typeof binding>>;
  /** Null where one statement can't do both. */
  readonly #refreshed: Compiled<Bound & Listed, ReturnType<typeof refreshWithListing>> | null;

  constructor(deps: DirectoryDependencies) {
    const { kind, db: built } = deps.store;
    this.#deps = deps;
    this.#listed = new Compiled(built, (db, value) => listing(db, value, kind));
    this.#bound = new Compiled(built, (db, value) => binding(db, value, kind));
    this.#refreshed = kind === "postgres" ? new Compiled(built, refreshWithListing) : null;
  }

  /** The active instances of the device's member, as JSON. Changes nothing. */
  async read(device: Device): Promise<JsonText> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    return this.#directory(device, now, await this.#listed.rows(store.db, { member: device.member }));
  }

  #directory(device: Device, now: number, listed: Listing): JsonText {
    const head = JSON.stringify({
      protocol_version: 1,
      account_id: device.member,
      account_label: device.accountLabel,
      device_id: device.id,
      issued_at: new Date(now).toISOString(),
      expires_at: new Date(now + LIFETIME_MS).toISOString(),
    });
    const entries = listed
      .filter((row) => this.#deps.gate.lists(row.client_version))
      .map((row) => row.entries);
    return new JsonText(`${head.slice(0, -1)},"instances":[${entries.join(",")}]}`);
  }

  /**
   * Binds the instance to the device, or refreshes its binding, and answers what `read` does.
   * Throws `invalid_request` for a proof that doesn't hold, `instance_conflict`, `conflict` for an
   * older proof, and `device_disabled`.
   */
  async register(device: Device, registration: Registration, clientVersion: string): Promise<JsonText> {
    this.#verify(device, registration, clientVersion);
    let bound = await this.#bind(device, registration);
    if (bound === "taken" && (await this.#retireLeftover(registration.instance_id)))
      bound = await this.#bind(device, registration);
    if (bound === "taken") throw new Refusal("instance_conflict");
    if (bound === null) throw await this.#whyNot(device, registration);
    return bound;
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

  /**
   * The directory with the binding; null if nothing was written, "taken" if another device has this
   * instance (DIR-029).
   */
  async #bind(device: Device, registration: Registration): Promise<JsonText | "taken" | null> {
    const now = this.#deps.clock.now();
    try {
      const listed = await this.#write({
        device: device.id,
        member: device.member,
        instance: registration.instance_id,
        key: registration.public_key,
        version: registration.client_version,
        origin: registration.public_origin,
        proofAt: milliseconds(registration.issued_at),
        now,
        latest: now + LATEST_MS,
      });
      return listed === null ? null : this.#directory(device, now, listed);
    } catch (error) {
      if (isDuplicate(error)) return "taken";
      throw error;
    }
  }

  /** Writes a binding and answers the directory with it; null if it wasn't written. */
  async #write(values: Bound & Listed): Promise<Listing | null> {
    const { store } = this.#deps;
    if (this.#refreshed !== null) {
      const rows = await this.#refreshed.rows(store.db, values);
      if (rows.some((row) => row.is_written)) return rows;
    }
    const written = await store.write((db) => this.#bound.rows(db, values));
    return written.length === 0 ? null : this.#listed.rows(store.db, values);
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
