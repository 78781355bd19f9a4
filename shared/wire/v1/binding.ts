/**
 * What must agree within one request before authority is checked (docs/protocol.md#answers,
 * docs/protocol.md#authority).
 */

import type { ConnectMessage } from "./message.ts";
import {
  type ConnectBlob,
  type ConnectPeerAuthorization,
  type ConnectPeerOperation,
  connectionOf,
} from "./peer.ts";

/**
 * Null if proof and operation name the same connection, account, instances and devices; else what
 * differs.
 */
export function bindingProblem(
  proof: ConnectPeerAuthorization,
  operation: ConnectPeerOperation,
): string | null {
  if (proof.source_instance_id === proof.target_instance_id) return "source and target are the same instance";
  if (connectionOf(operation) !== proof.connection_id) return "the operation names another connection";
  if (operation.op === "catalog" || operation.op === "receipt") return null;
  const work = operation.op === "deliver" ? operation.message : operation.cancellation;
  if (work.account_origin !== proof.account_origin || work.account_id !== proof.account_id) {
    return "the operation names another account";
  }
  const { source, target } = work;
  if (source.instance_id !== proof.source_instance_id || source.device_id !== proof.source_device_id) {
    return "the operation comes from another instance or device";
  }
  if (target.instance_id !== proof.target_instance_id || target.device_id !== proof.target_device_id) {
    return "the operation is for another instance or device";
  }
  return null;
}

/**
 * Null if the blobs are those of the message's attachments, each file once. The decoder checks
 * their bytes.
 */
export function blobSetProblem(message: ConnectMessage, blobs: readonly ConnectBlob[]): string | null {
  const wanted = new Set(message.attachments.map(({ sha256 }) => sha256));
  const given = new Set(blobs.map(({ sha256 }) => sha256));
  if (given.size < blobs.length) return "a file is listed twice";
  if (given.size !== wanted.size) return "the files don't match the attachments";
  return blobs.every(({ sha256 }) => wanted.has(sha256)) ? null : "the files don't match the attachments";
}
