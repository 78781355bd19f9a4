/** Operations that break one rule of their contents each, and nothing else. */
import { createHash, randomUUID } from "node:crypto";
import type { ConnectMessage } from "../../shared/wire/v1/message.ts";

export interface Violation {
  name: string;
  operation: { op: string; [member: string]: unknown };
}

const MiB = 1024 * 1024;
const DAY_MS = 24 * 60 * 60_000;

function later(time: string, milliseconds: number): string {
  return new Date(Date.parse(time) + milliseconds).toISOString();
}

function filesOf(count: number, bytes: number) {
  const files = Array.from({ length: count }, (_, at) => Buffer.alloc(bytes, at));
  const named = files.map((file, at) => ({
    sha256: createHash("sha256").update(file).digest("hex"),
    bytes,
    name: `${at}.bin`,
    mime_type: "application/octet-stream",
  }));
  const blobs = files.map((file, at) => ({ sha256: named[at]!.sha256, base64: file.toString("base64") }));
  return { attachments: named, blobs };
}

/** Made from a message that is right. */
export function violationsOf(message: ConnectMessage): Violation[] {
  const recipient = message.recipients[0]!;
  const many = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ ...recipient, id: `a${at}`, generation: "one" }));
  const deliver = (name: string, changes: object, blobs: object[] = []): Violation => ({
    name,
    operation: { op: "deliver", message: { ...message, ...changes }, blobs },
  });
  const files = (name: string, count: number, bytes: number): Violation => {
    const { attachments, blobs } = filesOf(count, bytes);
    return deliver(name, { attachments }, blobs);
  };
  const connection = message.connection_id === undefined ? {} : { connection_id: message.connection_id };
  const {
    recipients: _recipients,
    text: _text,
    format: _format,
    insight: _insight,
    message_mode: _mode,
    attachments: _attachments,
    reply_to: _reply,
    reply_before: _before,
    ...envelope
  } = message;
  const { created_at: createdAt } = message;
  return [
    deliver("a text of 65,537 bytes", { text: "x".repeat(65_537) }),
    deliver("a text of a mebibyte", { text: "é".repeat(MiB / 2) }),
    deliver("no text and no file", { text: "" }),
    deliver("an insight that is too long", { insight: "i".repeat(200_000) }),
    deliver("129 recipients", { recipients: many(129) }),
    deliver("10,000 recipients", { recipients: many(10_000) }),
    deliver("nobody", { recipients: [] }),
    deliver("one recipient twice", { recipients: [recipient, recipient] }),
    files("17 files", 17, 4),
    files("40 large files", 40, 70_000),
    files("10 MiB and a byte", 1, 10 * MiB + 1),
    deliver("15 minutes and a millisecond", { deliver_before: later(createdAt, 15 * 60_000 + 1) }),
    deliver("7 days and a millisecond", { reply_before: later(createdAt, 7 * DAY_MS + 1) }),
    deliver("a reply that asks for a reply", {
      message_mode: "request_reply",
      reply_to: { delivery_id: randomUUID(), event_id: randomUUID() },
    }),
    deliver("a member too many", { colour: "blue" }),
    deliver("a title too long", { source: { ...message.source, title: "t".repeat(100_000) } }),
    {
      name: "a catalog from nowhere to nowhere",
      operation: { op: "catalog", ...connection, source_group_id: 7, target_group_id: null, after: null },
    },
    ...(message.connection_id === undefined
      ? []
      : [
          {
            name: "a catalog without its source",
            operation: {
              op: "catalog",
              ...connection,
              source_group_id: "",
              target_group_id: message.target.group_id,
              after: null,
            },
          },
        ]),
    {
      name: "a withdrawal with too long a window",
      operation: {
        op: "cancel",
        cancellation: {
          ...envelope,
          original_delivery_id: randomUUID(),
          original_message_sha256: "0".repeat(64),
          original_source_event_id: randomUUID(),
          original_deliver_before: message.deliver_before,
          created_at: createdAt,
          deliver_before: later(createdAt, 15 * 60_000 + 1),
        },
      },
    },
    {
      name: "a receipt of no digest",
      operation: {
        op: "receipt",
        ...connection,
        source_group_id: message.source.group_id,
        target_group_id: message.target.group_id,
        delivery_id: randomUUID(),
        message_sha256: "short",
      },
    },
  ];
}
