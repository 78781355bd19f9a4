/** Members and devices that are written into the store, where nobody has to walk them in. */
import { randomUUID } from "node:crypto";
import { digestOf, newToken } from "../../account/secrets.ts";
import type { Db } from "../../account/store/store.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { type AnyService, TestDevice } from "./service.ts";

export async function insertMembers(db: Db, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  await db
    .insertInto("members")
    .values(
      ids.map((id, index) => ({
        id,
        name: `Member ${index}`,
        is_admin: 0,
        created_at: 1,
        disabled_at: null,
      })),
    )
    .execute();
  return ids;
}

/** Devices of these members in turn, which ask the services at these ports in turn. */
export async function insertDevices(
  db: Db,
  { service, ports }: { service: AnyService; ports: readonly number[] },
  members: readonly string[],
  count: number,
): Promise<TestDevice[]> {
  const random = new RealRandom();
  const made = Array.from({ length: count }, (_, index) => {
    const device = new TestDevice(service, ports[index % ports.length]);
    return Object.assign(device, { id: randomUUID(), token: newToken(random), hostname: randomUUID() });
  });
  await db
    .insertInto("devices")
    .values(
      made.map((device, index) => ({
        id: device.id,
        member_id: members[index % members.length]!,
        token_digest: digestOf(device.token),
        hostname: device.hostname,
        display_name: null,
        created_at: 1,
        retired_at: null,
      })),
    )
    .execute();
  return made;
}
