/**
 * What is signed, and how (docs/protocol.md#signatures): for every statement, its schema and the
 * JSON array whose UTF-8 bytes are signed with the instance key. The first member names the kind
 * and the version, so that no signature can serve for anything else.
 * The contract is published whole, with what only an account service exchanges.
 */
import type * as z from "zod";
import { SIGNING_DOMAINS } from "../../names.ts";
import { isDirect } from "./fields.ts";
import { ConnectPeerAuthorization, ConnectPeerResponse } from "./peer.ts";
import {
  ConnectFrameProof,
  ConnectGroupCheck,
  ConnectGroupTicket,
  ConnectIdentityProof,
  Registration,
} from "./proofs.ts";
import { sortedJson } from "./sorted-json.ts";

const encoder = new TextEncoder();

export type Unsigned<Proof> = Omit<Proof, "signature">;

/**
 * A kind of signed object. `material` returns the bytes to sign. They don't depend on the order of
 * members.
 */
export interface Statement<Proof extends { signature: string }> {
  schema: z.ZodType<Proof>;
  material(fields: Unsigned<Proof>): Uint8Array;
}

function bytesOf(array: readonly (string | null)[]): Uint8Array {
  return encoder.encode(JSON.stringify(array));
}

/**
 * A registration leaves out what the account service knows from the request: its own origin and the
 * caller's device.
 */
export function registrationStatement(known: {
  account_origin: string;
  device_id: string;
}): Statement<Registration> {
  return {
    schema: Registration,
    material: ({
      instance_id: instanceId,
      public_key: publicKey,
      client_version: clientVersion,
      public_origin: publicOrigin,
      issued_at: issuedAt,
    }) =>
      bytesOf([
        SIGNING_DOMAINS.registration,
        known.account_origin,
        known.device_id,
        instanceId,
        publicKey,
        clientVersion,
        publicOrigin,
        issuedAt,
      ]),
  };
}

export const identityStatement: Statement<ConnectIdentityProof> = {
  schema: ConnectIdentityProof,
  material: (proof) =>
    bytesOf([
      SIGNING_DOMAINS.identity,
      proof.instance_id,
      proof.device_id,
      proof.public_origin,
      proof.client_version,
      proof.nonce,
      proof.expires_at,
    ]),
};

export const frameStatement: Statement<ConnectFrameProof> = {
  schema: ConnectFrameProof,
  material: (proof) =>
    bytesOf([
      SIGNING_DOMAINS.frame,
      proof.account_origin,
      proof.source_instance_id,
      proof.source_device_id,
      proof.target_instance_id,
      proof.target_device_id,
      proof.parent_origin,
      proof.frame_id,
      proof.nonce,
      proof.issued_at,
      proof.expires_at,
    ]),
};

function requestDomain(connectionId: string | undefined): string {
  if (connectionId === undefined) return SIGNING_DOMAINS.accountRequest;
  return isDirect(connectionId) ? SIGNING_DOMAINS.directRequest : SIGNING_DOMAINS.externalRequest;
}

/**
 * The digest of these bytes is a response's `request_sha256`. Fields that Direct leaves out are
 * signed as empty strings.
 */
export const requestStatement: Statement<ConnectPeerAuthorization> = {
  schema: ConnectPeerAuthorization,
  material: (proof) =>
    bytesOf([
      requestDomain(proof.connection_id),
      proof.account_origin ?? "",
      proof.account_id ?? "",
      proof.source_instance_id,
      proof.source_device_id ?? "",
      proof.target_instance_id,
      proof.target_device_id ?? "",
      proof.request_id,
      proof.issued_at,
      proof.expires_at,
      proof.operation_sha256,
      ...(proof.connection_id === undefined ? [] : [proof.connection_id]),
    ]),
};

/** The result is signed as received, with its members sorted, including unknown ones. */
export const responseStatement: Statement<ConnectPeerResponse> = {
  schema: ConnectPeerResponse,
  material: ({ request_id: requestId, request_sha256: requestSha256, result }) =>
    encoder.encode(sortedJson([SIGNING_DOMAINS.peerResponse, requestId, requestSha256, result])),
};

/** The digest of these bytes is a group check's `ticket_sha256`. */
export const ticketStatement: Statement<ConnectGroupTicket> = {
  schema: ConnectGroupTicket,
  material: (proof) =>
    bytesOf([
      SIGNING_DOMAINS.ticket,
      proof.account_origin,
      proof.account_id,
      proof.instance_id,
      proof.instance_name,
      proof.device_id,
      proof.group_id,
      proof.group_generation,
      proof.title,
      proof.issued_at,
      proof.expires_at,
    ]),
};

export const groupCheckStatement: Statement<ConnectGroupCheck> = {
  schema: ConnectGroupCheck,
  material: (proof) =>
    bytesOf([SIGNING_DOMAINS.groupCheck, proof.ticket_sha256, proof.nonce, proof.title, proof.expires_at]),
};
