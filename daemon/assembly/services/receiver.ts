/**
 * Answers what other instances ask. It is closed by the way that their requests come, before that
 * way closes.
 */
import type { peerOperations } from "../../../shared/operations/connect-peer.ts";
import type { Chats } from "../../messaging/group-chat.ts";
import type { Outbound } from "../../peers/outbound.ts";
import { Receiver } from "../../peers/receiving/receiver.ts";
import { ReceiverQuota } from "../../peers/receiving/receiver-quota.ts";
import type { AdmittingReceiver } from "../../peers/transport.ts";
import type { Given } from "../given.ts";
import type { ServiceFor } from "../service.ts";
import type { Groups } from "./groups.ts";

export interface Receiving extends AdmittingReceiver {
  /** What the other end of a connection may still write here. */
  allowance(connectionId: string): { records: number; bytes: number };
  /** Refuses later requests. Resolves when running ones have their answers. */
  close(): Promise<void>;
}

type Parts = Pick<Given, "clock" | "log" | "home"> & {
  groups: Groups;
  messaging: Chats;
  outbound: Outbound;
};

export function create({
  clock,
  log,
  home,
  groups,
  messaging,
  outbound,
}: Parts): ServiceFor<Receiving, typeof peerOperations> {
  const quota = new ReceiverQuota(clock);
  const receiver = new Receiver({
    clock,
    log,
    identity: home.identity,
    registry: groups.registry,
    chats: messaging,
    authorities: outbound.authorities,
    quota,
  });
  return {
    part: {
      receive: (request, arrival) => receiver.receive(request, arrival),
      refuse: (broken, arrival) => receiver.refuse(broken, arrival),
      admit: (proof, arrival) => receiver.admit(proof, arrival),
      allowance: (connectionId) => quota.left(connectionId),
      close: () => receiver.close(),
    },
    handlers: {
      connect_peer_receive: async ({ group_id: groupId, envelope }) => ({
        response: await receiver.receiveFor(groupId, envelope),
      }),
    },
  };
}
