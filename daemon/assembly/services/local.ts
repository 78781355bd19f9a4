/** The owner-only local socket. */
import { chmodSync } from "node:fs";
import { UNLIMITED } from "../../../platform/descriptors.ts";
import { mostConnections } from "../../../platform/http/connections.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { Api } from "../../http/api/api.ts";
import type { ActorDoors } from "../../http/local/actor-doors.ts";
import { LocalSocket } from "../../http/local/local-socket.ts";
import type { Watch } from "../../http/local/peer.ts";
import type { WebService } from "../../http/web/web-service.ts";
import type { Dispatcher } from "../../operations/dispatcher.ts";
import type { Given } from "../given.ts";
import type { Lazy } from "../lazy.ts";
import type { Service } from "../service.ts";
import { type Closing, GRACE_MS } from "./closing.ts";
import type { Ports } from "./ports.ts";

type Parts = Pick<Given, "clock" | "log" | "network" | "home" | "hasModes" | "descriptors"> & {
  closing: Closing;
  operations: Dispatcher;
  ports: Ports;
  lineage: Watch;
  doors: ActorDoors;
  api: Lazy<Api>;
  web: Pick<WebService, "origin">;
};

export function create(parts: Parts): Service<LocalSocket> {
  const { clock, log, network, home, hasModes, closing, operations, ports, lineage, doors, api, web } = parts;
  const { callers, requestIds, lease } = ports;
  const { descriptors = UNLIMITED } = parts;
  const { limit } = descriptors;
  const { localShare, actorShare } = LIMITS.descriptors;
  const local = new LocalSocket({
    dispatcher: operations,
    callers,
    requestIds,
    clock,
    log,
    descriptors,
    most: { person: mostConnections(limit, localShare), actor: mostConnections(limit, actorShare) },
    app: async () => (await api.get()).local,
    watch: lineage,
    upgrade(request, socket, head, caller, lapsed) {
      api.get().then(
        (loaded) => loaded.upgradeLocal(request, socket, head, caller, lapsed),
        () => socket.destroy(),
      );
    },
    lease,
  });
  doors.serveBy((door) => local.listener(door));
  return {
    part: local,
    async start() {
      const { lock } = home;
      await network.listen(local.server, { path: lock.socket });
      if (hasModes) chmodSync(lock.socket, 0o600);
      await lock.announce(web.origin);
    },
    stop() {
      const timer = clock.after(GRACE_MS, () => local.destroy());
      closing.wait(network.close(local.server).then(() => timer.cancel()));
      local.finish();
    },
  };
}
