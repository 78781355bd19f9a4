/**
 * The index of one segment's events, kept next to it: `index-<number>.bin`. It is valid only for
 * the bytes it was made from: it contains their number and a digest of samples of them. A stale,
 * foreign or broken one counts as missing.
 */
import { createHash } from "node:crypto";
import { replaceFile } from "../../../platform/durable.ts";
import type { OpenFile } from "../../../platform/files.ts";
import type { Claim } from "../files/claim.ts";
import { indexName, type Segment } from "../files/segments.ts";
import { pathOf, type Storage } from "../files/storage.ts";
import { checksummed, readChecksummed } from "../format/checksummed.ts";
import type { History } from "../history.ts";
import type { Columns } from "./event-index.ts";

const MAGIC = "svcidx03";
const EDGE_BYTES = 4096;
const SAMPLE_BYTES = 256;
const SAMPLES = 32;
const BYTES_PER_EVENT = 33;
/** No event is shorter. */
const SHORTEST_LINE_BYTES = 64;

interface Header {
  number: number;
  group_id: string;
  first: number;
  count: number;
  /** Length of the part of the segment that it covers. */
  bytes: number;
  sample: string;
  kinds: string[];
}

/** Digest over both ends of the first `bytes` bytes and spots between them. */
export function sampleOf(file: OpenFile, bytes: number): string {
  const hash = createHash("sha256");
  const piece = Buffer.alloc(EDGE_BYTES);
  const take = (from: number, length: number): void => {
    const start = Math.max(0, from);
    const part = piece.subarray(0, Math.min(length, bytes - start));
    hash.update(part.subarray(0, file.read(part, start)));
  };
  take(0, EDGE_BYTES);
  take(bytes - EDGE_BYTES, EDGE_BYTES);
  for (let spot = 1; spot <= SAMPLES; spot += 1)
    take(Math.floor((bytes * spot) / (SAMPLES + 1)), SAMPLE_BYTES);
  return hash.digest("hex");
}

/**
 * Events that the segment's index file claims to cover; 0 without one. Only good for making room.
 */
export function claimedCount(history: History, segment: Segment): number {
  const { files } = history.storage;
  const path = pathOf(history.storage, indexName(segment.number));
  const status = files.stat(path);
  return status?.kind === "file"
    ? Math.floor(Math.min(status.bytes / BYTES_PER_EVENT, segment.bytes / SHORTEST_LINE_BYTES))
    : 0;
}

/** Saves the segment's part of the index. A crash may lose it; then an open reads the segment. */
export async function writeIndex(history: History, segment: Segment): Promise<void> {
  const { first, count, bytes, number } = segment;
  const columns = history.index.columns(first, count);
  const { group_id: groupId } = history.options;
  const sample = sampleOf(history.fileOf(segment), bytes);
  const header: Header = { number, group_id: groupId, first, count, bytes, sample, kinds: history.kinds };
  await replaceFile(
    history.storage.files,
    pathOf(history.storage, indexName(number)),
    checksummed(MAGIC, header, sections(columns)),
    { durable: false },
  );
}

/**
 * Enters the events that the segment's index file covers. Returns the bytes they take, 0 when there
 * is no usable one.
 */
export function loadIndex(history: History, segment: Segment): number {
  const { files } = history.storage;
  const path = pathOf(history.storage, indexName(segment.number));
  if (files.stat(path)?.kind !== "file") return 0;
  const file = files.open(path, "read");
  try {
    return load(history, segment, file);
  } finally {
    file.close();
  }
}

function load(history: History, segment: Segment, file: OpenFile): number {
  let header: Header | null = null;
  let loaded: Columns | null = null;
  const size = file.size();
  const first = history.count;
  // The header is needed before room can be made, and the sections are read into the index's own
  // arrays.
  const peeked = peek(file);
  if (peeked === null || !fits(history, segment, peeked, size)) return 0;
  const done = history.index.load(peeked.count, (columns) => {
    const isWhole = readChecksummed(file, MAGIC, (value) => {
      header = value as Header;
      return sections(columns);
    });
    loaded = columns;
    return isWhole && remap(history, columns, header!.kinds);
  });
  if (!done || loaded === null) return 0;
  segment.first = first;
  segment.count = peeked.count;
  return peeked.bytes;
}

/** What an index file says was recorded; null when it isn't whole or of another Group. */
export function readIndexClaim(
  storage: Storage,
  name: string,
  number: number,
  groupId: string,
): Claim | null {
  const { files } = storage;
  const path = pathOf(storage, name);
  const status = files.stat(path);
  if (status?.kind !== "file") return null;
  const file = files.open(path, "read");
  try {
    let header: Header | null = null;
    const ids: Uint32Array[] = [];
    const isWhole = readChecksummed(file, MAGIC, (value) => {
      header = value as Header;
      const { count } = header;
      if (header.group_id !== groupId || header.number !== number) return null;
      if (!Number.isSafeInteger(count) || count <= 0 || count * BYTES_PER_EVENT > status.bytes) return null;
      ids.push(new Uint32Array(count * 4));
      return sections({
        ids: ids[0]!,
        positions: new Uint32Array(count),
        keys: new Uint32Array(count * 2),
        sources: new Uint32Array(count),
        kinds: new Uint8Array(count),
      });
    });
    if (!isWhole || header === null) return null;
    const { first, count, bytes, sample } = header as Header;
    return { file: name, events: first + count, first, ids: ids[0]!, made: { number, bytes, sample } };
  } finally {
    file.close();
  }
}

function peek(file: OpenFile): Header | null {
  let header: Header | null = null;
  readChecksummed(file, MAGIC, (value) => {
    header = value as Header;
    return null;
  });
  return header;
}

function fits(history: History, segment: Segment, header: Header, size: number): boolean {
  const { number, group_id: groupId, first, count, bytes, sample, kinds } = header;
  if (number !== segment.number || groupId !== history.options.group_id || first !== history.count)
    return false;
  if (!Number.isSafeInteger(count) || count < 0 || count * BYTES_PER_EVENT > size || !Array.isArray(kinds))
    return false;
  if (!Number.isSafeInteger(bytes) || bytes < 0 || bytes > segment.bytes) return false;
  return sample === sampleOf(history.fileOf(segment), bytes);
}

function sections(columns: Columns): Uint8Array[] {
  const { ids, positions, keys, sources, kinds } = columns;
  return [asBytes(ids), asBytes(positions), asBytes(keys), asBytes(sources), kinds];
}

export function asBytes(array: Uint32Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** Turns the file's kind codes into ours. */
function remap(history: History, columns: Columns, kinds: string[]): boolean {
  const codes = Uint8Array.from({ length: 256 }, (_, code) =>
    code < kinds.length ? history.kindCode(String(kinds[code])) : 255,
  );
  if (kinds.every((_, code) => codes[code] === code)) return true;
  for (let at = 0; at < columns.kinds.length; at += 1) columns.kinds[at] = codes[columns.kinds[at]!]!;
  return true;
}
