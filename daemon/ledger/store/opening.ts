/**
 * Opening a ledger: inventory, index and projections, the end of the active file, and what a crash
 * left unfinished.
 */

import type { Clock } from "../../../platform/clock.ts";
import { timestamp } from "../../../platform/clock.ts";
import { isTemporary, syncDirectory, syncFile } from "../../../platform/durable.ts";
import type { OpenFile } from "../../../platform/files.ts";
import { LINE_FEED } from "../format/line.ts";
import { History } from "../history.ts";
import { claimedCount, loadIndex } from "../index/index-file.ts";
import { atOnce } from "../index/line-scan.ts";
import { Rebuild } from "../index/rebuild.ts";
import { loadTables } from "../index/tables-file.ts";
import type { LedgerLimits, LedgerOptions } from "../types.ts";
import { ActiveFile } from "./active-file.ts";
import { type Anchor, restoreCheckpoint } from "./checkpoint.ts";
import { ACTIVE, type Inventory, type Segment, takeInventory, writeManifest } from "./segments.ts";
import { corrupt, pathOf, type Storage } from "./storage.ts";

const COPY_BYTES = 1024 * 1024;
const SAMPLE_BYTES = 64 * 1024;

export interface Opened {
  history: History;
  active: ActiveFile | null;
  /** Sealed segments that had to be read because they have no usable index file. */
  unindexed: Segment[];
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

  const history = new History(storage, options);
  addSegments(history, inventory);
  try {
    return await fillHistory(history, inventory, limits, clock);
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
): Promise<Opened> {
  const { storage } = history;
  const { followers, anchor } = restoreCheckpoint(history);
  const rebuild = new Rebuild(history, followers);
  history.index.reserve(expectedEvents(history));
  const unindexed = await readSealed(history, rebuild, clock);
  const active = inventory.hasActive ? await openActive(history, rebuild, limits, clock) : null;
  history.index.settle();
  if (anchor !== null && !holds(history, anchor)) replayAll(history);
  if (inventory.manifestStale) await writeManifest(storage, history.segments);
  return { history, active, unindexed };
}

/** Gives the segments that have no usable index file. */
async function readSealed(history: History, rebuild: Rebuild, clock: Clock): Promise<Segment[]> {
  const { storage } = history;
  const unindexed: Segment[] = [];
  for (const segment of history.segments) {
    const size = storage.files.stat(pathOf(storage, segment.name))?.bytes ?? 0;
    if (size < segment.bytes)
      throw corrupt("A ledger segment is shorter than the manifest says.", {
        number: segment.number,
        bytes: size,
      });
    if (size > segment.bytes) await trimSegment(storage, segment, size, clock);
    segment.first = history.count;
    const covered = loadIndex(history, segment);
    if (covered > 0) {
      loadTables(history);
      if (rebuild.isNeeded(history.count))
        atOnce(rebuild.past(segment, history.fileOf(segment), { from: 0, to: covered }, segment.first));
    }
    if (covered === segment.bytes) continue;
    unindexed.push(segment);
    atOnce(rebuild.part(segment, history.fileOf(segment), { from: covered, to: segment.bytes }));
  }
  return unindexed;
}

function parentOf(directory: string): string {
  return directory.slice(0, Math.max(1, directory.lastIndexOf("/")));
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

/**
 * A segment ended by a failed write holds bytes that were never acknowledged; any other longer than
 * the manifest says is foreign.
 */
async function trimSegment(storage: Storage, segment: Segment, size: number, clock: Clock): Promise<void> {
  if (!segment.cut)
    throw corrupt("A ledger segment is longer than the manifest says.", {
      number: segment.number,
      bytes: size,
    });
  const file = storage.files.open(pathOf(storage, segment.name), "write");
  try {
    await cutBehind(storage, file, segment.bytes, size, clock);
  } finally {
    file.close();
  }
}

async function openActive(
  history: History,
  rebuild: Rebuild,
  limits: LedgerLimits,
  clock: Clock,
): Promise<ActiveFile> {
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
    if (covered > 0) loadTables(history);
    segment.bytes = rebuild.active(segment, file, covered, used, used - limits.batchBytes);
    if (segment.bytes < used) {
      await cutBehind(storage, file, segment.bytes, used, clock);
      return new ActiveFile(file, segment.bytes, segment.bytes, limits.extendBytes);
    }
    await syncFile(file);
    return new ActiveFile(file, used, size, limits.extendBytes);
  } catch (error) {
    file.close();
    throw error;
  }
}

/** Where the file's allocated space begins: after its last line that isn't blank. */
function usedBytes(file: OpenFile, size: number): number {
  const piece = Buffer.allocUnsafe(64 * 1024);
  let end = size;
  while (end > 0) {
    const from = Math.max(0, end - piece.length);
    const got = file.read(piece.subarray(0, end - from), from);
    let at = got;
    while (at > 0 && piece[at - 1] === LINE_FEED) at -= 1;
    if (at > 0) return Math.min(size, from + at + 1);
    end = from;
  }
  return 0;
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
