/** What another instance asks, as a Web backend in another process hands it to the daemon. */
import * as z from "zod";
import { LIMITS } from "../limits.ts";
import { ConnectPeerEnvelope, ConnectPeerResponse } from "../wire/v1/peer.ts";
import { operation } from "./contract.ts";

export const peerOperations = [
  operation({
    name: "connect_peer_receive",
    title: "Take a request of another instance",
    summary:
      "Answers a signed request that another instance sent to a Web backend. The daemon checks proof, grant, digest and Group itself, whatever the backend has checked.",
    input: z.strictObject({
      /** The Group that the operation is for; empty when it names none. */
      group_id: z.string().max(LIMITS.connect.idBytes),
      envelope: ConnectPeerEnvelope,
    }),
    output: z.strictObject({ response: ConnectPeerResponse }),
    callers: ["user"],
    lock: "none",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
] as const;
