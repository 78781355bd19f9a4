/**
 * Outgoing frames of a Direct channel: a 4-byte big-endian length and that many bytes of JSON
 * (docs/protocol.md#validity).
 */
import type { ConnectBlob } from "../../../shared/wire/v1/peer.ts";
import { type JsonParts, jsonParts } from "../wire/json-parts.ts";

const HEAD = 4;

type MaybeRequest = { request?: { operation?: { blobs?: readonly ConnectBlob[] } } } | null;

export type Frame = JsonParts;

/** Throws RangeError for more than `limit` bytes of JSON. */
export function encodeFrame(value: unknown, limit: number): Frame {
  const blobs = (value as MaybeRequest)?.request?.operation?.blobs ?? [];
  const head = Buffer.alloc(HEAD);
  const frame = jsonParts(value, blobs, head);
  const length = frame.bytes - HEAD;
  if (length > limit) throw new RangeError(`a frame of ${length} bytes is over ${limit}`);
  head.writeUInt32BE(length, 0);
  return frame;
}
