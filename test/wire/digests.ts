/** Digests of what goes between instances, whatever order its members are in. */
import { contentOf, operationDigest as digestOf } from "../../daemon/peers/wire/digests.ts";
import { ConnectCancellation, ConnectMessage } from "../../shared/wire/v1/message.ts";
import { ConnectPeerOperation } from "../../shared/wire/v1/peer.ts";

export function messageDigest(message: ConnectMessage): string {
  return contentOf(ConnectMessage.parse(message)).sha256;
}

export function cancellationDigest(cancellation: ConnectCancellation): string {
  return contentOf(ConnectCancellation.parse(cancellation)).sha256;
}

export function operationDigest(operation: ConnectPeerOperation): Promise<string> {
  return digestOf(ConnectPeerOperation.parse(operation));
}
