/** Tail, page and window: a few neighboring events out of any number. */
import type { History } from "./history.ts";
import type { Ordinal, Page, PageRequest, Window, WindowRequest } from "./types.ts";

type Kinds = ReadonlySet<string> | undefined;

/** Up to `limit` ordinals of `kinds` from `start` in steps of `step`, in that order. */
function walk(history: History, start: Ordinal, step: 1 | -1, limit: number, kinds: Kinds): Ordinal[] {
  const found: Ordinal[] = [];
  for (
    let ordinal = start;
    ordinal >= 0 && ordinal < history.count && found.length < limit;
    ordinal += step
  ) {
    if (kinds === undefined || history.isOf(kinds, ordinal)) found.push(ordinal);
  }
  return found;
}

export function readPage(history: History, request: PageRequest): Page {
  const { before, after, limit, kinds } = request;
  const fromOldest = request.from === "oldest" && before === undefined;
  const goesForward = fromOldest || (after !== undefined && before === undefined);
  let start = fromOldest ? 0 : history.count - 1;
  if (after !== undefined && before === undefined) start = history.knownOrdinal(after) + 1;
  else if (before !== undefined) start = history.knownOrdinal(before) - 1;
  let found = walk(history, start, goesForward ? 1 : -1, limit + 1, kinds);
  const more = found.length > limit;
  found = found.slice(0, limit);
  if (!goesForward) found.reverse();
  if (before !== undefined && after !== undefined) {
    const floor = history.knownOrdinal(after);
    const inside = found.filter((ordinal) => ordinal > floor);
    return { events: history.readMany(inside), more: more && inside.length === found.length };
  }
  return { events: history.readMany(found), more };
}

export function readWindow(history: History, request: WindowRequest): Window {
  const { around, before, after, kinds } = request;
  const middle = history.knownOrdinal(around);
  const older = walk(history, middle - 1, -1, before + 1, kinds);
  const newer = walk(history, middle + 1, 1, after + 1, kinds);
  const ordinals = [...older.slice(0, before).reverse(), middle, ...newer.slice(0, after)];
  return { events: history.readMany(ordinals), older: older.length > before, newer: newer.length > after };
}

export function firstSince(history: History, instant: number, kinds: Kinds): string | undefined {
  let low = 0;
  let high = history.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (Date.parse(history.read(middle).ts) < instant) low = middle + 1;
    else high = middle;
  }
  const [first] = walk(history, low, 1, 1, kinds);
  return first === undefined ? undefined : history.index.id(first);
}
