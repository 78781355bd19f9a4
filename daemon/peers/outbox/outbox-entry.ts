/** What the outbox keeps of a record in memory, and its bytes (docs/protocol.md#outbox). */
import { Refusal } from "../../../shared/errors.ts";
import type { SourceEvent } from "../../../shared/events.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { overSize } from "../../../shared/size-words.ts";
import { type OutboxProgress, OutboxRecord, type OutboxWork } from "../../../shared/wire/v1/outbox.ts";
import { milliseconds } from "../../../shared/wire/v1/time.ts";
import { contentOf } from "../wire/digests.ts";
import { recordText, whole } from "./outbox-progress.ts";

/**
 * Active work as kept in memory. Identity never changes. Progress does, only through
 * `Outbox.update`.
 */
export interface OutboxEntry {
  readonly kind: OutboxWork["kind"];
  /** Order of acceptance in this run. Work of an earlier run comes first, by creation time. */
  readonly sequence: number;
  /** The target instance. Names the record's directory. */
  readonly peer: string;
  readonly delivery_id: string;
  /** Null for the same account. */
  readonly connection_id: string | null;
  readonly source: { readonly group_id: string; readonly device_id: string };
  readonly target: { readonly group_id: string; readonly device_id: string };
  readonly source_event_id: string;
  readonly source_event_ts: string;
  /** Milliseconds since 1970. */
  readonly deliver_before: number;
  /** Of a cancellation: when the original can no longer be admitted. */
  readonly original_deliver_before: number | null;
  /** Bytes of the source Group's blobs that it refers to. */
  readonly blobBytes: number;
  /**
   * The sender's key in the source Group and the digest of what it sent; null without a
   * `client_id`.
   */
  readonly client: { readonly key: string; readonly sha256: string } | null;
  /** An earlier run may have sent it at an unknown time. */
  readonly leftOver: boolean;
  progress: Readonly<OutboxProgress>;
}

/** A record as it was read, with the JSON of its message or cancellation and the digest of that. */
export interface QueuedWork extends OutboxRecord {
  readonly json: string;
  readonly sha256: string;
}

/** Identifies a sender's retry; from the source event. */
export type ClientKeyOf = (event: SourceEvent) => string | null;

/**
 * `key` is the sender's key in the source Group, if it has one. `isLeft`: an earlier run accepted
 * it.
 */
export function entryOf(
  record: OutboxRecord,
  { sequence, key, isLeft }: { sequence: number; key: string | null; isLeft: boolean },
): OutboxEntry {
  const { work, source_event: sourceEvent, progress } = record;
  const { data } = work;
  return {
    kind: work.kind,
    sequence,
    peer: data.target.instance_id,
    delivery_id: data.delivery_id,
    connection_id: data.connection_id ?? null,
    source: { group_id: data.source.group_id, device_id: data.source.device_id ?? "" },
    target: { group_id: data.target.group_id, device_id: data.target.device_id ?? "" },
    source_event_id: sourceEvent.id,
    source_event_ts: sourceEvent.ts,
    deliver_before: milliseconds(data.deliver_before),
    original_deliver_before: work.kind === "cancel" ? milliseconds(work.data.original_deliver_before) : null,
    blobBytes: blobBytesOf(work),
    client:
      key === null || sourceEvent.kind !== "chat.message"
        ? null
        : { key, sha256: sourceEvent.data.client_sha256 ?? "" },
    // A cancellation doesn't note that it goes out, so any from an earlier run may have gone out.
    leftOver: progress.needs_receipt || (work.kind === "cancel" && isLeft),
    progress,
  };
}

/** Throws too_large. `json` is that of the message or cancellation. */
export function encodeRecord(record: OutboxRecord, json: string): Uint8Array {
  const bytes = Buffer.from(recordText(record, json));
  const limit = LIMITS.outbox.recordBytes;
  if (bytes.length <= limit) return bytes;
  const specifics = `The message can't be queued for another instance: ${overSize("it", bytes.length, limit)}`;
  throw new Refusal("too_large", { specifics, details: { limit, bytes: bytes.length } });
}

/**
 * What goes out has to match the source Group's ledger. A record that was damaged since doesn't
 * count.
 */
export function parseRecord(bytes: Uint8Array): QueuedWork {
  const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  const record = OutboxRecord.parse(JSON.parse(whole(text)));
  const { work, source_event: sourceEvent } = record;
  const told =
    sourceEvent.kind === "chat.message"
      ? sourceEvent.data.connect_message_sha256
      : sourceEvent.data.connect_cancel_sha256;
  const { json, sha256 } = contentOf(work.data);
  if (told !== undefined && told !== sha256) throw new Error("it doesn't match its event");
  return { ...record, json, sha256 };
}

export function blobBytesOf(work: OutboxWork): number {
  if (work.kind === "cancel") return 0;
  return work.data.attachments.reduce((sum, { bytes }) => sum + bytes, 0);
}
