/**
 * Operations on Groups and Actors. The dispatcher has authenticated, validated and taken the
 * permit.
 */

import type { Clock } from "../../platform/clock.ts";
import type { ProjectFiles } from "../../platform/project-files.ts";
import type { Random } from "../../platform/random.ts";
import { Refusal } from "../../shared/errors.ts";
import { ENVIRONMENT } from "../../shared/names.ts";
import type { ActorWithPresence, actorOperations } from "../../shared/operations/actors.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { groupOperations } from "../../shared/operations/groups.ts";
import type { HandlersFor } from "../../shared/operations/handlers.ts";
import { type ActorRunner, Actors, viewActor } from "./actors.ts";
import type { OpenGroup } from "./group.ts";
import { groupChanges } from "./group-handlers.ts";
import { type GroupCounts, summaryOf, viewFor } from "./group-view.ts";
import type { LaunchTokens } from "./launch-tokens.ts";
import { maySee } from "./permissions.ts";
import type { GroupRegistry } from "./registry.ts";

export interface GroupHandlerDependencies {
  clock: Clock;
  random: Random;
  projects: ProjectFiles;
  registry: GroupRegistry;
  launchTokens: LaunchTokens;
  runner: ActorRunner;
  /** Why the caller's credential is no longer valid; null if it is. */
  lapsed(caller: Caller): Refusal | null;
  /** Root of the Home and the command that starts svc, for MCP configurations. */
  home: string;
  program: readonly [command: string, ...args: string[]];
  /** Counted by messaging. */
  counts(groupId: string): GroupCounts;
  presence(groupId: string, actorId: string): ActorWithPresence["presence"];
}

function actorHandlers(deps: GroupHandlerDependencies): HandlersFor<typeof actorOperations> {
  const { registry, home, program } = deps;
  const actors = new Actors(deps);
  const withPresence = (group: OpenGroup, caller: Caller, actorId: string): ActorWithPresence => {
    const actor = viewActor(group, actorId);
    const shown = caller.kind === "exhibit" ? { ...actor, command: [], env: {}, private_env: [] } : actor;
    const { questions, ...presence } = deps.presence(group.group_id, actorId);
    // Only who may answer them is told that there are any.
    const isTold = caller.kind === "user" && questions !== undefined;
    return { ...shown, presence: isTold ? { ...presence, questions } : presence };
  };
  return {
    actor_list({ group_id: groupId }, { caller }) {
      const group = registry.get(groupId);
      return { actors: group.record.actors.map((actor) => withPresence(group, caller, actor.id)) };
    },
    actor_show: ({ group_id: groupId, actor_id: actorId }, { caller }) => ({
      actor: withPresence(registry.get(groupId), caller, actorId),
    }),
    actor_add: (input, { caller }) => actors.add(registry.get(input.group_id), caller, input),
    actor_update: async (input, { caller }) => ({
      actor: await actors.update(registry.get(input.group_id), caller, input),
    }),
    actor_remove: async ({ group_id: groupId, actor_id: actorId }, { caller }) => {
      const group = registry.get(groupId);
      const actor = viewActor(group, actorId);
      await actors.remove(group, caller, actorId);
      return { actor };
    },
    actor_start: (input, { caller }) => actors.start(registry.get(input.group_id), caller, input),
    actor_stop: async ({ group_id: groupId, actor_id: actorId }, { caller }) => ({
      actor: await actors.stop(registry.get(groupId), caller, actorId),
    }),
    actor_interrupt({ group_id: groupId, actor_id: actorId }, { caller }) {
      const group = registry.get(groupId);
      actors.interrupt(group, caller, actorId);
      return { actor: viewActor(group, actorId) };
    },
    actor_restart: (input, { caller }) => actors.restart(registry.get(input.group_id), caller, input),
    actor_secrets: async (input, { caller }) => ({
      actor: await actors.setSecrets(registry.get(input.group_id), caller, input),
    }),
    actor_mcp_config({ group_id: groupId, actor_id: actorId }) {
      const group = registry.get(groupId);
      const tokenFile = group.paths.tokenFile(group.actor(actorId).id);
      const env = { [ENVIRONMENT.home]: home, [ENVIRONMENT.actorFile]: tokenFile };
      const [command, ...args] = program;
      return { mcpServers: { svc: { command, args: [...args, "mcp"], env } } };
    },
  };
}

export function groupHandlers(
  deps: GroupHandlerDependencies,
): HandlersFor<typeof groupOperations | typeof actorOperations> {
  const { registry } = deps;
  return {
    group_list: (_input, { caller }) => {
      const groups = registry
        .list()
        .filter((group) => maySee(caller, group.group_id))
        .map((group) => summaryOf(group, deps.counts(group.group_id)));
      const active = ({ last_event: lastEvent, updated_at: updatedAt }: (typeof groups)[number]) =>
        lastEvent?.ts ?? updatedAt;
      return { groups: groups.sort((one, other) => (active(one) < active(other) ? 1 : -1)) };
    },
    group_show: ({ group_id: groupId }, { caller }) => {
      const group = registry.get(groupId);
      if (!maySee(caller, groupId)) throw new Refusal("permission_denied");
      return { ...viewFor(group, caller), summary: summaryOf(group, deps.counts(groupId)) };
    },
    ...groupChanges(deps),
    ...actorHandlers(deps),
  };
}
