/** Tail, page and window: a few neighboring events out of any number. */
import type { LedgerEvent } from "../../shared/events.ts";
import type { History } from "./history.ts";
import type { Ordinal, Page, PageRequest, Window, WindowRequest } from "./types.ts";

type Kinds = ReadonlySet<string> | undefined;

interface Walk {
  start: Ordinal;
  step: 1 | -1;
  limit: number;
  kinds: Kinds;
  /** Where it ends without being there. */
  stop: Ordinal;
}

/** Oldest first; `more` says whether there are others further on. */
interface Walked {
  events: LedgerEvent[];
  unreadable: string[];
  more: boolean;
}

/** Up to `limit` ordinals of `kinds` from `start` in steps of `step`, in that order. */
function ordinalsOf(history: History, { start, step, limit, kinds, stop }: Walk): Ordinal[] {
  const found: Ordinal[] = [];
  for (
    let ordinal = start;
    ordinal >= 0 && ordinal < history.count && ordinal !== stop && found.length < limit;
    ordinal += step
  ) {
    if (kinds === undefined || history.isOf(kinds, ordinal)) found.push(ordinal);
  }
  return found;
}

/** The same as events: past what can't be read, until there are enough. */
function walk(history: History, walk: Walk): Walked {
  const events: LedgerEvent[] = [];
  const unreadable: string[] = [];
  const { step, limit } = walk;
  let { start } = walk;
  for (;;) {
    const wanted = limit - events.length;
    const ordinals = ordinalsOf(history, { ...walk, start, limit: wanted + 1 });
    const taken = ordinals.slice(0, wanted);
    const ascending = step > 0 ? taken : taken.toReversed();
    const read = history.readMany(ascending, (ordinal) => unreadable.push(history.index.id(ordinal)));
    if (step > 0) events.push(...read);
    else events.unshift(...read);
    const more = ordinals.length > wanted;
    if (!more || events.length === limit) return { events, unreadable, more };
    start = ordinals[wanted]!;
  }
}

export function readPage(history: History, request: PageRequest): Page {
  const { before, after, limit, kinds } = request;
  const fromOldest = request.from === "oldest" && before === undefined;
  const goesForward = fromOldest || (after !== undefined && before === undefined);
  let start = fromOldest ? 0 : history.count - 1;
  let stop = -1;
  if (after !== undefined && before === undefined) start = history.knownOrdinal(after) + 1;
  else if (before !== undefined) start = history.knownOrdinal(before) - 1;
  if (before !== undefined && after !== undefined) {
    stop = history.knownOrdinal(after);
    if (start <= stop) return { events: [], more: false };
  }
  const { events, more, unreadable } = walk(history, {
    start,
    step: goesForward ? 1 : -1,
    limit,
    kinds,
    stop,
  });
  return { events, more, ...(unreadable.length === 0 ? {} : { unreadable }) };
}

export function readWindow(history: History, request: WindowRequest): Window {
  const { around, before, after, kinds } = request;
  const middle = history.knownOrdinal(around);
  const unreadable: string[] = [];
  const itself = history.readMany([middle], () => unreadable.push(around));
  const older = walk(history, { start: middle - 1, step: -1, limit: before, kinds, stop: -1 });
  const newer = walk(history, { start: middle + 1, step: 1, limit: after, kinds, stop: -1 });
  unreadable.push(...older.unreadable, ...newer.unreadable);
  return {
    events: [...older.events, ...itself, ...newer.events],
    older: older.more,
    newer: newer.more,
    ...(unreadable.length === 0 ? {} : { unreadable }),
  };
}
