/**
 * Digests of what goes between instances (docs/protocol.md#signatures,
 * docs/protocol.md#peer-operations): SHA-256 in lowercase hex over JSON in declared field order.
 */
import { createHash } from "node:crypto";
import * as z from "zod";
import { BlobBytes } from "../../../shared/wire/v1/blob-bytes.ts";
import { inDeclaredOrder } from "../../../shared/wire/v1/declared-order.ts";
import type { ConnectCancellation, ConnectMessage } from "../../../shared/wire/v1/message.ts";
import {
  type ConnectBlob,
  type ConnectPeerAuthorization,
  type ConnectPeerOperation,
  schemaOf,
} from "../../../shared/wire/v1/peer.ts";
import { requestStatement, type Unsigned } from "../../../shared/wire/v1/signing.ts";
import { encoded, PIECE_CHARACTERS } from "./base64-pieces.ts";

export function sha256Hex(content: Uint8Array | string): string {
  return createHash("sha256").update(content).digest("hex");
}

/**
 * A message or cancellation as its schema returned it, with its JSON and the digest in its receipt.
 */
export interface Content<Value extends ConnectMessage | ConnectCancellation> {
  value: Value;
  json: string;
  sha256: string;
}

/** Its members must be in declared order, as the schema returns them. */
export function contentOf<Value extends ConnectMessage | ConnectCancellation>(value: Value): Content<Value> {
  const json = JSON.stringify(value);
  return { value, json, sha256: sha256Hex(json) };
}

/**
 * Whether a proof's `operation_sha256` covers an operation that its schema refuses: its JSON with
 * the members as they arrived, or in declared order.
 */
export async function coversRefused(sha256: string, operation: unknown): Promise<boolean> {
  if ((await digestAsIs(operation)) === sha256) return true;
  const schema = schemaOf(operation);
  return schema !== undefined && (await digestAsIs(inDeclaredOrder(schema, operation))) === sha256;
}

async function digestAsIs(operation: unknown): Promise<string> {
  const parts = DeliverParts.safeParse(operation);
  if (!parts.success) return sha256Hex(JSON.stringify(operation));
  return deliverDigest(JSON.stringify(parts.data.message), parts.data.blobs);
}

/** A `deliver` whose files can be hashed in pieces, whatever is wrong with it. */
const DeliverParts = z.strictObject({
  op: z.literal("deliver"),
  message: z.record(z.string(), z.unknown()),
  blobs: z.array(
    z.strictObject({ sha256: z.string(), base64: z.union([z.string(), z.instanceof(BlobBytes)]) }),
  ),
});

/** This many characters of a file's base64 are hashed before yielding to the event loop. */
const SLICE_CHARACTERS = 256 * 1024;
const NOT_BASE64 = /[^A-Za-z0-9+/=]/u;

/**
 * `operation_sha256` of an operation as its schema returned it. `json` is that of its message or
 * cancellation, if known. Files are hashed in pieces, so that 14 MiB block nothing.
 */
export async function operationDigest(operation: ConnectPeerOperation, json?: string): Promise<string> {
  if (operation.op === "cancel")
    return sha256Hex(`{"op":"cancel","cancellation":${json ?? JSON.stringify(operation.cancellation)}}`);
  if (operation.op !== "deliver") return sha256Hex(JSON.stringify(operation));
  return deliverDigest(json ?? JSON.stringify(operation.message), operation.blobs);
}

async function deliverDigest(message: string, blobs: readonly ConnectBlob[]): Promise<string> {
  const hash = createHash("sha256");
  hash.update(`{"op":"deliver","message":${message},"blobs":[`);
  let hashed = 0;
  for (const [at, { sha256, base64 }] of blobs.entries()) {
    hash.update(`${at === 0 ? "" : ","}{"sha256":${JSON.stringify(sha256)},"base64":"`);
    for (const text of textsOf(base64)) {
      hash.update(text, "latin1");
      hashed += text.length;
      if (hashed < SLICE_CHARACTERS) continue;
      hashed = 0;
      await new Promise((resolve) => setImmediate(resolve));
    }
    hash.update('"}');
  }
  return hash.update("]}").digest("hex");
}

/** A file's base64 as written in JSON, in pieces of Latin-1. */
function* textsOf(base64: ConnectBlob["base64"]): Generator<string> {
  if (base64 instanceof BlobBytes) {
    yield* encoded(base64);
    return;
  }
  for (let from = 0; from < base64.length; from += PIECE_CHARACTERS) {
    const text = base64.slice(from, from + PIECE_CHARACTERS);
    // JSON doesn't change base64. Anything else is escaped as in the whole.
    yield NOT_BASE64.test(text) ? Buffer.from(JSON.stringify(text).slice(1, -1)).toString("latin1") : text;
  }
}

/** `request_sha256`: of the bytes that the request's signature covers. */
export function requestDigest(proof: Unsigned<ConnectPeerAuthorization>): string {
  return sha256Hex(requestStatement.material(proof));
}
