/**
 * What people compare before a Direct connection is made: the claims of an invitation, and the six
 * words. It doesn't use the wire's schemas, which would slow the start of every command and page.
 * The daemon checks an invitation before it does anything with it.
 */
import { base58 } from "@scure/base";
import { DIRECT } from "./names.ts";
import type { DirectRelation } from "./operations/direct.ts";
import { fromBase64Url, toBase64 } from "./wire/v1/base64.ts";
import type { DirectEndpoint } from "./wire/v1/direct.ts";
import { directFingerprint } from "./wire/v1/fingerprint.ts";

/** The claims of the instance that created the invitation. */
export interface InvitationClaims {
  id: string;
  /** The address to connect to. */
  address: string;
  expires_at: string;
  host: Pick<DirectEndpoint, "name" | "instance_id" | "title" | "group_id" | "public_key">;
}

export type Sha256 = (bytes: Uint8Array) => Uint8Array;

const END_FIELDS = ["name", "instance_id", "title", "group_id", "public_key"] as const;
/** Multihash and protobuf header before the key in an instance id (ID-022). */
const KEY_OFFSET = 6;

/** Null for text that can't be an invitation. Ignores surrounding white space. */
export function invitationClaims(text: string): InvitationClaims | null {
  const trimmed = text.trim();
  if (!trimmed.startsWith(DIRECT.invitationPrefix)) return null;
  const bytes = fromBase64Url(trimmed.slice(DIRECT.invitationPrefix.length));
  if (bytes === null) return null;
  try {
    const claims = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as InvitationClaims;
    const { id, address, expires_at: expiresAt, host } = claims;
    const shown: unknown[] = [id, address, expiresAt, ...END_FIELDS.map((name) => host[name])];
    return shown.every((value) => typeof value === "string") ? claims : null;
  } catch {
    return null;
  }
}

/** The words that the host of an invitation will see if the instance `joiner` uses it. */
export function invitationWords(sha256: Sha256, { id, host }: InvitationClaims, joiner: string): string[] {
  return directFingerprint(sha256, {
    connection_id: id,
    host_public_key: host.public_key,
    joiner_public_key: keyOf(joiner),
  });
}

/** The words of a relation that has a joiner; null before that. */
export function relationWords(
  sha256: Sha256,
  { id, local, remote, initiated }: Pick<DirectRelation, "id" | "local" | "remote" | "initiated">,
): string[] | null {
  if (remote === null) return null;
  const [host, joiner] = initiated ? [remote, local] : [local, remote];
  return directFingerprint(sha256, {
    connection_id: id,
    host_public_key: host.public_key,
    joiner_public_key: joiner.public_key,
  });
}

/** Base64 of the key that an instance id carries. */
function keyOf(instanceId: string): string {
  return toBase64(base58.decode(instanceId).subarray(KEY_OFFSET));
}
