/**
 * What the listeners share: callers, sessions that a connection holds open, request ids, MCP over
 * HTTP.
 */

import type { McpHttp } from "../../../mcp-server/http.ts";
import { RequestIds } from "../../../platform/http/request-id.ts";
import { LocalCallers } from "../../http/local/local-caller.ts";
import { LoginLinks } from "../../http/web/login-links.ts";
import type { Messaging } from "../../messaging/messaging.ts";
import type { Dispatcher } from "../../operations/dispatcher.ts";
import type { Given } from "../given.ts";
import type { Lazy } from "../lazy.ts";
import { type Lease, lazyMcp } from "../lazy-mcp.ts";
import type { Service } from "../service.ts";
import type { Access } from "./access.ts";
import type { Credentials } from "./credentials.ts";

export interface Ports {
  callers: LocalCallers;
  links: LoginLinks;
  requestIds: RequestIds;
  lease: Lease;
  mcp: Lazy<McpHttp>;
}

type Parts = Pick<Given, "clock" | "random" | "home"> & {
  access: Access;
  credentials: Credentials;
  messaging: Pick<Messaging, "openSession">;
  operations: Dispatcher;
};

export function create(parts: Parts): Service<Ports> {
  const { clock, random, home, access, credentials, messaging, operations } = parts;
  const verifyLaunchToken = (token: string) => credentials.verifyLaunchToken(token);
  const lease: Lease = (caller, ended) => {
    const held = messaging.openSession(caller, ended);
    return (isLost) => held.release(isLost);
  };
  const requestIds = new RequestIds(random);
  const mcp = lazyMcp({ clock, requestIds, dispatcher: operations, verifyLaunchToken, lease });
  access.launchTokens.onRevoked((launched) => {
    void mcp.settled().then((server) => server?.revoke(launched));
  });
  return {
    part: {
      callers: new LocalCallers({ socketKey: home.lock.key, verifyLaunchToken }),
      links: new LoginLinks({ clock, random }),
      requestIds,
      lease,
      mcp,
    },
    stop: async () => (await mcp.settled())?.close(),
  };
}
