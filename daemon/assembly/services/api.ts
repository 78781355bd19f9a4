/** The HTTP API of all listeners. */
import { tellReplaced } from "../../../platform/replaced.ts";
import type { Activity } from "../../activity/activity.ts";
import type { Api } from "../../http/api/api.ts";
import type { StreamHub } from "../../http/streams/stream-hub.ts";
import type { Messaging } from "../../messaging/messaging.ts";
import type { Dispatcher } from "../../operations/dispatcher.ts";
import type { Account } from "../../peers/account/account.ts";
import type { Runtimes } from "../../runtimes/runtimes.ts";
import type { Given } from "../given.ts";
import { workbenchDirectory } from "../installation.ts";
import { Lazy } from "../lazy.ts";
import type { Service, Whole } from "../service.ts";
import type { Access } from "./access.ts";
import type { Groups } from "./groups.ts";
import type { Ports } from "./ports.ts";

type Parts = Pick<Given, "clock" | "log"> &
  Pick<Whole, "checks" | "isRunning"> & {
    groups: Groups;
    access: Access;
    account: Pick<Account, "endpoint" | "frames" | "opening">;
    activity: Activity;
    messaging: Messaging;
    runtimes: Runtimes;
    streams: StreamHub;
    operations: Dispatcher;
    ports: Ports;
  };

/** Heavy, and many Homes never need it: it comes with the first request for it. */
export function create(parts: Parts): Service<Lazy<Api>> {
  const { clock, log, checks, isRunning, groups, access, account, activity } = parts;
  const { messaging, runtimes, streams, operations, ports } = parts;
  const { registry } = groups;
  const api = new Lazy(async () => {
    const { createApi } = await import("../../http/api/api.ts").catch(tellReplaced);
    const { links, requestIds, mcp } = ports;
    return createApi({
      clock,
      log,
      links,
      requestIds,
      dispatcher: operations,
      tokens: access.accessTokens,
      sessions: access.sessions,
      hub: streams,
      files: messaging,
      presentations: messaging,
      terminals: runtimes,
      activity,
      peers: account.endpoint,
      framing: account.opening,
      frames: account.frames,
      metrics: {
        operations: () => operations.counts,
        streams: () => streams.size,
        groups: () => registry.list().length,
        checks,
      },
      isReady: isRunning,
      workbench: workbenchDirectory(),
      mcp: async (...asked) => (await mcp.get()).handle(...asked),
    });
  });
  registry.onChange(({ group_id: groupId, what }) => {
    if (what === "created") api.made?.groupCreated(groupId);
  });
  return { part: api };
}
