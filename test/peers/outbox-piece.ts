/** What is put into an outbox: work and its source event, made for the test. */
import { randomUUID } from "node:crypto";
import type { MessageEvent } from "../../shared/events.ts";
import type { OutboxWork } from "../../shared/wire/v1/outbox.ts";
import { chatMessage } from "../support/events.ts";
import { newIdentity } from "./receiver-setting.ts";

const CREATED = "2026-01-01T00:00:00.000Z";

export interface Piece {
  work: Extract<OutboxWork, { kind: "message" }>;
  event: MessageEvent;
}

/** A message for `peer` with attachments of so many bytes, and its source event. */
export async function piece(peer: string, bytes: readonly number[] = []): Promise<Piece> {
  const { instance_id: instanceId } = await newIdentity();
  const id = randomUUID();
  const eventId = randomUUID().replaceAll("-", "");
  const data = {
    connection_id: `direct-${randomUUID()}`,
    delivery_id: id,
    source: { instance_id: instanceId, group_id: "g_0123456789ab", title: "Here" },
    sender: { id: "user", title: "", generation: "", enabled: true, role: null },
    source_event_id: eventId,
    target: { instance_id: peer, group_id: "g_ba9876543210", title: "There" },
    recipients: [{ id: "user", title: "", generation: "", enabled: true, role: null }],
    text: "hello",
    format: "plain" as const,
    insight: null,
    message_mode: "send" as const,
    attachments: bytes.map((size, at) => ({
      sha256: String(at).padStart(64, "0"),
      bytes: size,
      name: `file-${at}`,
      mime_type: "application/octet-stream",
    })),
    reply_to: null,
    created_at: CREATED,
    deliver_before: "2026-01-01T00:15:00.000Z",
    reply_before: "2026-01-08T00:00:00.000Z",
  };
  const event: MessageEvent = {
    v: 1,
    id: eventId,
    ts: CREATED,
    kind: "chat.message",
    group_id: data.source.group_id,
    scope_key: "s_0123456789ab",
    by: "user",
    data: chatMessage({ text: "hello" }),
  };
  return { work: { kind: "message", data }, event };
}
