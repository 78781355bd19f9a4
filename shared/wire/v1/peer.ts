/**
 * Requests between instances and their answers (docs/protocol.md#signatures,
 * docs/protocol.md#peer-operations).
 */
import * as z from "zod";
import { LIMITS } from "../../limits.ts";
import { list, text } from "../../model.ts";
import { BlobBytes } from "./blob-bytes.ts";
import {
  ConnectionId,
  Digest,
  ForeignId,
  InstanceId,
  isDirect,
  ServiceOrigin,
  Signature,
  Title,
  Uuid,
  WireGroupId,
} from "./fields.ts";
import { CatalogActor, ConnectCancellation, ConnectMessage, Receipt } from "./message.ts";
import { Time } from "./time.ts";

const { connect } = LIMITS;

/**
 * The signed header of a request: in the header SVC-Connect-Proof, or next to the operation in a
 * Direct frame. For an external connection, `account_id` is the account that initiated it, in
 * either direction.
 */
export const ConnectPeerAuthorization = z
  .strictObject({
    connection_id: ConnectionId.exactOptional(),
    account_origin: ServiceOrigin.exactOptional(),
    account_id: ForeignId.exactOptional(),
    source_instance_id: InstanceId,
    source_device_id: ForeignId.exactOptional(),
    target_instance_id: InstanceId,
    target_device_id: ForeignId.exactOptional(),
    request_id: Uuid,
    issued_at: Time,
    expires_at: Time,
    operation_sha256: Digest,
    signature: Signature,
  })
  .refine(
    (proof) => {
      const account = [
        proof.account_origin,
        proof.account_id,
        proof.source_device_id,
        proof.target_device_id,
      ];
      return account.every((field) => (field === undefined) === isDirect(proof.connection_id));
    },
    { error: "lacks account or device fields, or has them over a Direct connection" },
  );

/** 10 MiB as base64. */
const BLOB_CHARACTERS = Math.ceil(connect.blobBytes / 3) * 4;

/**
 * A file's bytes. A text is checked and decoded where its digest is computed. JSON has only texts.
 */
export const ConnectBlob = z.strictObject({
  sha256: Digest,
  base64: z.union([
    z.string().max(BLOB_CHARACTERS),
    z.instanceof(BlobBytes).refine(({ bytes }) => bytes <= connect.blobBytes),
  ]),
});

/**
 * Without a connection, `source_group_id` may be empty: the daemon looks for itself in its own
 * account (PEER-016).
 */
const CatalogOperation = z
  .strictObject({
    op: z.literal("catalog"),
    connection_id: ConnectionId.exactOptional(),
    source_group_id: z.union([z.literal(""), WireGroupId]),
    target_group_id: WireGroupId.nullable().default(null),
    after: text(connect.cursorBytes).nullable().default(null),
  })
  .refine(
    ({ connection_id: connectionId, source_group_id: sourceGroupId, target_group_id: targetGroupId }) =>
      connectionId === undefined || (sourceGroupId !== "" && targetGroupId !== null),
    { error: "doesn't name both Groups, as a request over a connection must" },
  );

const DeliverOperation = z.strictObject({
  op: z.literal("deliver"),
  message: ConnectMessage,
  blobs: list(ConnectBlob, LIMITS.message.attachments),
});

const ReceiptOperation = z.strictObject({
  op: z.literal("receipt"),
  connection_id: ConnectionId.exactOptional(),
  source_group_id: WireGroupId,
  target_group_id: WireGroupId,
  delivery_id: Uuid,
  message_sha256: Digest,
});

const CancelOperation = z.strictObject({
  op: z.literal("cancel"),
  cancellation: ConnectCancellation,
});

export const ConnectPeerOperation = z.discriminatedUnion("op", [
  CatalogOperation,
  DeliverOperation,
  ReceiptOperation,
  CancelOperation,
]);

/** The schema of an operation by its `op`; undefined for anything but a known one. */
export function schemaOf(operation: unknown): (typeof ConnectPeerOperation.options)[number] | undefined {
  if (typeof operation !== "object" || operation === null || !("op" in operation)) return undefined;
  return ConnectPeerOperation.options.find(({ shape }) => shape.op.value === operation.op);
}

/**
 * What an operation's contents break, as a sentence without a word of the peer's; null for an
 * operation that is right, or that this version doesn't know (PEER-058).
 */
