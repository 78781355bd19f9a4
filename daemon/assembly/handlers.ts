/** Every operation's handler: each room answers its own. */
import type { Refusal } from "../../shared/errors.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { HandlersOf } from "../../shared/operations/handlers.ts";
import type { OperationName } from "../../shared/operations/registry.ts";
import { PRODUCT_VERSION } from "../../shared/version.ts";
import { accessTokenHandlers } from "../access/access-token-handlers.ts";
import { groupHandlers } from "../groups/handlers.ts";
import type { Home } from "../home/home.ts";
import { accessHandlers, type ExhibitControl } from "../http/web/access-handlers.ts";
import type { LoginLinks } from "../http/web/login-links.ts";
import type { WebService } from "../http/web/web-service.ts";
import type { HealthRegistry } from "../operations/health.ts";
import { systemHandlers } from "../operations/system-handlers.ts";
import type { Direct } from "../peers/direct/direct.ts";
import { directHandlers } from "../peers/direct/handlers.ts";
import type { Platform, Rooms } from "./rooms.ts";

interface Answering {
  platform: Platform;
  home: Home;
  rooms: Rooms;
  direct: Direct;
  links: LoginLinks;
  web: WebService;
  exhibit: ExhibitControl;
  health: HealthRegistry;
  /** Why the caller's credential is no longer valid; null if it is. */
  lapsed(caller: Caller): Refusal | null;
  /** Starts `svc`. */
  program: readonly [command: string, ...args: string[]];
  /** Begins to stop the daemon. */
  stop(): void;
}

export function allHandlers(parts: Answering): HandlersOf<OperationName> {
  const { platform, home, rooms, direct, links, web, exhibit, health, program } = parts;
  const { registry, launchTokens, accessTokens, activity, messaging, runtimes, peers } = rooms;
  const { started_at: startedAt } = home.lock.address;
  return {
    ...groupHandlers({
      ...platform,
      registry,
      launchTokens,
      runner: runtimes,
      lapsed: (caller) => parts.lapsed(caller),
      home: home.paths.root,
      program,
      counts: (groupId) => messaging.counts(groupId),
      presence: (groupId, actorId) => messaging.presence(groupId, actorId),
    }),
    ...accessTokenHandlers({ registry, accessTokens }),
    ...activity.handlers(),
    ...runtimes.handlers(),
    ...messaging.handlers(),
    ...peers.handlers(),
    ...directHandlers(direct),
    ...accessHandlers({
      links,
      settings: home.settings,
      tokens: accessTokens,
      exhibit,
      webOrigin: () => web.origin,
      requireGroup: (groupId) => void registry.get(groupId),
    }),
    ...systemHandlers({
      health,
      status: () => ({
        running: true,
        pid: process.pid,
        version: PRODUCT_VERSION,
        instance_id: home.identity.instance_id,
        socket: home.lock.socket,
        web_origin: web.origin,
        home: home.paths.root,
        started_at: startedAt,
      }),
      stop: () => parts.stop(),
    }),
  };
}
