/** Operations on the daemon itself. */
import type { systemOperations } from "../../../shared/operations/system.ts";
import { PRODUCT_VERSION } from "../../../shared/version.ts";
import type { WebService } from "../../http/web/web-service.ts";
import { systemHandlers } from "../../operations/system-handlers.ts";
import type { Given } from "../given.ts";
import type { ServiceFor, Whole } from "../service.ts";

type Parts = Pick<Given, "home" | "stop"> & Pick<Whole, "checks"> & { web: Pick<WebService, "origin"> };

export function create(parts: Parts): ServiceFor<null, typeof systemOperations> {
  const { home, stop, checks, web } = parts;
  const { paths, lock, identity } = home;
  const { started_at } = lock.address;
  return {
    part: null,
    handlers: systemHandlers({
      checks,
      status: () => ({
        running: true,
        pid: process.pid,
        version: PRODUCT_VERSION,
        instance_id: identity.instance_id,
        socket: lock.socket,
        web_origin: web.origin,
        home: paths.root,
        started_at,
      }),
      stop,
    }),
  };
}
