/**
 * What the account service answers about connections to Groups of other accounts
 * (docs/protocol.md#account).
 */
import * as z from "zod";
import { LIMITS } from "../../limits.ts";
import { list } from "../../model.ts";
import { AccountLabel, DirectoryEntry } from "./account.ts";
import { ForeignId, Generation, ServiceOrigin, Title, Uuid, WireGroupId } from "./fields.ts";
import { Time } from "./time.ts";

/** One end of a connection between Groups of two accounts. */
export const GroupLinkEnd = z.object({
  account_id: ForeignId,
  account_label: AccountLabel.exactOptional(),
  instance: DirectoryEntry,
  group_id: WireGroupId,
  group_generation: Generation,
  /** As it was when it was selected. */
  title: Title,
});

/** `source` is the end that invited. */
export const GroupLink = z.object({
  id: Uuid,
  source: GroupLinkEnd,
  target: GroupLinkEnd,
  connected_at: Time.exactOptional(),
});

/** The answer to GET and POST of `/v1/connect/groups`. */
export const GroupLinks = z.object({
  protocol_version: z.literal(1),
  account_origin: ServiceOrigin,
  account_id: ForeignId,
  device_id: ForeignId,
  issued_at: Time,
  expires_at: Time,
  links: list(GroupLink, LIMITS.link.groupLinks),
});

/** The body of POST `/v1/connect/groups`: connections whose own Group is gone or replaced. */
export const GroupInvalidation = z.strictObject({
  invalidated: z.array(Uuid).max(LIMITS.account.groups.invalidated),
});

export type GroupLinkEnd = z.infer<typeof GroupLinkEnd>;
export type GroupLink = z.infer<typeof GroupLink>;
export type GroupLinks = z.infer<typeof GroupLinks>;
