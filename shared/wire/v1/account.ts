/**
 * What the account service answers (docs/protocol.md#account). Members that this version doesn't
 * know are ignored.
 */
import * as z from "zod";
import { imitates } from "../../imitation.ts";
import { withoutInvisible } from "../../invisible.ts";
import { LIMITS } from "../../limits.ts";
import { list, text } from "../../model.ts";
import { fromBase64 } from "./base64.ts";
import { ClientVersion, ForeignId, InstanceId, instanceIdOf, PublicKey, ServiceOrigin } from "./fields.ts";
import { Time } from "./time.ts";

const { link, connect } = LIMITS;

/** One active binding of an instance to a device of the account. */
export const DirectoryEntry = z
  .object({
    instance_id: InstanceId,
    device_id: ForeignId,
    public_key: PublicKey,
    client_version: ClientVersion,
    public_origin: ServiceOrigin.nullable(),
    display_name: text(connect.nameBytes),
    registered_at: Time,
  })
  .refine(
    ({ instance_id: instanceId, public_key: publicKey }) =>
      instanceIdOf(fromBase64(publicKey)!) === instanceId,
    { path: ["public_key"], error: "doesn't belong to the instance" },
  );

/** What is shown of the account: its name there. It authorizes nothing. */
export const AccountLabel = text(connect.nameBytes).nullable();

/** The answer to GET and POST of `/v1/connect/instances`. */
export const Directory = z.object({
  protocol_version: z.literal(1),
  account_id: ForeignId,
  device_id: ForeignId,
  issued_at: Time,
  expires_at: Time,
  instances: list(DirectoryEntry, link.instances),
  account_label: AccountLabel.exactOptional(),
});

const Secret = text(link.tokenCharacters)
  .min(1)
  .regex(/^[\x21-\x7e]+$/u, "isn't a credential");

function isWebAddress(value: string): boolean {
  return URL.canParse(value) && /^https?:$/u.test(new URL(value).protocol);
}

/** A page that a person opens. */
const PageAddress = text(link.addressCharacters).refine(isWebAddress, "isn't a Web address");

/** The answer to `POST /v1/device/code` (RFC 8628). */
export const DeviceCode = z.object({
  device_code: Secret,
  user_code: text(link.userCodeCharacters)
    .min(1)
    .refine((code) => withoutInvisible(code) === code, "isn't a code"),
  verification_uri: PageAddress,
  verification_uri_complete: PageAddress.exactOptional(),
  expires_in: z.int().min(1).max(link.loginSeconds),
  interval: z.int().min(1).max(link.pollSeconds).default(5),
});

/** The answer to `POST /v1/device/token`. */
export const DeviceToken = z.object({
  access_token: Secret,
  token_type: z
    .string()
    .max("bearer".length)
    .regex(/^bearer$/iu, "isn't Bearer"),
  device_id: ForeignId,
  hostname: text(connect.nameBytes).default(""),
});

/** A refusal of the grant while it waits, or for good. */
export const DeviceTokenError = z.object({ error: text(connect.errorCodeCharacters).min(1) });

/** Any other refusal. */
export const AccountRefusal = z.object({
  error: z.object({
    code: text(connect.errorCodeCharacters).regex(/^[a-z][a-z0-9_]*$/u),
    message: text(connect.answerBytes).default(""),
  }),
});

/** The answer to `POST /v1/device/name`. */
export const DeviceName = z.object({ display_name: text(connect.nameBytes) });

/** The answer to `POST /v1/device/disable`. */
export const DeviceDisabled = z.object({ disabled: z.literal(true) });

/** C0 and C1 controls and what changes the direction of text (docs/protocol.md#account). */
// oxlint-disable-next-line no-control-regex
const UNNAMEABLE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** A name of this instance within the account: trimmed, 1-60 UTF-16 code units. */
export const DisplayName = z
  .string()
  .max(connect.nameBytes)
  .transform((name) => name.trim())
  .pipe(
    z
      .string()
      .min(1)
      .max(link.displayNameCharacters)
      .refine((name) => name.isWellFormed() && !UNNAMEABLE.test(name), "contains a control character")
      .refine((name) => !imitates(name), "could be taken for words of svc or of the person"),
  );

export type DirectoryEntry = z.infer<typeof DirectoryEntry>;
export type Directory = z.infer<typeof Directory>;
export type DeviceCode = z.infer<typeof DeviceCode>;
export type DeviceToken = z.infer<typeof DeviceToken>;
