/** The Groups of the Home with their ledgers. */
import { GroupRegistry } from "../../groups/registry.ts";
import { MessageProjections } from "../../messaging/projection/projections.ts";
import { groupsCheck } from "../../operations/health.ts";
import type { Given } from "../given.ts";
import type { Service } from "../service.ts";

export interface Groups {
  registry: GroupRegistry;
  /** What messaging keeps of each ledger. */
  projections: MessageProjections;
}

type Parts = Pick<Given, "files" | "clock" | "random" | "home" | "ledgerLimits">;

export async function create(parts: Parts): Promise<Service<Groups>> {
  const { files, clock, random, home, ledgerLimits } = parts;
  const projections = new MessageProjections();
  const registry = await GroupRegistry.open({
    files,
    clock,
    random,
    paths: home.paths,
    projectionsFor: (groupId) => projections.projectionsFor(groupId),
    keyOf: projections.keyOf,
    ...(ledgerLimits === undefined ? {} : { ledgerLimits }),
  });
  return {
    part: { registry, projections },
    health: [groupsCheck(() => ({ open: registry.list().length, unavailable: registry.unavailable() }))],
    stop: () => registry.close(),
  };
}
