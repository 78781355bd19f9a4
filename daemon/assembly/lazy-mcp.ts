/** MCP over HTTP: heavy, and many Homes never need it. It comes with the first request for it. */
import type { McpHttp } from "../../mcp-server/http.ts";
import type { Clock } from "../../platform/clock.ts";
import { readJson } from "../../platform/http/body.ts";
import type { RequestIds } from "../../platform/http/request-id.ts";
import { tellReplaced } from "../../platform/replaced.ts";
import type { LaunchIdentity } from "../groups/launch-tokens.ts";
import type { ActorCaller, Dispatcher } from "../operations/dispatcher.ts";
import { Lazy } from "./lazy.ts";

/**
 * Holds an Actor's session open until the result is called, `isLost` when nobody read what it was
 * handed; `ended` ends it from here.
 */
export type Lease = (caller: ActorCaller, ended: () => void) => (isLost?: boolean) => void;

interface McpParts {
  clock: Clock;
  requestIds: RequestIds;
  dispatcher: Dispatcher;
  verifyLaunchToken: (token: string) => LaunchIdentity | null;
  lease: Lease;
}

export function lazyMcp(parts: McpParts): Lazy<McpHttp> {
  const { clock, requestIds, dispatcher, verifyLaunchToken, lease } = parts;
  return new Lazy(async () => {
    const { McpHttp } = await import("../../mcp-server/http.ts").catch(tellReplaced);
    return new McpHttp({
      verify(token) {
        const launched = verifyLaunchToken(token);
        if (launched === null) return null;
        const { digest, ...identity } = launched;
        return { ...identity, launch: digest };
      },
      call: async (operation, input, as, signal) =>
        dispatcher.call(operation, input, {
          caller: { kind: "actor", by: as.actor_id, unordered: true, ...as },
          signal,
          requestId: requestIds.next(),
        }),
      lease: (as, ended) => lease({ kind: "actor", by: as.actor_id, ...as }, ended),
      readBody: (asked) => readJson(asked, clock),
      after: (milliseconds, run) => clock.after(milliseconds, run, { background: true }),
    });
  });
}
