/**
 * Opening a ledger: inventory, index and projections, the end of the active file, and what a crash
 * left unfinished.
 */

import type { Clock } from "../../../platform/clock.ts";
import { timestamp } from "../../../platform/clock.ts";
import { isTemporary, syncDirectory, syncFile } from "../../../platform/durable.ts";
import type { OpenFile } from "../../../platform/files.ts";
import { ACTIVE, type Inventory, type Segment, takeInventory, writeManifest } from "../files/segments.ts";
import { corrupt, pathOf, type Storage } from "../files/storage.ts";
import { LINE_FEED } from "../format/line.ts";
import { History } from "../history.ts";
import { claimedCount, loadIndex } from "../index/index-file.ts";
import { atOnce } from "../index/line-scan.ts";
import { Rebuild } from "../index/rebuild.ts";
import { loadTables, tablesAgree } from "../index/tables-file.ts";
import type { LedgerLimits, LedgerOptions } from "../types.ts";
import { ActiveFile, usedBytes } from "./active-file.ts";
import { type Anchor, restoreCheckpoint } from "./checkpoint.ts";
import { contradiction, readClaims } from "./claims.ts";
import { carryOut } from "./continuing.ts";
import { DAMAGE_NOTE, type Decision, readDamageNote } from "./damage-note.ts";
import { salvage } from "./salvage.ts";
import { damageBehind } from "./tail.ts";

const COPY_BYTES = 1024 * 1024;
const SAMPLE_BYTES = 64 * 1024;

export interface Opened {
  history: History;
  active: ActiveFile | null;
  /** Sealed segments that had to be read because they have no usable index file. */
  unindexed: Segment[];
  /** What a person decided about a damage, until it is recorded. */
  decision: Decision | null;
}

/**
 * Refuses with `ledger_corrupt` if a person must choose, and with Node's own error if the disk
 * fails.
 */
export async function openHistory(
  storage: Storage,
  options: LedgerOptions,
  limits: LedgerLimits,
  clock: Clock,
): Promise<Opened> {
  const { files, directory } = storage;
  if (files.stat(directory) === null) files.mkdir(directory);
  const decision = await takeUpDamage(storage, options);
  const names = files.list(directory);
  const inventory = takeInventory(storage, names);
  for (const name of names.filter(isTemporary)) files.unlink(pathOf(storage, name));
  // Nothing recorded yet: perhaps an earlier open made the directory and failed before its entry
  // was durable.
  if (!inventory.hasActive && inventory.sealed.length === 0) await syncDirectory(files, parentOf(directory));
  await finishCut(storage, inventory);
  // What is read below must outlive a power cut from now on: a crash may have come between a
  // renaming and its sync.
  await syncDirectory(files, directory);

  // What a person has decided to go on without may be everything.
  const history = new History(storage, decision === null ? options : { ...options, isRecorded: false });
  addSegments(history, inventory);
  try {
    return { ...(await fillHistory(history, inventory, limits, clock)), decision };
  } catch (error) {
    history.closeFiles();
    throw error;
  }
}

async function fillHistory(
  history: History,
  inventory: Inventory,
  limits: LedgerLimits,
  clock: Clock,
): Promise<Omit<Opened, "decision">> {
  const { storage } = history;
  const { followers, anchor } = restoreCheckpoint(history);
  const rebuild = new Rebuild(history, followers);
  history.index.reserve(expectedEvents(history));
  const read: Reading = { trusted: new Set(), unindexed: [], surplus: [] };
  readSealed(history, rebuild, read);
  const active = inventory.hasActive ? readActive(history, rebuild, limits, read) : null;
  history.index.settle();
  checkNothingLost(history, read, anchor);
  if (active !== null) {
    const problem =
      active.end < active.used ? damageBehind(history, active.file, active, limits.batchBytes) : null;
    if (problem !== null) throw corrupt(problem, { file: ACTIVE, position: active.end });
  }
  // Until here nothing was changed: a damaged ledger stays as it is.
  for (const { segment, size } of read.surplus) await trimSegment(storage, segment, size, clock);
  const opened = active === null ? null : await toActive(storage, active, limits, clock);
  if (anchor !== null && !holds(history, anchor)) replayAll(history);
  if (inventory.manifestStale) await writeManifest(storage, history.segments);
  return { history, active: opened, unindexed: read.unindexed };
}

