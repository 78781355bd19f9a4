/**
 * One event as one line. Our own lines have a fixed layout, so that a rebuild finds what it needs
 * without parsing. Any other layout is read too. In an atomic batch, every line but the last ends
 * in a space, which JSON allows. A batch whose last line is missing was never acknowledged and is
 * dropped as a whole.
 */
import type { LedgerEvent } from "../../../shared/events.ts";
import { isEventId } from "./event-id.ts";

/** Every line of ours starts with this; the id's 32 hex digits follow. */
export const LINE_START = '{"v":1,"id":"';
export const LINE_FEED = 10;
export const SPACE = 32;
/** `chat.message`: the member at which a rebuild stops reading. */
export const LAST_HEAD_MEMBER = "text";
export const MESSAGE_KIND = "chat.message";

/**
 * The event on a line; null if it isn't one. Unknown members and kinds stay. Data of a known kind
 * isn't checked again: it was written from its type, or checked by an import.
 */
export function decodeLine(text: string): LedgerEvent | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  return isEvent(value) ? value : null;
}

function isEvent(value: unknown): value is LedgerEvent {
  if (typeof value !== "object" || value === null) return false;
  const event = value as Partial<LedgerEvent>;
  const texts = [event.ts, event.kind, event.group_id, event.scope_key, event.by];
  const complete = texts.every((text) => typeof text === "string");
  const isRecord = typeof event.data === "object" && event.data !== null && !Array.isArray(event.data);
  return event.v === 1 && isEventId(event.id) && complete && isRecord;
}
