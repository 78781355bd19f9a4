/** What the operator does at the store, with or without a running service. */
import { resolve } from "node:path";
import { sql } from "kysely";
import type { Clock } from "../platform/clock.ts";
import { errorCode } from "../platform/durable.ts";
import type { Random } from "../platform/random.ts";
import { Refusal } from "../shared/errors.ts";
import { Audit } from "./audit.ts";
import { retireDevices, shownDeviceName } from "./devices/devices.ts";
import { invitationLink, invite } from "./members/invitations.ts";
import { ServiceKey } from "./secrets.ts";
import type { Settings } from "./settings.ts";
import { lostKey } from "./store/begun.ts";
import { closeEverything, closeInvitationsTo } from "./store/closing.ts";
import { StoreProblem } from "./store/problem.ts";
import { checkKey, hasKey, type Store } from "./store/store.ts";

export interface OperatorDependencies {
  store: Store;
  settings: Settings;
  clock: Clock;
  random: Random;
}

export class Operator {
  readonly #deps: OperatorDependencies;
  readonly #audit: Audit;

  constructor(deps: OperatorDependencies) {
    this.#deps = deps;
    this.#audit = new Audit(deps.clock, deps.random);
  }

  /** A link that lets one person in. */
  async invite(isAdmin: boolean): Promise<string> {
    return this.#link({ isAdmin, isFirst: false });
  }

  /** The link for the first member, who becomes the administrator; null when there is a member. */
  async firstInvitation(): Promise<string | null> {
    const member = await this.#deps.store.db.selectFrom("members").select("id").limit(1).executeTakeFirst();
    return member === undefined ? this.#link({ isAdmin: true, isFirst: true }) : null;
  }

