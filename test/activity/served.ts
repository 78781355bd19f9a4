/** The activity service behind a real local socket, with the launch token of one Actor. */
import { join } from "node:path";
import type { Launch } from "../../daemon/activity/launches.ts";
import { type LaunchIdentity, LocalCallers } from "../../daemon/http/local/local-caller.ts";
import { LocalSocket } from "../../daemon/http/local/local-socket.ts";
import type { Dispatcher } from "../../daemon/operations/dispatcher.ts";
import { UNLIMITED } from "../../platform/descriptors.ts";
import { RequestIds } from "../../platform/http/request-id.ts";
import { RealClock } from "../../platform/real-clock.ts";
import { RealNetwork } from "../../platform/real-network.ts";
import { RealRandom } from "../../platform/real-random.ts";
import type { Setting } from "./setting.ts";

export const SOCKET_KEY = "k".repeat(43);
export const TOKEN = "t".repeat(43);

/** What `LaunchTokens` answers for the token of a launch. */
export function verifier(launch: () => Launch): (token: string) => LaunchIdentity | null {
  return (token) => {
    const { group_id: groupId, actor_id: actorId, generation, token_digest: digest } = launch();
    return token === TOKEN ? { group_id: groupId, actor_id: actorId, generation, digest } : null;
  };
}

export interface Served {
  socket: string;
  dispatcher: Dispatcher;
  close(): Promise<void>;
}

export async function serve({ root, dispatcher, log }: Setting, launch: () => Launch): Promise<Served> {
  const network = new RealNetwork();
  const local = new LocalSocket({
    most: { person: 64, actor: 64 },
    descriptors: UNLIMITED,
    dispatcher,
    callers: new LocalCallers({ socketKey: SOCKET_KEY, verifyLaunchToken: verifier(launch) }),
    watch: null,
    requestIds: new RequestIds(new RealRandom()),
    clock: new RealClock(),
    log,
    app: () => Promise.reject(new Error("nothing else is served here")),
    upgrade: (_request, socket) => socket.destroy(),
    lease: () => () => {},
  });
  const socket = join(root, "socket");
  await network.listen(local.server, { path: socket });
  return {
    socket,
    dispatcher,
    close: async () => {
      local.destroy();
      await network.close(local.server);
    },
  };
}
