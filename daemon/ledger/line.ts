/**
 * One event as one line. Our own lines have a fixed layout, so that a rebuild finds what it needs without parsing; any other layout is
 * read too. A line of an atomic batch that isn't its last one ends in a space, which JSON allows: a batch whose last line is missing was
 * never acknowledged and is dropped whole.
 */
import { ChatMessage, type LedgerEvent } from "../../shared/events.ts";

/** Every line of ours starts with this; the id's 32 hex digits follow. */
export const LINE_START = '{"v":1,"id":"';
export const LINE_FEED = 10;
export const SPACE = 32;
/** `chat.message`: the member at which a rebuild stops reading. */
export const LAST_HEAD_MEMBER = "text";
export const MESSAGE_KIND = "chat.message";

/** The place of each known member in a message's data. */
const MEMBER_PLACES = new Map(Object.keys(ChatMessage.shape).map((name, place) => [name, place]));

/** A message's data with the members that projections need before `text`, whatever order the caller had. */
function ordered(data: Record<string, unknown>): Record<string, unknown> {
  let last = -1;
  for (const name of Object.keys(data)) {
    const place = MEMBER_PLACES.get(name) ?? MEMBER_PLACES.size;
    if (place < last) return sorted(data);
    last = place;
  }
  return data;
}

function sorted(data: Record<string, unknown>): Record<string, unknown> {
  const placeOf = ([name]: [string, unknown]): number => MEMBER_PLACES.get(name) ?? MEMBER_PLACES.size;
  return Object.fromEntries(Object.entries(data).sort((a, b) => placeOf(a) - placeOf(b)));
}

const PLAIN = /^[\w.:-]*$/;

/** A name as JSON; few need escapes. */
function quoted(name: string): string {
  return PLAIN.test(name) ? `"${name}"` : JSON.stringify(name);
}

/** The event's line without its end. Concatenation costs a third of spreading and stringifying the whole. */
export function encodeLine(event: LedgerEvent): string {
  const data = JSON.stringify(event.kind === MESSAGE_KIND ? ordered(event.data) : event.data);
  return `${LINE_START}${event.id}","ts":"${event.ts}","kind":${quoted(event.kind)},"group_id":"${event.group_id}","scope_key":${quoted(event.scope_key)},"by":${quoted(event.by)},"data":${data}}`;
}

/** The event on a line; null when it isn't one. Members we don't know stay. */
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

export function isEventId(id: unknown): id is string {
  return typeof id === "string" && /^[0-9a-f]{32}$/.test(id);
}
