/**
 * The files of a ledger: `active.jsonl`, sealed `segment-<number>.jsonl`, `manifest.json` that
 * lists these, `index-<number>.bin` and `checkpoint.bin` next to them, and `torn-<time>` for data
 * after the end at a crash.
 */
import { readWhole, replaceFile } from "../../../platform/durable.ts";
import type { OpenFile } from "../../../platform/files.ts";
import { corrupt, pathOf, type Storage } from "./storage.ts";

export const ACTIVE = "active.jsonl";
const MANIFEST = "manifest.json";
const MANIFEST_VERSION = 1;

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
  const text = `${JSON.stringify({ v: MANIFEST_VERSION, segments: entries }, null, 1)}\n`;
  return replaceFile(storage.files, pathOf(storage, MANIFEST), Buffer.from(text));
}
