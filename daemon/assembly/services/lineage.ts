/** Whose process is at the other end of the local socket. */
import { realpathSync } from "node:fs";
import { resolveHome } from "../../../client/paths.ts";
import { ENVIRONMENT } from "../../../shared/names.ts";
import { type ActorRoot, Lineage, type Standing } from "../../access/lineage.ts";
import type { Watch } from "../../http/local/peer.ts";
import { callersCheck } from "../../operations/health.ts";
import type { LiveLaunches } from "../../runtimes/launch/live-launches.ts";
import type { Given } from "../given.ts";
import type { Service } from "../service.ts";
import type { Groups } from "./groups.ts";

type Parts = Pick<Given, "home" | "processTable" | "socketPeers" | "hasModes"> & {
  groups: Groups;
  launches: LiveLaunches;
};

/** Where a pipe has no process that the system names (Windows), the part is null. */
export async function create(parts: Parts): Promise<Service<Watch>> {
  const { home, processTable: table, socketPeers: peers, hasModes, groups, launches } = parts;
  if (!hasModes) return { part: null };
  const root = home.paths.root;
  const terminals = new Map<string, string>();
  const launched = (): ActorRoot[] => {
    const running = launches.processes();
    if (terminals.size > 2 * running.length) terminals.clear();
    return running.map(({ launch, pid }) => {
      const { group_id: groupId, actor_id: actorId, generation, token_digest: digest, birth, mark } = launch;
      let terminal = terminals.get(mark) ?? "";
      if (terminal === "" && pid !== null) {
        terminal = table.terminalOf(pid);
        terminals.set(mark, terminal);
      }
      const actor = { group_id: groupId, actor_id: actorId, generation, launch: digest };
      return { ...actor, pid: pid ?? -1, birth, terminal, mark };
    });
  };
  const actorIn = (groupId: string, actorId: string) =>
    groups.registry.find(groupId)?.record.actors.find(({ id }) => id === actorId);
  const lineage = new Lineage({
    table,
    pid: process.pid,
    launched,
    isOfHome: (environment) => {
      const named = environment[ENVIRONMENT.home] ?? (environment["HOME"] && `${environment["HOME"]}/.svc`);
      return named !== undefined && isSameFolder(resolveHome({ [ENVIRONMENT.home]: named }), root);
    },
    ofFile(path) {
      for (const { group_id: groupId, record, paths } of groups.registry.list()) {
        const actor = record.actors.find(({ id }) => paths.tokenFile(id) === path);
        if (actor === undefined) continue;
        const found = { group_id: groupId, actor_id: actor.id, generation: actor.generation };
        return { kind: "actor", root: found } satisfies Standing;
      }
      return null;
    },
    isCurrent: ({ group_id: groupId, actor_id: actorId, generation }) =>
      actorIn(groupId, actorId)?.generation === generation,
  });
  await lineage.start();
  return { part: { peers, lineage }, health: [callersCheck(() => peers.canTell)] };
}

function isSameFolder(one: string, other: string): boolean {
  try {
    return one === other || realpathSync(one) === realpathSync(other);
  } catch {
    return false;
  }
}
