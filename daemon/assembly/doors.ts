/**
 * The ways in: the local socket, the Web listener and the exhibit, with the one dispatcher that all
 * of them call.
 */
import type { McpHttp } from "../../mcp-server/http.ts";
import { RequestIds } from "../../platform/http/request-id.ts";
import type { Network } from "../../platform/network.ts";
import { Refusal } from "../../shared/errors.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { LaunchIdentity } from "../groups/launch-tokens.ts";
import type { Home } from "../home/home.ts";
import { LocalCallers } from "../http/local/local-caller.ts";
import { LocalSocket } from "../http/local/local-socket.ts";
import { Exhibit } from "../http/web/exhibit.ts";
import { LoginLinks } from "../http/web/login-links.ts";
import { WebService } from "../http/web/web-service.ts";
import { Dispatcher } from "../operations/dispatcher.ts";
import type { Direct } from "../peers/direct/direct.ts";
import { allHandlers } from "./handlers.ts";
import { healthOf } from "./health.ts";
import type { Lazy } from "./lazy.ts";
import { type Lease, lazyApi, lazyMcp } from "./lazy-api.ts";
import type { DaemonOptions } from "./options.ts";
import type { Platform, Rooms } from "./rooms.ts";

export interface DoorParts {
  options: DaemonOptions;
  platform: Platform;
  network: Network;
  /** False where permissions don't say anything (Windows). */
  hasModes: boolean;
  /** PEM texts: HTTPS with them. */
  tls: { cert: string; key: string } | null;
  /** Starts `svc`. */
  program: readonly [command: string, ...args: string[]];
  home: Home;
  rooms: Rooms;
  direct: Direct;
  /** Begins to stop the daemon, after the answer has gone out. */
  stop(): void;
}

/** Built, and all closed yet. */
export interface Doors {
  local: LocalSocket;
  web: WebService;
  exhibit: Exhibit;
  dispatcher: Dispatcher;
  mcp: Lazy<McpHttp>;
  /** Whether requests are served, for who asks over HTTP. */
  isReady: boolean;
}

export function buildDoors(parts: DoorParts): Doors {
  const { options, platform, network, hasModes, tls, home, rooms, direct } = parts;
  const { files, clock, random, log } = platform;
  const { registry, launchTokens, accessTokens, messaging, runtimes } = rooms;

  const web = new WebService({
    network,
    clock,
    log,
    tls,
    host: options.host,
    port: options.port,
    manualOrigin() {
      const { enabled, origin } = home.settings.value.remote_access;
      return enabled ? origin : null;
    },
    app: async (names) => (await api.get()).web(names),
  });
  const exhibit = new Exhibit({
    network,
    clock,
    log,
    tls,
    manualOrigin: () => null,
    app: async (names, groups) => (await api.get()).exhibit(names, groups),
  });
  const links = new LoginLinks({ clock, random });
  const health = healthOf({ files, clock, home, rooms, direct, web, hasModes });
  /** The token of a process that this daemon runs is valid only while that process lives. */
  const mayUse = (launched: LaunchIdentity | null): launched is LaunchIdentity =>
    launched !== null && runtimes.mayUse(launched);
  const lapsed = (caller: Caller): Refusal | null => {
    if (caller.kind === "actor") {
      if (caller.launch === undefined || mayUse(launchTokens.find(caller.launch))) return null;
      return new Refusal("invalid_launch_token");
    }
    const isThere = caller.token_id === null || accessTokens.find(caller.token_id) !== null;
    return isThere ? null : new Refusal("unauthenticated");
  };
  const dispatcher = new Dispatcher({
    handlers: allHandlers({ ...parts, links, web, exhibit, health, lapsed }),
    log,
    permitOf: (groupId) => registry.get(groupId).permit,
    touch: (caller) => messaging.touch(caller),
    lapsed,
    checkOutputs: options.checkOutputs ?? false,
  });

  const verifyLaunchToken = (token: string): LaunchIdentity | null => {
    const launched = launchTokens.verify(token);
    return mayUse(launched) ? launched : null;
  };
  const lease: Lease = (caller, ended) => {
    const held = messaging.openSession(caller, ended);
    return (isLost) => held.release(isLost);
  };
  const callers = new LocalCallers({ socketKey: home.lock.key, verifyLaunchToken });
  const requestIds = new RequestIds(random);
  const mcp = lazyMcp({ clock, requestIds, dispatcher, verifyLaunchToken, lease });
  launchTokens.onRevoked((launched) => {
    mcp.settled().then(
      (server) => server?.revoke(launched),
      () => undefined,
    );
  });
  const api = lazyApi({
    clock,
    log,
    requestIds,
    callers,
    links,
    dispatcher,
    rooms,
    health,
    isReady: () => doors.isReady,
    mcp: async (...asked) => (await mcp.get()).handle(...asked),
  });
  registry.onChange(({ group_id: groupId, what }) => {
    if (what === "created") api.made?.groupCreated(groupId);
  });
  const local = new LocalSocket({
    dispatcher,
    callers,
    requestIds,
    clock,
    log,
    app: async () => (await api.get()).local,
    upgrade(request, socket, head, caller) {
      api.get().then(
        (loaded) => loaded.upgradeLocal(request, socket, head, caller),
        () => socket.destroy(),
      );
    },
    lease,
  });
  const doors: Doors = { local, web, exhibit, dispatcher, mcp, isReady: false };
  return doors;
}