  async #link(kind: { isAdmin: boolean; isFirst: boolean }): Promise<string> {
    const { store, settings, clock, random } = this.#deps;
    return invitationLink(settings.origin, await invite(store.db, { clock, random, by: null, ...kind }));
  }

  async members() {
    const rows = await this.#deps.store.db
      .selectFrom("members")
      .select((eb) => [
        "members.id",
        "members.name",
        "members.is_admin",
        "members.created_at",
        "members.disabled_at",
        eb
          .selectFrom("devices")
          .whereRef("devices.member_id", "=", "members.id")
          .where("devices.retired_at", "is", null)
          .select((inner) => inner.fn.countAll<number>().as("count"))
          .as("devices"),
      ])
      .orderBy("members.created_at")
      .execute();
    return rows.map((row) => ({
      id: row.id,
      name: row.name,
      is_admin: row.is_admin === 1,
      is_disabled: row.disabled_at !== null,
      devices: row.devices ?? 0,
      created_at: new Date(row.created_at).toISOString(),
    }));
  }

  /**
   * Ends a member's sessions, retires the member's devices, and lets the member in no more, nor
   * anybody by the member's invitations.
   */
  async disableMember(id: string): Promise<number> {
    const { store, clock } = this.#deps;
    return store.transaction(async (db) => {
      const now = clock.now();
      const disabled = await db
        .updateTable("members")
        .set((eb) => ({ disabled_at: eb.fn.coalesce("disabled_at", eb.val(now)) }))
        .where("id", "=", id)
        .returning("id")
        .executeTakeFirst();
      if (disabled === undefined) throw unknown("member");
      await db.deleteFrom("sessions").where("member_id", "=", id).execute();
      const retired = await retireDevices(db, now, { member: id });
      await closeInvitationsTo(db, now, id);
      await this.#audit.record(db, { event: "member_disabled", member: id });
      return retired.length;
    });
  }

  async devices() {
    const rows = await this.#deps.store.db
      .selectFrom("devices")
      .innerJoin("members", "members.id", "devices.member_id")
      .leftJoin("connect_instances", "connect_instances.device_id", "devices.id")
      .select([
        "devices.id",
        "devices.display_name",
        "devices.hostname",
        "devices.retired_at",
        "members.name",
        "connect_instances.instance_id",
        "connect_instances.client_version",
        "connect_instances.registered_at",
      ])
      .orderBy("members.name")
      .orderBy("devices.created_at")
      .execute();
    return rows.map((row) => ({
      id: row.id,
      name: shownDeviceName(row),
      member: row.name,
      instance_id: row.instance_id,
      version: row.client_version,
      is_retired: row.retired_at !== null,
      last_contact: row.registered_at === null ? null : new Date(row.registered_at).toISOString(),
    }));
  }

  async retireDevice(id: string): Promise<void> {
    const { store, clock } = this.#deps;
    await store.transaction(async (db) => {
      const device = await db
        .selectFrom("devices")
        .select("member_id")
        .where("id", "=", id)
        .executeTakeFirst();
      if (device === undefined) throw unknown("device");
      const retired = await retireDevices(db, clock.now(), { member: device.member_id, id });
      if (retired.length > 0)
        await this.#audit.record(db, { event: "device_retired", member: device.member_id, device: id });
    });
  }

  /**
   * Ends all connections and open invitations between members. After a backup was restored, the
   * store doesn't know any more which of them had been ended.
   */
  endConnections(): Promise<{ connections: number; invitations: number }> {
    const { store, clock } = this.#deps;
    return store.transaction(async (db) => {
      const ended = await closeEverything(db, clock.now());
      await this.#audit.record(db, { event: "connections_ended", member: null });
      return ended;
    });
  }

  /** Writes a copy of the embedded database, which may be in use. */
  backup(file: string): void {
    try {
      this.#deps.store.backup(resolve(file));
    } catch (error) {
      // What the system says about a file has a call; what the database says hasn't.
      if ((error as { syscall?: unknown }).syscall !== "open") throw error;
      const isThere = errorCode(error) === "EEXIST";
      throw new Refusal("invalid_args", {
        specifics: isThere ? `There is something at ${file} already.` : `${file} can't be written.`,
        remedy: "Choose another file.",
        cause: error,
      });
    }
  }

  /** What an operator should know. Each line is a problem. */
  async problems(): Promise<string[]> {
    const { store, settings } = this.#deps;
    const found = problemsOf(settings);
    const wrongKey = await this.#keyProblem();
    if (wrongKey !== null) found.push(wrongKey);
    const double = await sql<{ instance_id: string }>`select instance_id from connect_instances
      where retired_at is null group by instance_id having count(*) > 1`.execute(store.db);
    if (double.rows.length > 0)
      found.push(`${double.rows.length} instances have more than one active binding.`);
    const stray = await store.db
      .selectFrom("connect_instances")
      .innerJoin("devices", "devices.id", "connect_instances.device_id")
      .select("devices.id")
      .where("devices.retired_at", "is not", null)
      .where("connect_instances.retired_at", "is", null)
      .execute();
    if (stray.length > 0) found.push(`${stray.length} retired devices still have an active binding.`);
    return found;
  }

  /** Why the service wouldn't start with the key of its folder, in words; null if it would. */
  async #keyProblem(): Promise<string | null> {
    const { store, settings } = this.#deps;
    const { folder } = settings;
    try {
      const key = ServiceKey.read(folder);
      if (key !== null) await checkKey(store.db, key.bytes, folder);
      else if (await hasKey(store.db)) throw lostKey(folder);
      return null;
    } catch (error) {
      if (error instanceof StoreProblem) return `${error.message} ${error.remedy}`;
      throw error;
    }
  }
}

/** What an operator should know about the settings. */
export function problemsOf({ origin, developmentLogin }: Settings): string[] {
  const found: string[] = [];
  const { hostname, protocol } = new URL(origin);
  if (/^[0-9.]+$|^\[/u.test(hostname))
    found.push(
      `Passkeys don't work under an IP address (${hostname}). Give the service a name with --origin.`,
    );
  if (protocol === "http:" && hostname !== "localhost")
    found.push("The service is reached over HTTP. Put a proxy with HTTPS in front of it.");
  if (process.env["ALLOW_DEV_LOGIN"] === "1" && !developmentLogin)
    found.push("ALLOW_DEV_LOGIN works only on loopback over HTTP. It is off.");
  return found;
}

function unknown(what: string): Refusal {
  return new Refusal("not_found", {
    specifics: `There is no such ${what}.`,
    remedy: `List them with 'svc account-service ${what}s'.`,
  });
}
