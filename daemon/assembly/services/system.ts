/** Operations on the daemon itself. */
import type { systemOperations } from "../../../shared/operations/system.ts";
import { PRODUCT_VERSION } from "../../../shared/version.ts";
import { systemHandlers } from "../../operations/system-handlers.ts";
import type { Given } from "../given.ts";
import type { ServiceFor, Whole } from "../service.ts";

type Parts = Pick<Given, "home" | "stop"> & Pick<Whole, "checks" | "look">;

export function create(parts: Parts): ServiceFor<null, typeof systemOperations> {
  const { home, stop, checks, look } = parts;
  const { paths, lock, identity } = home;
  return {
    part: null,
    handlers: systemHandlers({
      checks,
      look,
      status: () => ({
        running: true,
        pid: process.pid,
        version: PRODUCT_VERSION,
        instance_id: identity.instance_id,
        socket: lock.socket,
        web_origin: lock.address.web_origin,
        home: paths.root,
        started_at: lock.address.started_at,
      }),
      stop,
    }),
  };
}