export function contentProblem(operation: unknown): string | null {
  const checked = schemaOf(operation)?.safeParse(operation);
  if (checked === undefined || checked.success) return null;
  const [issue] = checked.error.issues;
  if (issue === undefined || issue.code === "unrecognized_keys") return "It has members that aren't known.";
  return issue.path.length === 0 ? `It ${issue.message}.` : `'${issue.path.join(".")}' ${issue.message}.`;
}

/** The connection that an operation names; undefined within an account. */
export function connectionOf(operation: ConnectPeerOperation): string | undefined {
  if (operation.op === "deliver") return operation.message.connection_id;
  if (operation.op === "cancel") return operation.cancellation.connection_id;
  return operation.connection_id;
}

/** The Groups that an operation names. A catalog's source may be empty and its target null. */
export function groupsOf(operation: ConnectPeerOperation): { source: string; target: string | null } {
  if (operation.op === "catalog" || operation.op === "receipt") {
    return { source: operation.source_group_id, target: operation.target_group_id };
  }
  const { source, target } = operation.op === "deliver" ? operation.message : operation.cancellation;
  return { source: source.group_id, target: target.group_id };
}

/** Request and its proof, as `connect_peer_receive` and a Direct frame carry them. */
export const ConnectPeerEnvelope = z.strictObject({
  proof: ConnectPeerAuthorization,
  operation: ConnectPeerOperation,
});

const ERROR_TOO_LONG = `is longer than ${connect.errorCharacters} characters`;

const WireErrorBody = z.strictObject({
  code: text(connect.errorCodeCharacters).min(1),
  message: z
    .string()
    .max(2 * connect.errorCharacters, { error: ERROR_TOO_LONG, abort: true })
    .refine((value) => value.isWellFormed() && Array.from(value).length <= connect.errorCharacters, {
      error: ERROR_TOO_LONG,
    }),
});

/**
 * A signed answer. `result.result` stays as received: the signature covers it with its members
 * sorted, including unknown ones.
 */
export const ConnectPeerResponse = z.strictObject({
  request_id: Uuid,
  request_sha256: Digest,
  result: z.discriminatedUnion("ok", [
    z.strictObject({ ok: z.literal(true), result: z.unknown() }),
    z.strictObject({ ok: z.literal(false), error: WireErrorBody }),
  ]),
  signature: Signature,
});

/**
 * An answer in the daemon's envelope, as a Direct frame and `POST /connect/peer` carry it. Unlisted
 * members such as `v` are ignored. A request that isn't authenticated is refused without a
 * signature. That says nothing about the outcome of an earlier one.
 */
export const ConnectPeerAnswer = z.discriminatedUnion("ok", [
  z.object({ ok: z.literal(true), result: z.object({ response: ConnectPeerResponse }) }),
  z.object({
    ok: z.literal(false),
    error: z.object({
      code: text(connect.errorCodeCharacters).min(1),
      message: text(connect.answerBytes),
      details: z.record(z.string(), z.unknown()).default({}),
    }),
  }),
]);

/** Inner result of deliver, receipt and cancel. */
export const ReceiptResult = z.strictObject({
  receipt: Receipt.nullable(),
  duplicate: z.boolean().exactOptional(),
});

/**
 * A Group of a catalog page. It has no more Actors than a local Group may have
 * (docs/protocol.md#peer-operations).
 */
export const CatalogGroup = z.object({
  group_id: WireGroupId,
  title: Title,
  actors: list(CatalogActor, LIMITS.group.actors),
});

/**
 * Inner result of catalog. Groups are in ascending order of their ids. Unknown fields are ignored.
 */
export const CatalogPage = z
  .object({
    groups: list(CatalogGroup, connect.catalog.groups),
    next: text(connect.cursorBytes).min(1).nullable(),
  })
  .refine(
    ({ groups }) =>
      groups.every(({ group_id: groupId }, index) => index === 0 || groups[index - 1]!.group_id < groupId),
    {
      path: ["groups"],
      error: "isn't in ascending order",
    },
  );

export type ConnectPeerAuthorization = z.infer<typeof ConnectPeerAuthorization>;
export type ConnectBlob = z.infer<typeof ConnectBlob>;
export type ConnectPeerOperation = z.infer<typeof ConnectPeerOperation>;
export type ConnectPeerEnvelope = z.infer<typeof ConnectPeerEnvelope>;
export type ConnectPeerResponse = z.infer<typeof ConnectPeerResponse>;
export type ConnectPeerAnswer = z.infer<typeof ConnectPeerAnswer>;
export type ReceiptResult = z.infer<typeof ReceiptResult>;
export type CatalogGroup = z.infer<typeof CatalogGroup>;
export type CatalogPage = z.infer<typeof CatalogPage>;
