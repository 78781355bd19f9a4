/** Writes an event as a line of our layout (line.ts). */
import { ChatMessage, type LedgerEvent } from "../../shared/events.ts";
import { LINE_START, MESSAGE_KIND } from "./line.ts";

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
