/** The Web listener, the exhibit's listener, and the operations on Web access. */

import { UNLIMITED } from "../../../platform/descriptors.ts";
import { mostConnections } from "../../../platform/http/connections.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { webAccessOperations } from "../../../shared/operations/access.ts";
import type { Api } from "../../http/api/api.ts";
import { accessHandlers } from "../../http/web/access-handlers.ts";
import { Exhibit, restoreExhibit } from "../../http/web/exhibit.ts";
import { WebService } from "../../http/web/web-service.ts";
import { webCheck } from "../../operations/health.ts";
import type { Given } from "../given.ts";
import type { Lazy } from "../lazy.ts";
import type { ServiceFor } from "../service.ts";
import type { Access } from "./access.ts";
import { type Closing, GRACE_MS } from "./closing.ts";
import type { Groups } from "./groups.ts";
import type { Ports } from "./ports.ts";

type Parts = Pick<Given, "clock" | "log" | "network" | "tls" | "host" | "port" | "home" | "descriptors"> & {
  closing: Closing;
  groups: Groups;
  access: Access;
  ports: Ports;
  api: Lazy<Api>;
};

export function create(parts: Parts): ServiceFor<WebService, typeof webAccessOperations> {
  const {
    clock,
    log,
    network,
    tls,
    host,
    port,
    home,
    descriptors = UNLIMITED,
    closing,
    groups,
    access,
    ports,
    api,
  } = parts;
  const { settings } = home;
  const { limit } = descriptors;
  const { webShare, exhibitShare } = LIMITS.descriptors;
  const web = new WebService({
    network,
    clock,
    log,
    tls,
    host,
    port,
    descriptors,
    most: mostConnections(limit, webShare),
    manualOrigin() {
      const { enabled, origin } = settings.value.remote_access;
      return enabled ? origin : null;
    },
    app: async (names) => (await api.get()).web(names),
  });
  const exhibit = new Exhibit({
    network,
    clock,
    log,
    tls,
    descriptors,
    most: mostConnections(limit, exhibitShare),
    manualOrigin: () => null,
    app: async (names, shown) => (await api.get()).exhibit(names, shown),
  });
  return {
    part: web,
    handlers: accessHandlers({
      log,
      links: ports.links,
      settings,
      tokens: access.accessTokens,
      exhibit,
      webOrigin: () => web.origin,
      requireGroup: (groupId) => void groups.registry.get(groupId),
    }),
    health: [webCheck(() => web.health)],
    async start() {
      await web.open();
      await restoreExhibit(exhibit, settings.value.exhibit, log);
    },
    stop() {
      closing.wait(web.close(GRACE_MS));
      closing.wait(exhibit.close());
    },
  };
}
