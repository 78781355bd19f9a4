/** Operations on Groups and their Actors. */

import type { actorOperations } from "../../../shared/operations/actors.ts";
import type { groupOperations } from "../../../shared/operations/groups.ts";
import type { ActorRunner } from "../../groups/actors.ts";
import { groupHandlers } from "../../groups/handlers.ts";
import type { Messaging } from "../../messaging/messaging.ts";
import type { Given } from "../given.ts";
import type { ServiceFor } from "../service.ts";
import type { Access } from "./access.ts";
import type { Credentials } from "./credentials.ts";
import type { Groups } from "./groups.ts";

type Parts = Pick<Given, "clock" | "random" | "projects" | "home" | "program"> & {
  groups: Groups;
  access: Access;
  credentials: Credentials;
  messaging: Pick<Messaging, "counts" | "presence">;
  runtimes: ActorRunner;
};

export function create(parts: Parts): ServiceFor<null, typeof groupOperations | typeof actorOperations> {
  const { clock, random, projects, home, program, groups, access, credentials, messaging, runtimes } = parts;
  const handlers = groupHandlers({
    clock,
    random,
    projects,
    registry: groups.registry,
    launchTokens: access.launchTokens,
    runner: runtimes,
    lapsed: (caller) => credentials.lapsed(caller),
    home: home.paths.root,
    program,
    counts: (groupId) => messaging.counts(groupId),
    presence: (groupId, actorId) => messaging.presence(groupId, actorId),
  });
  return { part: null, handlers };
}
