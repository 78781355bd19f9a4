/** What one of the files beside a ledger says was recorded. */
import { wordsOfId } from "../format/event-id.ts";
import type { History } from "../history.ts";

/** A file says that there are `events`, and which ids those from `first` on have. */
export interface Claim {
  file: string;
  events: number;
  first: number;
  /** Four words each. */
  ids: Uint32Array;
  /** Of an index file: the segment, the bytes it was made from, and a digest of samples of them. */
  made: { number: number; bytes: number; sample: string } | null;
}

/** A claim of one id: the last of so many events. */
export function claimOfLast(file: string, events: number, lastId: string): Claim {
  const ids = new Uint32Array(4);
  wordsOfId(lastId, ids);
  return { file, events, first: events - 1, ids, made: null };
}

/**
 * Places of the events that index files name and the history doesn't have, ascending, and how many
 * more there were by the number of events that any file names.
 */
export function claimsMissing(
  history: History,
  claims: readonly Claim[],
): { ordinals: number[]; unplaced: number } {
  const missing = new Set<number>();
  const named = new Set<number>();
  let events = 0;
  for (const claim of claims) {
    events = Math.max(events, claim.events);
    if (claim.made === null) continue;
    for (let at = 0; at < claim.ids.length / 4; at += 1) {
      named.add(claim.first + at);
      if (history.index.ordinalOf(claim.ids, at * 4) < 0) missing.add(claim.first + at);
    }
  }
  const unnamed = events - named.size;
  const foundUnnamed = history.count - (named.size - missing.size);
  return {
    ordinals: [...missing].sort((one, other) => one - other),
    unplaced: Math.max(0, unnamed - Math.max(0, foundUnnamed)),
  };
}
