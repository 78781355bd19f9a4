/** Direct connections on the wire: invitation, hello and frames (docs/protocol.md#direct). */
import * as z from "zod";
import { LIMITS } from "../../limits.ts";
import { text } from "../../model.ts";
import { DIRECT } from "../../names.ts";
import { parseStrictJsonBytes } from "../../strict-json.ts";
import { fromBase64, fromBase64Url, toBase64Url } from "./base64.ts";
import {
  ClientVersion,
  DirectId,
  Generation,
  InstanceId,
  instanceIdOf,
  PublicKey,
  Uuid,
  WireGroupId,
} from "./fields.ts";
import { ConnectPeerAnswer, ConnectPeerEnvelope } from "./peer.ts";
import { Time } from "./time.ts";

/**
 * One end of a relation. The receiver checks whether the key may be used (`VerifyingKey.admit`).
 */
export const DirectEndpoint = z
  .strictObject({
    instance_id: InstanceId,
    public_key: PublicKey,
    client_version: ClientVersion,
    /** As claimed by its owner. */
    name: text(LIMITS.direct.nameBytes),
    group_id: WireGroupId,
    generation: Generation,
    title: text(LIMITS.direct.titleBytes),
  })
  .refine(
    ({ instance_id: instanceId, public_key: publicKey }) =>
      instanceIdOf(fromBase64(publicKey)!) === instanceId,
    {
      path: ["public_key"],
      error: "doesn't belong to the instance",
    },
  );

const HOST_AND_PORT = /^(?:\[([0-9A-Fa-f:.]+)\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?):([1-9]\d{0,4})$/u;

function isAddress(value: string): boolean {
  const match = HOST_AND_PORT.exec(value);
  if (match === null || Number(match[2]) > 65_535) return false;
  return match[1] === undefined || URL.canParse(`http://[${match[1]}]`);
}

/** `host:port` with a name, an IPv4 or a bracketed IPv6 address. */
export const DirectAddress = text(LIMITS.direct.addressBytes).refine(isAddress, "isn't host:port");

/** 32 random bytes that let one peer ask for approval. */
const Secret = z
  .string()
  .max(64)
  .regex(/^[0-9a-f]{64}$/u, "isn't 64 hex digits");

export const DirectInvitation = z.strictObject({
  v: z.literal(1),
  id: DirectId,
  address: DirectAddress,
  host: DirectEndpoint,
  expires_at: Time,
  secret: Secret,
});

export const DirectState = z.enum(["invited", "pending", "active", "expired", "revoked"]);

/** The joiner's first frame; the answer is only a DirectState. */
export const DirectHello = z.strictObject({
  id: DirectId,
  secret: Secret,
  endpoint: DirectEndpoint,
});

export const DirectFrame = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("request"), request: ConnectPeerEnvelope }),
  z.strictObject({ kind: z.literal("response"), id: Uuid, response: ConnectPeerAnswer }),
  z.strictObject({ kind: z.literal("ping") }),
]);

/** Text that one person gives to another: prefix and base64url of the JSON. Secret. */
export function invitationText(invitation: DirectInvitation): string {
  return DIRECT.invitationPrefix + toBase64Url(new TextEncoder().encode(JSON.stringify(invitation)));
}

/**
 * The invitation in a text, ignoring surrounding white space; null if it isn't one. No part of the
 * text goes into an error.
 */
export function parseInvitationText(value: string): DirectInvitation | null {
  const trimmed = value.trim();
  if (trimmed.length > LIMITS.direct.invitationCharacters || !trimmed.startsWith(DIRECT.invitationPrefix))
    return null;
  const bytes = fromBase64Url(trimmed.slice(DIRECT.invitationPrefix.length));
  if (bytes === null) return null;
  try {
    return DirectInvitation.parse(parseStrictJsonBytes(bytes));
  } catch {
    return null;
  }
}

export type DirectEndpoint = z.infer<typeof DirectEndpoint>;
export type DirectInvitation = z.infer<typeof DirectInvitation>;
export type DirectState = z.infer<typeof DirectState>;
export type DirectHello = z.infer<typeof DirectHello>;
export type DirectFrame = z.infer<typeof DirectFrame>;
