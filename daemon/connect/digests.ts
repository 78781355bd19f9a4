/** Digests of what goes between instances (protocol.md, sections 4 and 5): SHA-256 in lowercase hex over JSON in declared field order. */
import { createHash } from "node:crypto";
import { ConnectCancellation, ConnectMessage } from "../../shared/wire/message.ts";
import { type ConnectPeerAuthorization, ConnectPeerOperation } from "../../shared/wire/peer.ts";
import type { ConnectGroupTicket } from "../../shared/wire/proofs.ts";
import { requestStatement, ticketStatement, type Unsigned } from "../../shared/wire/signing.ts";

export function sha256Hex(content: Uint8Array | string): string {
  return createHash("sha256").update(content).digest("hex");
}

/** `message_sha256` of a message, whatever order its members are in. */
export function messageDigest(message: ConnectMessage): string {
  return sha256Hex(JSON.stringify(ConnectMessage.parse(message)));
}

/** What a receipt for a cancellation carries as `message_sha256`. */
export function cancellationDigest(cancellation: ConnectCancellation): string {
  return sha256Hex(JSON.stringify(ConnectCancellation.parse(cancellation)));
}

/** `operation_sha256`, whatever order the operation's members are in. */
export function operationDigest(operation: ConnectPeerOperation): string {
  return sha256Hex(JSON.stringify(ConnectPeerOperation.parse(operation)));
}

/** `request_sha256`: of the bytes that the request's signature covers. */
export function requestDigest(proof: Unsigned<ConnectPeerAuthorization>): string {
  return sha256Hex(requestStatement.material(proof));
}

/** `ticket_sha256` of a group check. */
export function ticketDigest(ticket: Unsigned<ConnectGroupTicket>): string {
  return sha256Hex(ticketStatement.material(ticket));
}
