/**
 * The files of a ledger: `active.jsonl`, sealed `segment-<number>.jsonl`, `manifest.json` that
 * lists these, `index-<number>.bin` and `checkpoint.bin` next to them, and `torn-<time>` for data
 * after the end at a crash.
 */
import { readWhole, replaceFile } from "../../../platform/durable.ts";
import type { OpenFile } from "../../../platform/files.ts";
import { Refusal } from "../../../shared/errors.ts";
import type { Finding } from "./finding.ts";
import { corrupt, pathOf, type Storage } from "./storage.ts";

export const ACTIVE = "active.jsonl";
export const MANIFEST = "manifest.json";
const MANIFEST_VERSION = 1;
/** Segments that may be missing before one that is there. */
const GAP_MAX = 1000;

/**
 * A run of events in one file. Ordinals `[first, first + count)`, bytes `[0, bytes)` of the file.
 * Anything after that doesn't count.
 */
export interface Segment {
  number: number;
  /** The file's present name. */
  name: string;
  bytes: number;
  first: number;
  count: number;
  sealed: boolean;
  /** Ended by a failed write or sync: the file may hold more than `bytes`. */
  cut: boolean;
  file: OpenFile | null;
}

interface Entry {
  number: number;
  name: string;
  bytes: number;
  cut: boolean;
}

export function segmentName(number: number): string {
  return `segment-${String(number).padStart(6, "0")}.jsonl`;
}

export function indexName(number: number): string {
  return `index-${String(number).padStart(6, "0")}.bin`;
}

/**
 * The number of any file that claims to be a segment, including a copy with a suffix after its
 * number.
 */
function segmentNumber(name: string): number | null {
  const match = /^segment-(\d{1,15})(?:\D.*)?\.jsonl$/.exec(name);
  return match === null ? null : Number(match[1]);
}

/** What is in a ledger's directory. */
export interface Inventory {
  sealed: Entry[];
  hasActive: boolean;
  /**
   * The last sealed entry still has the active file's name: a crash came between the manifest and
   * the rename.
   */
  unfinishedCut: boolean;
  /** The manifest must be rewritten: it lacks a segment that was adopted. */
  manifestStale: boolean;
}

/**
 * Reads the manifest and the directory. Refuses with `ledger_corrupt` if they are ambiguous or
 * something is missing.
 */
export function takeInventory(storage: Storage, names: string[]): Inventory {
  const onDisk = segmentsOnDisk(names);
  for (const name of [ACTIVE, MANIFEST, ...onDisk.values()]) {
    const kind = storage.files.stat(pathOf(storage, name))?.kind ?? "file";
    if (kind !== "file") throw corrupt("A file of the ledger isn't a file.", { file: name });
  }
  const listed = names.includes(MANIFEST) ? readManifest(storage) : [];
  const hasActive = names.includes(ACTIVE);
  const byNumber = new Map(listed.map((entry) => [entry.number, entry]));
  let unfinishedCut = false;
  for (const entry of listed) {
    if (onDisk.has(entry.number)) continue;
    const isLast = entry === listed.at(-1) && entry.number > Math.max(0, ...onDisk.keys());
    if (!(entry.cut && isLast && hasActive))
      throw corrupt("A ledger segment is missing.", { number: entry.number, file: entry.name });
    unfinishedCut = true;
  }
  let manifestStale = false;
  for (const [number, name] of onDisk) {
    const entry = byNumber.get(number);
    if (entry !== undefined && entry.name !== name) {
      throw corrupt("A ledger segment's file isn't the one that the manifest lists.", {
        number,
        files: [entry.name, name],
      });
    }
    if (entry !== undefined) continue;
    const bytes = storage.files.stat(pathOf(storage, name))?.bytes ?? 0;
    byNumber.set(number, { number, name, bytes, cut: false });
    manifestStale = true;
  }
  const sealed = [...byNumber.values()].sort((a, b) => a.number - b.number);
  for (const [at, entry] of sealed.entries()) {
    if (entry.number !== at + 1) throw corrupt("A ledger segment is missing.", { number: at + 1 });
  }
  return { sealed, hasActive, unfinishedCut, manifestStale };
}

/** A file of a ledger that may be damaged. */
export interface LoosePart {
  number: number;
  name: string;
  /** The length that the manifest gives it; null if it doesn't. */
  bytes: number | null;
  isThere: boolean;
}

/**
 * The same of a damaged ledger: every number up to the last one, and the active file. Refuses with
 * `ledger_corrupt` when two files have one number, or a newer version wrote the manifest.
 */
