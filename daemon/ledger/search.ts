/** Text search from the newest event backwards, a block of the disk at a time. */
import type { LedgerEvent } from "../../shared/events.ts";
import type { History } from "./history.ts";
import { decodeLine } from "./line.ts";
import type { Segment } from "./segments.ts";
import type { Ordinal, SearchPage, SearchRequest } from "./types.ts";

const BLOCK_BYTES = 128 * 1024;
/** Members of data that a person sees as text. */
const TEXT_MEMBERS = ["text", "title", "message"] as const;

/** One call reads `scanBytes` at most and says where to go on. */
export function search(history: History, request: SearchRequest, scanBytes: number): SearchPage {
  const query = request.query.toLowerCase();
  let next = request.before === undefined ? history.count - 1 : history.knownOrdinal(request.before) - 1;
  const found: LedgerEvent[] = [];
  let read = 0;
  while (next >= 0 && found.length <= request.limit && read < scanBytes) {
    const segment = history.segmentOf(next);
    const first = blockStart(history, segment, next);
    const start = history.index.position(first);
    const bytes = history.readBytes(segment, start, history.endOf(segment, next));
    read += bytes.length;
    searchBlock(history, request, query, { bytes, start, first, last: next, segment }, found);
    next = first - 1;
  }
  const hasMore = found.length > request.limit;
  const events = found.slice(0, request.limit);
  let before: string | null = null;
  if (hasMore) before = events.at(-1)!.id;
  else if (next >= 0) before = history.index.id(next + 1);
  return { events: events.reverse(), more: before !== null, before };
}

/** The oldest event that a block ending with `last` takes in. */
function blockStart(history: History, segment: Segment, last: Ordinal): Ordinal {
  const floor = history.endOf(segment, last) - BLOCK_BYTES;
  let low = segment.first;
  let high = last;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (history.index.position(middle) >= floor) high = middle;
    else low = middle + 1;
  }
  return low;
}

interface Block {
  bytes: Buffer;
  start: number;
  first: Ordinal;
  last: Ordinal;
  segment: Segment;
}

/** Adds the block's matches, newest first, until one more than the limit is found. */
function searchBlock(
  history: History,
  request: SearchRequest,
  query: string,
  block: Block,
  found: LedgerEvent[],
): void {
  const escaped = JSON.stringify(query).slice(1, -1).toLowerCase();
  if (!mayHold(block.bytes.toString("utf8", 0, block.bytes.length), escaped)) return;
  for (let ordinal = block.last; ordinal >= block.first && found.length <= request.limit; ordinal -= 1) {
    if (request.kinds !== undefined && !history.isOf(request.kinds, ordinal)) continue;
    const from = history.index.position(ordinal) - block.start;
    const line = block.bytes.toString("utf8", from, history.endOf(block.segment, ordinal) - block.start);
    if (!mayHold(line, escaped)) continue;
    const event = decodeLine(line);
    if (event !== null && holds(event, query)) found.push(event);
  }
}

/** Whether raw JSON can hold the text: directly, or behind an escape that a foreign writer chose. */
function mayHold(json: string, escaped: string): boolean {
  return json.includes("\\u") || json.includes("\\/") || json.toLowerCase().includes(escaped);
}

function holds(event: LedgerEvent, query: string): boolean {
  return TEXT_MEMBERS.some((member) => {
    const value = event.data[member];
    return typeof value === "string" && value.toLowerCase().includes(query);
  });
}