/** What is learnt while the segments are read. */
interface Reading {
  /** Numbers of the segments whose index file fits. */
  trusted: Set<number>;
  /** Sealed ones without a usable index file. */
  unindexed: Segment[];
  /** Those that a failed write ended, with what it left behind the end. */
  surplus: { segment: Segment; size: number }[];
}

function readSealed(history: History, rebuild: Rebuild, read: Reading): void {
  const { storage } = history;
  for (const segment of history.segments) {
    const size = storage.files.stat(pathOf(storage, segment.name))?.bytes ?? 0;
    if (size < segment.bytes)
      throw corrupt("A ledger segment is shorter than the manifest says.", {
        number: segment.number,
        bytes: size,
      });
    if (size > segment.bytes) {
      if (!segment.cut)
        throw corrupt("A ledger segment is longer than the manifest says.", {
          number: segment.number,
          bytes: size,
        });
      read.surplus.push({ segment, size });
    }
    segment.first = history.count;
    const covered = loadIndex(history, segment);
    if (covered > 0) {
      read.trusted.add(segment.number);
      loadTables(history);
      if (rebuild.isNeeded(history.count))
        atOnce(rebuild.past(segment, history.fileOf(segment), { from: 0, to: covered }, segment.first));
    }
    if (covered === segment.bytes) continue;
    read.unindexed.push(segment);
    atOnce(rebuild.part(segment, history.fileOf(segment), { from: covered, to: segment.bytes }));
  }
}

/**
 * Compares the events with what the files beside them were written of, and refuses with
 * `ledger_corrupt` when some are missing or changed.
 */
function checkNothingLost(history: History, { trusted }: Reading, anchor: Anchor | null): void {
  const { storage, options } = history;
  if (history.count === 0 && options.isRecorded === true)
    throw corrupt("Events were recorded in this Group, but its ledger has none.");
  const names = storage.files.list(storage.directory);
  const numbers = names.map((name) => Number(/^index-(\d+)\.bin$/.exec(name)?.[1] ?? 0));
  const isDoubtful =
    (anchor !== null && !holds(history, anchor)) ||
    numbers.some((number) => number > 0 && !trusted.has(number)) ||
    names.includes(DAMAGE_NOTE) ||
    !tablesAgree(history);
  if (!isDoubtful) return;
  for (const claim of readClaims(storage, options.group_id, names, trusted)) {
    const problem = contradiction(history, claim);
    if (problem !== null) throw corrupt(problem, { file: claim.file });
  }
}

function parentOf(directory: string): string {
  return directory.slice(0, Math.max(1, directory.lastIndexOf("/")));
}

/**
 * A ledger that was found damaged is read whole before it is used again: its files may have been
 * put back. What a person has decided about it is carried out.
 */
async function takeUpDamage(storage: Storage, options: LedgerOptions): Promise<Decision | null> {
  const { files, directory } = storage;
  const note = readDamageNote(storage, options.group_id);
  if (note === null) return null;
  if (note.decision !== null) {
    await carryOut(storage, options.group_id, note.decision);
    return note.decision;
  }
  const { damage, history } = salvage(storage, options);
  history.closeFiles();
  if (damage !== null) throw corrupt(damage.problems[0]!, { files: damage.files });
  files.unlink(pathOf(storage, DAMAGE_NOTE));
  await syncDirectory(files, directory);
  return null;
}

/** The manifest says that the active file ended with a failed write; give it its segment's name. */
async function finishCut(storage: Storage, inventory: Inventory): Promise<void> {
  if (!inventory.unfinishedCut) return;
  const entry = inventory.sealed.at(-1)!;
  storage.files.rename(pathOf(storage, ACTIVE), pathOf(storage, entry.name));
  inventory.hasActive = false;
  await syncDirectory(storage.files, storage.directory);
}

/**
 * About how many events the sealed segments hold: as their index files claim, else as the first
 * lines are long.
 */
