/**
 * Goes on without what a damaged ledger has lost, because a person has decided so. Every damaged
 * file is kept under another name, and its whole lines become a sealed segment. The decision is on
 * disk first, and each step can be repeated, so that a crash in between only delays it.
 */
import { type Clock, timestamp } from "../../../platform/clock.ts";
import { replaceFile, syncDirectory, unlinkIfThere } from "../../../platform/durable.ts";
import { ACTIVE, MANIFEST, rewriteManifest, segmentName } from "../files/segments.ts";
import { corrupt, pathOf, type Storage } from "../files/storage.ts";
import { decodeLine, SPACE } from "../format/line.ts";
import { atOnce, scanLines } from "../index/line-scan.ts";
import type { LedgerOptions } from "../types.ts";
import { type Decision, readDamageNote, writeDamageNote } from "./damage-note.ts";
import { salvage } from "./salvage.ts";

/** Made anew from the segments. What they say of lost events would be held against the ledger. */
const SIDECAR = /^(?:(?:index|filter)-\d+|tables|checkpoint)\.bin$/;

/**
 * Puts the decision on disk; the next open carries it out. False when the ledger is whole, and
 * nothing has to be decided. Refuses with `ledger_corrupt` when not even the order of the files is
 * certain, or a file is in the way.
 */
export async function decideToContinue(
  storage: Storage,
  options: LedgerOptions,
  { by, event_id: eventId }: { by: string; event_id: string },
  clock: Clock,
): Promise<boolean> {
  const groupId = options.group_id;
  if ((readDamageNote(storage, groupId)?.decision ?? null) !== null) return true;
  const { history, damage } = salvage(storage, options);
  history.closeFiles();
  if (damage === null) return false;
  const stamp = timestamp(clock).replaceAll(/[-:.]/g, "");
  const damaged = new Set(damage.files);
  const aside: Decision["aside"] = [];
  const gaps: number[] = [];
  for (const { number, name, bytes } of history.segments) {
    const isThere = storage.files.stat(pathOf(storage, name)) !== null;
    if (!isThere) gaps.push(number);
    else if (damaged.has(name)) aside.push({ number, name, kept: `damaged-${stamp}-${name}`, bytes });
  }
  if (damaged.has(MANIFEST))
    aside.push({ number: null, name: MANIFEST, kept: `damaged-${stamp}-${MANIFEST}`, bytes: 0 });
  const isActive = history.segments.some(({ name }) => name === ACTIVE);
  // It isn't a file, so that it isn't among the segments.
  if (damaged.has(ACTIVE) && !isActive && storage.files.stat(pathOf(storage, ACTIVE)) !== null)
    aside.push({ number: null, name: ACTIVE, kept: `damaged-${stamp}-${ACTIVE}`, bytes: 0 });
  for (const { kept } of aside)
    if (storage.files.stat(pathOf(storage, kept)) !== null)
      throw corrupt("A damaged file was put aside under the same name before.", { file: kept });
  const { missing_events: missingEvents, missing } = damage;
  const decision = { by, event_id: eventId, missing_events: missingEvents, missing, aside, gaps };
  await writeDamageNote(storage, groupId, damage, history.count, decision);
  return true;
}

/**
 * Does what was decided, as far as it isn't done. Throws Node's errors; then it goes on next time.
 */
export async function carryOut(storage: Storage, groupId: string, { aside, gaps }: Decision): Promise<void> {
  const { files, directory } = storage;
  const isThere = (name: string): boolean => files.stat(pathOf(storage, name)) !== null;
  for (const { name, kept } of aside)
    if (!isThere(kept) && isThere(name)) files.rename(pathOf(storage, name), pathOf(storage, kept));
  await syncDirectory(files, directory);
  for (const { number, kept, bytes } of aside) {
    if (number === null || isThere(segmentName(number))) continue;
    const lines = wholeLines(storage, groupId, kept, bytes);
    await replaceFile(files, pathOf(storage, segmentName(number)), lines);
  }
  for (const number of gaps)
    if (!isThere(segmentName(number)))
      await replaceFile(files, pathOf(storage, segmentName(number)), new Uint8Array(0));
  const changed = new Set([...gaps, ...aside.map(({ number }) => number)]);
  await rewriteManifest(storage, (number) => changed.has(number));
  for (const name of files.list(directory))
    if (SIDECAR.test(name)) unlinkIfThere(files, pathOf(storage, name));
  await syncDirectory(files, directory);
}

/** The Group's events among the first `bytes` of a file, each once, as they are written there. */
function wholeLines(storage: Storage, groupId: string, name: string, bytes: number): Buffer[] {
  const path = pathOf(storage, name);
  if (storage.files.stat(path)?.kind !== "file") return [];
  const lines: Buffer[] = [];
  const known = new Set<string>();
  let held: Buffer[] = [];
  const file = storage.files.open(path, "read");
  try {
    atOnce(
      scanLines(file, 0, bytes, (piece, start, end) => {
        const event = start === end ? null : decodeLine(piece.toString("utf8", start, end));
        if (event === null || event.group_id !== groupId || known.has(event.id)) {
          lines.push(...held.splice(0));
          return true;
        }
        known.add(event.id);
        held.push(Buffer.from(piece.subarray(start, end + 1)));
        if (piece[end - 1] !== SPACE) lines.push(...held.splice(0));
        return true;
      }),
    );
  } finally {
    file.close();
  }
  // The beginning of a batch that a crash tore was never acknowledged.
  if (!name.endsWith(ACTIVE)) lines.push(...held);
  held = [];
  return lines;
}
