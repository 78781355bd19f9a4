/**
 * Signed statements other than requests (docs/protocol.md#signatures). Each has the fields of its
 * signing array in the array's order, and the signature last. Only a registration leaves out what
 * its receiver knows.
 */
import * as z from "zod";
import { LIMITS } from "../../limits.ts";
import { text } from "../../model.ts";
import {
  ClientVersion,
  Digest,
  ForeignId,
  Generation,
  InstanceId,
  PageOrigin,
  PublicKey,
  ServiceOrigin,
  Signature,
  Title,
  Uuid,
  WireGroupId,
} from "./fields.ts";
import { EmittedTime, Time } from "./time.ts";

/**
 * Body of POST /v1/connect/instances. Account origin and device id are signed too, and known from
 * the request.
 */
export const Registration = z.strictObject({
  instance_id: InstanceId,
  public_key: PublicKey,
  client_version: ClientVersion,
  public_origin: ServiceOrigin.nullable(),
  issued_at: EmittedTime,
  signature: Signature,
});

/** Answer to an identity challenge. */
export const ConnectIdentityProof = z.strictObject({
  instance_id: InstanceId,
  device_id: ForeignId,
  public_origin: ServiceOrigin.nullable(),
  client_version: ClientVersion,
  nonce: Uuid,
  expires_at: Time,
  signature: Signature,
});

/** Lets one page embed the target's Workbench. It signs no one in. */
export const ConnectFrameProof = z.strictObject({
  account_origin: ServiceOrigin,
  source_instance_id: InstanceId,
  source_device_id: ForeignId,
  target_instance_id: InstanceId,
  target_device_id: ForeignId,
  parent_origin: PageOrigin,
  frame_id: Uuid,
  nonce: Uuid,
  issued_at: Time,
  expires_at: Time,
  signature: Signature,
});

/** A member's selection of a Group for an external connection. */
export const ConnectGroupTicket = z.strictObject({
  account_origin: ServiceOrigin,
  account_id: ForeignId,
  instance_id: InstanceId,
  instance_name: text(LIMITS.connect.nameBytes),
  device_id: ForeignId,
  group_id: WireGroupId,
  group_generation: Generation,
  title: Title,
  issued_at: Time,
  expires_at: Time,
  signature: Signature,
});

/** An instance's word that a ticket's Group is still the one selected. */
export const ConnectGroupCheck = z.strictObject({
  ticket_sha256: Digest,
  nonce: Uuid,
  title: Title,
  expires_at: Time,
  signature: Signature,
});

export type Registration = z.infer<typeof Registration>;
export type ConnectIdentityProof = z.infer<typeof ConnectIdentityProof>;
export type ConnectFrameProof = z.infer<typeof ConnectFrameProof>;
export type ConnectGroupTicket = z.infer<typeof ConnectGroupTicket>;
export type ConnectGroupCheck = z.infer<typeof ConnectGroupCheck>;
