/** Direct connections: one of the ways to other instances. */

import type { directOperations } from "../../../shared/operations/direct.ts";
import { directCheck } from "../../operations/health.ts";
import { Direct } from "../../peers/direct/direct.ts";
import { directHandlers } from "../../peers/direct/handlers.ts";
import type { Outbound } from "../../peers/outbound.ts";
import type { Given } from "../given.ts";
import type { ServiceFor } from "../service.ts";
import type { Groups } from "./groups.ts";
import type { Receiving } from "./receiver.ts";

type Parts = Pick<Given, "files" | "clock" | "random" | "log" | "links" | "home" | "hostname"> & {
  network: Pick<Given["network"], "interfaces">;
  groups: Pick<Groups, "registry">;
  outbound: { authorities: Pick<Outbound["authorities"], "add"> };
  receiver: Omit<Receiving, "admit">;
};

export async function create(parts: Parts): Promise<ServiceFor<Direct, typeof directOperations>> {
  const { home, network, groups, outbound, receiver, ...rest } = parts;
  const { registry } = groups;
  const direct = await Direct.open({
    ...rest,
    paths: home.paths,
    kept: home.kept,
    identity: home.identity,
    interfaces: () => network.interfaces(),
    receiver,
    allowance: (connectionId) => receiver.allowance(connectionId),
    findGroup: (groupId) => registry.find(groupId)?.record ?? null,
  });
  outbound.authorities.add(direct.authority, direct.transport);
  registry.onGone((groupId) => direct.retireGroup(groupId));
  registry.onChange(({ what }) => {
    if (what === "created" || what === "removed") direct.groupsChanged();
  });
  return {
    part: direct,
    handlers: directHandlers(direct),
    health: [directCheck(() => direct.health)],
    async stop() {
      await receiver.close();
      await direct.close();
    },
  };
}
