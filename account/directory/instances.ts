/** The active bindings of a directory, and what others see of them. */
import type { DirectoryEntry } from "../../shared/wire/v1/account.ts";
import { shownDeviceName } from "../devices/devices.ts";
import type { Queries } from "../store/store.ts";

/** What others see of a binding, and of its device. */
export const SHOWN = [
  "connect_instances.instance_id",
  "connect_instances.device_id",
  "connect_instances.public_key",
  "connect_instances.client_version",
  "connect_instances.public_origin",
  "connect_instances.registered_at",
  "devices.display_name",
  "devices.hostname",
] as const;

/** Active bindings of active devices. */
export function activeInstances(db: Queries) {
  return db
    .selectFrom("connect_instances")
    .innerJoin("devices", "devices.id", "connect_instances.device_id")
    .select(SHOWN)
    .where("connect_instances.retired_at", "is", null)
    .where("devices.retired_at", "is", null);
}

export type ActiveInstance = Awaited<ReturnType<ReturnType<typeof activeInstances>["execute"]>>[number];

/** A binding as the directory lists it (DIR-042). */
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
