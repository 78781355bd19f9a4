/** Direct joined to the rooms: what it sends for, whom it lets answer, and which Groups it follows. */

import type { GroupRegistry } from "../groups/registry.ts";
import { Direct, type DirectDependencies } from "../peers/direct/direct.ts";
import type { Connect } from "../peers/room.ts";

interface Joining extends Omit<DirectDependencies, "findGroup"> {
  registry: GroupRegistry;
  connect: Pick<Connect, "add">;
}

/** Nothing is listened to or dialled before `start`. */
export async function openDirect({ registry, connect, ...own }: Joining): Promise<Direct> {
  const findGroup = (group_id: string) => registry.find(group_id)?.record ?? null;
  const direct = await Direct.open({ ...own, findGroup });
  connect.add(direct.authority, direct.transport);
  registry.onGone((group_id) => direct.retireGroup(group_id));
  registry.onChange(({ what }) => {
    if (what === "created" || what === "removed") direct.groupsChanged();
  });
  return direct;
}
