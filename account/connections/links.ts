/** What the connections of a device grant it: the answer of `/v1/connect/groups`. */
import type { Clock } from "../../platform/clock.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { GroupLink, GroupLinkEnd, GroupLinks } from "../../shared/wire/v1/group-links.ts";
import type { Device } from "../devices/devices.ts";
import { activeInstances, entryOf } from "../directory/instances.ts";
import { closeConnections } from "../store/closing.ts";
import { GROUP_CONNECTION_COLUMNS, type GroupConnectionsTable } from "../store/schema.ts";
import type { Store } from "../store/store.ts";

export interface LinkDependencies {
  store: Store;
  clock: Clock;
  origin: string;
}

type Side = "source" | "target";
type Instances = ReadonlyMap<string, Pick<GroupLinkEnd, "instance" | "account_label">>;

const LIFETIME_MS = LIMITS.account.directorySeconds * 1000;

export class Links {
  readonly #deps: LinkDependencies;

  constructor(deps: LinkDependencies) {
    this.#deps = deps;
  }

  /** The active connections of the device. Changes nothing. */
  async read(device: Device): Promise<GroupLinks> {
    const { store, clock, origin } = this.#deps;
    const rows = await store.db
      .selectFrom("group_connections")
      .select(GROUP_CONNECTION_COLUMNS)
      .where("closed_at", "is", null)
      .where((eb) => eb.or([eb("source_device", "=", device.id), eb("target_device", "=", device.id)]))
      .orderBy("created_at")
      .orderBy("id")
      .execute();
    const instances = await this.#instancesOf(rows);
    const now = clock.now();
    return {
      protocol_version: 1,
      account_origin: origin,
      account_id: device.member,
      device_id: device.id,
      issued_at: new Date(now).toISOString(),
      expires_at: new Date(now + LIFETIME_MS).toISOString(),
      links: rows.flatMap((row): GroupLink[] => {
        const [source, target] = [endOf(row, "source", instances), endOf(row, "target", instances)];
        if (source === null || target === null) return [];
        return [{ id: row.id, source, target, connected_at: new Date(row.created_at).toISOString() }];
      }),
    };
  }

  /** Ends the device's own connections whose Group its instance no longer has (EXT-039). */
  async invalidate(device: Device, ids: readonly string[]): Promise<void> {
    const ending = { now: this.#deps.clock.now(), reason: "group_gone", by: null } as const;
    await closeConnections(this.#deps.store.db, ids, { device: device.id }, ending);
  }

  /**
   * By device and instance: a connection isn't for another key of the same device. An instance that
   * is too old for the service is among them, because what this answer lacks has ended (EXT-070).
   */
  async #instancesOf(rows: readonly GroupConnectionsTable[]): Promise<Instances> {
    const devices = [...new Set(rows.flatMap((row) => [row.source_device, row.target_device]))];
    if (devices.length === 0) return new Map();
    const found = await activeInstances(this.#deps.store.db)
      .innerJoin("members", "members.id", "connect_instances.member_id")
      .select("members.name as member_name")
      .where("connect_instances.device_id", "in", devices)
      .execute();
    return new Map(
      found.map((row) => [
        keyOf(row.device_id, row.instance_id),
        { instance: entryOf(row), account_label: row.member_name },
      ]),
    );
  }
}

function keyOf(device: string, instance: string): string {
  return `${device} ${instance}`;
}

function endOf(row: GroupConnectionsTable, side: Side, instances: Instances): GroupLinkEnd | null {
  const known = instances.get(keyOf(row[`${side}_device`], row[`${side}_instance`]));
  if (known === undefined) return null;
  return {
    account_id: row[`${side}_member`],
    ...known,
    group_id: row[`${side}_group`],
    group_generation: row[`${side}_generation`],
    title: row[`${side}_title`],
  };
}
