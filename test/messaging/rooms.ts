/** The daemon's rooms up to messaging over one Home, and operations over them, for settings that choose their own platform. */

import type { HomePaths } from "../../client/paths.ts";
import { accessTokenHandlers } from "../../daemon/access/access-token-handlers.ts";
import { AccessTokens } from "../../daemon/access/access-tokens.ts";
import { groupHandlers } from "../../daemon/groups/handlers.ts";
import { LaunchTokens } from "../../daemon/groups/launch-tokens.ts";
import { GroupRegistry } from "../../daemon/groups/registry.ts";
import type { LedgerLimits } from "../../daemon/ledger/types.ts";
import type { MessagingLimits } from "../../daemon/messaging/group-chat.ts";
import { Messaging } from "../../daemon/messaging/messaging.ts";
import { Dispatcher } from "../../daemon/operations/dispatcher.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files.ts";
import type { Log } from "../../platform/log.ts";
import type { ProjectFiles } from "../../platform/project-files.ts";
import type { Random } from "../../platform/random.ts";
import type { HandlersOf } from "../../shared/operations/handlers.ts";
import type { OperationName } from "../../shared/operations/registry.ts";
import { NO_RUNNER, openSettings } from "../groups/parts.ts";

export interface Base {
  files: Files;
  clock: Clock;
  random: Random;
  projects: ProjectFiles;
  log: Log;
  paths: HomePaths;
}

export interface MessagingRooms extends Base {
  registry: GroupRegistry;
  messaging: Messaging;
  launchTokens: LaunchTokens;
}

/** Opens what is below the rooms that a setting adds. Messaging isn't started: they come before. */
export async function openMessagingRooms(
  base: Base,
  ledgerLimits: Partial<LedgerLimits>,
  limits: Partial<MessagingLimits> = {},
): Promise<MessagingRooms> {
  const { files, clock, random, paths } = base;
  for (const directory of [paths.root, paths.groups]) {
    if (files.stat(directory) === null) files.mkdir(directory);
  }
  const messaging = new Messaging({ ...base, limits });
  const registry = await GroupRegistry.open({
    files,
    clock,
    random,
    paths,
    projectionsFor: (group_id) => messaging.projectionsFor(group_id),
    keyOf: messaging.keyOf,
    ledgerLimits,
  });
  const launchTokens = await LaunchTokens.open({ files, random, home: paths.root, registry });
  return { ...base, registry, messaging, launchTokens };
}

/** Operations of these rooms and of those `above`; any other throws. */
export async function dispatcherOver(
  rooms: MessagingRooms,
  above: Partial<HandlersOf<OperationName>>,
  options: { checkOutputs?: boolean } = {},
): Promise<Dispatcher> {
  const { files, clock, random, log, paths, registry, messaging } = rooms;
  const settings = await openSettings(files, paths.settings);
  const handlers: Partial<HandlersOf<OperationName>> = {
    ...groupHandlers({
      ...rooms,
      runner: NO_RUNNER,
      lapsed: () => null,
      home: paths.root,
      program: ["svc"],
      counts: (group_id) => messaging.counts(group_id),
      presence: (group_id, actor_id) => messaging.presence(group_id, actor_id),
    }),
    ...accessTokenHandlers({ ...rooms, accessTokens: new AccessTokens({ clock, random, settings }) }),
    ...messaging.handlers(),
    ...above,
  };
  const missing = (): never => {
    throw new Error("not a part of this setting");
  };
  const table = new Proxy(handlers, {
    get: (target, name) => target[name as OperationName] ?? missing,
  });
  return new Dispatcher({
    handlers: table as HandlersOf<OperationName>,
    log,
    permitOf: (group_id) => registry.get(group_id).permit,
    touch: (caller) => messaging.touch(caller),
    ...options,
  });
}