export function looseInventory(storage: Storage, names: readonly string[], finding: Finding): LoosePart[] {
  const onDisk = segmentsOnDisk(names);
  const isFile = (name: string): boolean => {
    const kind = storage.files.stat(pathOf(storage, name))?.kind;
    if (kind !== undefined && kind !== "file") finding.note(`${name} isn't a file.`, name, 0);
    return kind === "file";
  };
  let listed: Entry[] = [];
  try {
    if (names.includes(MANIFEST) && isFile(MANIFEST)) listed = readManifest(storage);
  } catch (error) {
    if (!(error instanceof Refusal) || error.details["version"] !== undefined) throw error;
    finding.note("The ledger's manifest can't be read.", MANIFEST, 0);
  }
  const last = Math.max(0, ...onDisk.keys(), ...listed.map(({ number }) => number));
  // A name can claim any number.
  if (last > onDisk.size + listed.length + GAP_MAX)
    throw corrupt("A ledger segment is missing.", { number: last });
  const parts: LoosePart[] = [];
  let hasActive = names.includes(ACTIVE) && isFile(ACTIVE);
  for (let number = 1; number <= last; number += 1) {
    const entry = listed.find((one) => one.number === number);
    const name = onDisk.get(number) ?? segmentName(number);
    const bytes = entry?.bytes ?? null;
    if (onDisk.has(number)) {
      if (entry !== undefined && entry.name !== name)
        finding.note(`${name} isn't the file that the manifest lists.`, MANIFEST, 0);
      const isThere = isFile(name);
      const size = storage.files.stat(pathOf(storage, name))?.bytes ?? 0;
      if (isThere && bytes !== null && size < bytes)
        finding.note(`${name} has ${size} bytes; the manifest says ${bytes}.`, name, 0);
      if (isThere && bytes !== null && size > bytes && entry?.cut === false)
        finding.note(`${name} has ${size} bytes; the manifest says ${bytes}.`, name, 0);
      parts.push({ number, name, bytes, isThere });
    } else if (entry?.cut === true && number === last && hasActive) {
      parts.push({ number, name: ACTIVE, bytes, isThere: true });
      hasActive = false;
    } else {
      finding.note(`${name} is missing.`, name, 1);
      parts.push({ number, name, bytes, isThere: false });
    }
  }
  if (hasActive) parts.push({ number: last + 1, name: ACTIVE, bytes: null, isThere: true });
  return parts;
}

/** File names by number. Refuses with `ledger_corrupt` when two have the same. */
function segmentsOnDisk(names: readonly string[]): Map<number, string> {
  const onDisk = new Map<number, string>();
  for (const name of names) {
    const number = segmentNumber(name);
    if (number === null) continue;
    const other = onDisk.get(number);
    if (other !== undefined) {
      throw corrupt("Two ledger segments have the same number. Neither was used.", {
        number,
        files: [other, name].sort(),
      });
    }
    onDisk.set(number, name);
  }
  return onDisk;
}

function readManifest(storage: Storage): Entry[] {
  let value: { v?: unknown; segments?: unknown };
  try {
    value = JSON.parse(
      readWhole(storage.files, pathOf(storage, MANIFEST))?.toString("utf8") ?? "",
    ) as typeof value;
  } catch (error) {
    if (error instanceof SyntaxError)
      throw corrupt("The ledger's manifest can't be read.", { file: MANIFEST });
    throw error;
  }
  if (typeof value?.v === "number" && value.v > MANIFEST_VERSION) {
    throw corrupt("The ledger was written by a newer version.", { file: MANIFEST, version: value.v });
  }
  if (value?.v !== MANIFEST_VERSION || !Array.isArray(value.segments) || !value.segments.every(isEntry)) {
    throw corrupt("The ledger's manifest can't be read.", { file: MANIFEST });
  }
  return value.segments;
}

function isEntry(value: unknown): value is Entry {
  const entry = value as Partial<Entry> | null;
  return (
    typeof entry === "object" &&
    entry !== null &&
    Number.isSafeInteger(entry.number) &&
    typeof entry.name === "string" &&
    segmentNumber(entry.name) === entry.number &&
    Number.isSafeInteger(entry.bytes) &&
    typeof entry.cut === "boolean"
  );
}

/** Lists the sealed ones of `segments`, durably. */
export function writeManifest(storage: Storage, segments: readonly Segment[]): Promise<void> {
  const entries = segments
    .filter((segment) => segment.sealed)
    .map(({ number, bytes, cut, name }) => ({
      number,
      name: name === ACTIVE ? segmentName(number) : name,
      bytes,
      cut,
    }));
  return writeEntries(storage, entries);
}

/**
 * Lists every segment that is there, durably: those that have `changed` as they are now, the others
 * as they were listed.
 */
export async function rewriteManifest(storage: Storage, changed: (number: number) => boolean): Promise<void> {
  const names = storage.files.list(storage.directory);
  let listed: Entry[] = [];
  try {
    listed = names.includes(MANIFEST) ? readManifest(storage) : [];
  } catch {
    // It is one of the damaged files, or was half written by nobody: the files count.
  }
  const entries = [...segmentsOnDisk(names)].map(([number, name]) => {
    const known = listed.find((entry) => entry.number === number);
    if (known !== undefined && !changed(number)) return known;
    return { number, name, bytes: storage.files.stat(pathOf(storage, name))?.bytes ?? 0, cut: false };
  });
  await writeEntries(
    storage,
    entries.sort((one, other) => one.number - other.number),
  );
}

function writeEntries(storage: Storage, entries: readonly Entry[]): Promise<void> {
  const text = `${JSON.stringify({ v: MANIFEST_VERSION, segments: entries }, null, 1)}\n`;
  return replaceFile(storage.files, pathOf(storage, MANIFEST), Buffer.from(text));
}