function expectedEvents(history: History): number {
  let events = 0;
  let unknownBytes = 0;
  for (const segment of history.segments) {
    const claimed = claimedCount(history, segment);
    events += claimed;
    if (claimed === 0) unknownBytes += segment.bytes;
  }
  const sampled = history.segments.find(({ bytes }) => bytes > 0);
  if (unknownBytes === 0 || sampled === undefined) return events;
  const sample = history.readBytes(sampled, 0, Math.min(sampled.bytes, SAMPLE_BYTES));
  let lines = 1;
  for (let at = sample.indexOf(LINE_FEED); at >= 0; at = sample.indexOf(LINE_FEED, at + 1)) lines += 1;
  return events + Math.ceil((unknownBytes / sample.length) * lines);
}

function addSegments(history: History, inventory: Inventory): void {
  for (const { number, name, bytes, cut } of inventory.sealed) {
    history.segments.push({ number, name, bytes, cut, first: 0, count: 0, sealed: true, file: null });
  }
}

/** A segment ended by a failed write holds bytes that were never acknowledged. */
async function trimSegment(storage: Storage, segment: Segment, size: number, clock: Clock): Promise<void> {
  const file = storage.files.open(pathOf(storage, segment.name), "write");
  try {
    await cutBehind(storage, file, segment.bytes, size, clock);
  } finally {
    file.close();
  }
}

/** An active file as it was read. */
interface ReadActive {
  file: OpenFile;
  size: number;
  /** Where its last whole line ends. */
  end: number;
  /** Where its allocated space begins. */
  used: number;
}

function readActive(history: History, rebuild: Rebuild, limits: LedgerLimits, read: Reading): ReadActive {
  const { storage } = history;
  const file = storage.files.open(pathOf(storage, ACTIVE), "write");
  try {
    const size = file.size();
    const number = history.segments.length + 1;
    const segment: Segment = {
      number,
      name: ACTIVE,
      bytes: size,
      first: history.count,
      count: 0,
      sealed: false,
      cut: false,
      file,
    };
    history.segments.push(segment);
    const used = usedBytes(file, size);
    const covered = loadIndex(history, segment);
    if (covered > 0) {
      read.trusted.add(number);
      loadTables(history);
    }
    const end = rebuild.active(segment, file, covered, used, used - limits.batchBytes);
    segment.bytes = end;
    if (end < covered)
      throw corrupt("The ledger's active file has a damaged line.", { number, position: end });
    return { file, size, end, used };
  } catch (error) {
    file.close();
    throw error;
  }
}

/** Cuts off what a crash left behind the end, and goes on from there. */
async function toActive(
  storage: Storage,
  { file, size, end, used }: ReadActive,
  limits: LedgerLimits,
  clock: Clock,
): Promise<ActiveFile> {
  if (end < used) {
    await cutBehind(storage, file, end, used, clock);
    return new ActiveFile(file, end, end, limits.extendBytes);
  }
  await syncFile(file);
  return new ActiveFile(file, used, size, limits.extendBytes);
}

function holds(history: History, anchor: Anchor): boolean {
  return anchor.count <= history.count && history.index.id(anchor.count - 1) === anchor.last_id;
}

/** The checkpoint came from another history: the projections start over. */
function replayAll(history: History): void {
  const followers = history.options.projections.map((projection) => ({ projection, from: 0 }));
  for (const { projection } of followers) projection.reset();
  const rebuild = new Rebuild(history, followers);
  for (const segment of history.segments)
    atOnce(rebuild.past(segment, history.fileOf(segment), { from: 0, to: segment.bytes }, segment.first));
}

/** Keeps a copy of the unacknowledged bytes after the end, then cuts them off. */
async function cutBehind(
  storage: Storage,
  file: OpenFile,
  end: number,
  size: number,
  clock: Clock,
): Promise<void> {
  const { files, directory } = storage;
  const stamp = timestamp(clock).replaceAll(/[-:.]/g, "");
  let name = `torn-${stamp}`;
  for (let copy = 2; files.stat(pathOf(storage, name)) !== null; copy += 1) name = `torn-${stamp}-${copy}`;
  const torn = files.open(pathOf(storage, name), "create");
  try {
    const piece = Buffer.allocUnsafe(COPY_BYTES);
    for (let at = end; at < size; ) {
      const got = file.read(piece.subarray(0, Math.min(piece.length, size - at)), at);
      if (got === 0) break;
      torn.write(piece.subarray(0, got), at - end);
      at += got;
    }
    await syncFile(torn);
  } finally {
    torn.close();
  }
  await syncDirectory(files, directory);
  file.truncate(end);
  await syncFile(file);
}
