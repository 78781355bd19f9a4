/**
 * Direct joined to the rooms: what it sends for, whom it lets answer, and which Groups it follows.
 */

import type { GroupRegistry } from "../groups/registry.ts";
import { Direct, type DirectDependencies } from "../peers/direct/direct.ts";
import type { Peers } from "../peers/peers.ts";

interface Joining extends Omit<DirectDependencies, "findGroup"> {
  registry: GroupRegistry;
  peers: Pick<Peers, "add">;
}

/** Nothing listens or connects before `start`. */
export async function openDirect({ registry, peers, ...own }: Joining): Promise<Direct> {
  const findGroup = (groupId: string) => registry.find(groupId)?.record ?? null;
  const direct = await Direct.open({ ...own, findGroup });
  peers.add(direct.authority, direct.transport);
  registry.onGone((groupId) => direct.retireGroup(groupId));
  registry.onChange(({ what }) => {
    if (what === "created" || what === "removed") direct.groupsChanged();
  });
  return direct;
}
