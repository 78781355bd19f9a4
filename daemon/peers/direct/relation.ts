/**
 * One Direct relation and the document that holds them all (docs/protocol.md#daemon-files,
 * docs/protocol.md#direct).
 */
import * as z from "zod";
import { LIMITS } from "../../../shared/limits.ts";
import { label, Sha256 } from "../../../shared/model.ts";
import { DirectListener } from "../../../shared/operations/direct.ts";
import { DirectEndpoint, DirectInvitation, DirectState } from "../../../shared/wire/v1/direct.ts";
import { DirectId } from "../../../shared/wire/v1/fields.ts";
import { milliseconds } from "../../../shared/wire/v1/time.ts";

export const Relation = z.strictObject({
  id: DirectId,
  local: DirectEndpoint,
  /** Null on the inviting side until a peer shows the invitation. */
  remote: DirectEndpoint.nullable(),
  state: DirectState,
  created_at: z.string(),
  expires_at: z.string(),
  /** On the joining side only; it holds the secret. */
  invitation: DirectInvitation.nullable(),
  secret_sha256: Sha256,
});
export type Relation = z.infer<typeof Relation>;

export const DirectDocument = z.strictObject({
  /** Ids of removed relations, newest last. */
  retired: z.array(DirectId).max(LIMITS.direct.retired).optional(),
  display_name: label(LIMITS.direct.nameBytes),
  listener: DirectListener.nullable(),
  relations: z.array(Relation).max(LIMITS.direct.relations),
});
export type DirectDocument = z.infer<typeof DirectDocument>;

/** Whether this side accepted the other's invitation: it dials, and the other side decides. */
export function isJoined(relation: Relation): boolean {
  return relation.invitation !== null;
}

export function isTerminal({ state }: Relation): boolean {
  return state === "expired" || state === "revoked";
}

/** The time for approval is over. It means nothing for an approved one (DRC-040). */
export function isOverdue(relation: Relation, now: number): boolean {
  return now >= milliseconds(relation.expires_at);
}

/** The same instance, key, Group and Group generation; names don't count. */
export function isSameEnd(one: DirectEndpoint, other: DirectEndpoint): boolean {
  return (
    one.instance_id === other.instance_id &&
    one.public_key === other.public_key &&
    one.group_id === other.group_id &&
    one.generation === other.generation
  );
}

/** The same two Groups, whatever their generations. */
export function isPair(
  relation: Relation,
  localGroupId: string,
  remote: { instance_id: string; group_id: string },
): boolean {
  return (
    relation.local.group_id === localGroupId &&
    relation.remote?.instance_id === remote.instance_id &&
    relation.remote.group_id === remote.group_id
  );
}
