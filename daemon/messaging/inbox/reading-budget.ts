/**
 * How much one Inbox read gives an Actor: clients cut longer tool results and show the model only
 * their beginning, and the next call acknowledges the whole batch
 * (docs/core-model.md#inbox-and-obligations).
 */
import type { InboxEvent } from "../../../shared/events.ts";
import { LIMITS } from "../../../shared/limits.ts";

/** Which bytes of a message's text an answer holds; `to` and `bytes` are equal in the last part. */
export interface TextPart {
  from: number;
  to: number;
  bytes: number;
}

/** Bytes of an event as an answer carries it. */
export function bytesOf(value: object): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/**
 * The part of a message that is too large for one answer, from this byte of its text on. Null for
 * an event that fits whole, or has no text to divide.
 */
export function partOf(event: InboxEvent, from: number): { event: InboxEvent; part: TextPart } | null {
  const limit = LIMITS.inbox.batchBytes;
  if (event.kind !== "chat.message" || bytesOf(event) <= limit) return null;
  // The wire's form of a message from another instance repeats its text.
  const { connect_message: _wire, ...data } = event.data;
  const room = Math.max(limit - bytesOf({ ...event, data: { ...data, text: "" } }), limit / 2);
  const text = Buffer.from(data.text);
  const piece = pieceOf(text.toString("utf8", from), room);
  const to = from + Buffer.byteLength(piece);
  return {
    event: { ...event, data: { ...data, text: piece } },
    part: { from, to, bytes: text.length },
  };
}

/** The longest beginning that takes at most `room` bytes in JSON, of whole characters. */
function pieceOf(text: string, room: number): string {
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += Buffer.byteLength(JSON.stringify(character)) - 2;
    if (bytes > room) break;
    end += character.length;
  }
  return text.slice(0, end);
}
