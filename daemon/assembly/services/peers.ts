/** Sends what waits for other instances. */
import type { connectOperations } from "../../../shared/operations/connect.ts";
import type { Chats } from "../../messaging/group-chat.ts";
import type { Outbound } from "../../peers/outbound.ts";
import { Peers } from "../../peers/peers.ts";
import type { Given } from "../given.ts";
import type { ServiceFor } from "../service.ts";
import type { Groups } from "./groups.ts";

type Parts = Pick<Given, "files" | "clock" | "random" | "log" | "home"> & {
  groups: Groups;
  messaging: Chats;
  outbound: Outbound;
};

export async function create(parts: Parts): Promise<ServiceFor<Peers, typeof connectOperations>> {
  const { home, groups, messaging, ...rest } = parts;
  const { paths, identity } = home;
  const { registry } = groups;
  const peers = await Peers.open({ ...rest, paths, identity, registry, chats: messaging });
  return {
    part: peers,
    handlers: peers.handlers(),
    start: () => peers.start(),
    stop: () => peers.close(),
  };
}
