/**
 * What the files beside a ledger say was recorded: its index files, tables, checkpoint and the note
 * of a damage. Each is written only of what was acknowledged before, so that a whole one never
 * says too much. One that is missing or broken says nothing.
 */

import type { Claim } from "../files/claim.ts";
import { ACTIVE, segmentName } from "../files/segments.ts";
import type { Storage } from "../files/storage.ts";
import type { History } from "../history.ts";
import { readIndexClaim, sampleOf } from "../index/index-file.ts";
import { readTablesClaim } from "../index/tables-file.ts";
import { readCheckpointClaim } from "./checkpoint.ts";
import { DAMAGE_NOTE, readDamageNote } from "./damage-note.ts";

/** All whole files of this Group; those of the segments in `trusted` were found right already. */
export function readClaims(
  storage: Storage,
  groupId: string,
  names: readonly string[],
  trusted: ReadonlySet<number> = new Set(),
): Claim[] {
  const claims: (Claim | null)[] = [];
  for (const name of names) {
    const number = Number(/^index-(\d{6})\.bin$/.exec(name)?.[1] ?? 0);
    if (number > 0 && !trusted.has(number)) claims.push(readIndexClaim(storage, name, number, groupId));
  }
  claims.push(readTablesClaim(storage, groupId), readCheckpointClaim(storage, groupId));
  claims.push(readNoteClaim(storage, groupId));
  return claims.filter((claim) => claim !== null);
}

/** What a note of a damage says was recorded before; nothing once a person has decided. */
function readNoteClaim(storage: Storage, groupId: string): Claim | null {
  const note = readDamageNote(storage, groupId);
  if (note === null || note.decision !== null) return null;
  const { events } = note;
  return { file: DAMAGE_NOTE, events, first: events, ids: new Uint32Array(0), made: null };
}

/**
 * How the history contradicts the claim, in words; null when it doesn't, or when the claim is of
 * another history with the same Group.
 */
export function contradiction(history: History, claim: Claim): string | null {
  const { file, events, first, ids, made } = claim;
  if (events > history.count)
    return `${file} was written of ${count(events)}; the files have ${history.count}.`;
  const all = ids.length / 4;
  let missing = 0;
  let moved = 0;
  for (let at = 0; at < all; at += 1) {
    const ordinal = history.index.ordinalOf(ids, at * 4);
    if (ordinal < 0) missing += 1;
    else if (ordinal !== first + at) moved += 1;
  }
  if (all === missing) return null;
  if (missing > 0) return `${missing} of ${count(all)} that ${file} was written of are missing.`;
  if (moved > 0) return `Events have another place than when ${file} was written.`;
  if (made === null) return null;
  const segment = history.segments[made.number - 1];
  if (segment === undefined) return null;
  const isSame = made.bytes <= segment.bytes && made.sample === sampleOf(history.fileOf(segment), made.bytes);
  return isSame ? null : `${nameOf(made.number, segment.sealed)} has changed since ${file} was written.`;
}

function nameOf(number: number, sealed: boolean): string {
  return sealed ? segmentName(number) : ACTIVE;
}

function count(events: number): string {
  return events === 1 ? "1 event" : `${events} events`;
}
