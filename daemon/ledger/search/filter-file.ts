/**
 * `filter-<number>.bin`: which blocks of a segment can contain a text (grams.ts). It covers the
 * segment's beginning, which never changes, and is valid only for the bytes it was made from. Its
 * rows stay on disk: a search reads only those it needs.
 */
import { replaceFile } from "../../../platform/durable.ts";
import type { OpenFile } from "../../../platform/files.ts";
import type { Segment } from "../files/segments.ts";
import { pathOf } from "../files/storage.ts";
import { checksummed, readChecksummed } from "../format/checksummed.ts";
import type { History } from "../history.ts";
import { asBytes, sampleOf } from "../index/index-file.ts";
import { SLOTS } from "./grams.ts";

const MAGIC = "svcflt01";
const WORD_BYTES = 4;
const CHECKSUM_AT = 12;
/** Events belong to the block that their line begins in. */
export const BLOCK_BYTES = 32 * 1024;
/** Anything after this many blocks has no filter: only a foreign segment is that long. */
const BLOCKS_MAX = 4096;

interface Header {
  number: number;
  group_id: string;
  /** Length of the part of the segment that it covers. */
  bytes: number;
  /** 32-bit words in a row. */
  width: number;
  sample: string;
}

/** A filter that was found whole. */
export interface Filter {
  bytes: number;
  width: number;
  rowsAt: number;
  checksum: number;
}

/** Which blocks below `bytes` may hold a text: a bit each. */
export interface Candidates {
  bytes: number;
  bits: Uint32Array;
}

function filterPath(history: History, segment: Segment): string {
  return pathOf(history.storage, `filter-${String(segment.number).padStart(6, "0")}.bin`);
}

/** Bytes of the segment that a filter can cover now: of the active file whole blocks only. */
export function coverable(segment: Segment): number {
  const blocks = Math.floor(segment.bytes / BLOCK_BYTES);
  if (blocks >= BLOCKS_MAX) return BLOCKS_MAX * BLOCK_BYTES;
  return segment.sealed ? segment.bytes : blocks * BLOCK_BYTES;
}

export function widthFor(bytes: number): number {
  return Math.ceil(bytes / BLOCK_BYTES / 32);
}

function opened<Result>(history: History, segment: Segment, read: (file: OpenFile) => Result): Result | null {
  const { files } = history.storage;
  const path = filterPath(history, segment);
  if (files.stat(path)?.kind !== "file") return null;
  const file = files.open(path, "read");
  try {
    return read(file);
  } finally {
    file.close();
  }
}

/**
 * The segment's filter with all its rows; null when there is no usable one. Reads the whole file: a
 * few milliseconds.
 */
export function loadFilter(history: History, segment: Segment): { filter: Filter; rows: Uint32Array } | null {
  return opened(history, segment, (file) => {
    let header: Header | null = null;
    const rows: Uint32Array[] = [];
    const isWhole = readChecksummed(file, MAGIC, (value) => {
      header = value as Header;
      if (!fits(history, segment, header)) return null;
      rows.push(new Uint32Array(SLOTS * header.width));
      return rows.map(asBytes);
    });
    if (!isWhole || header === null) return null;
    const { bytes, width } = header as Header;
    const rowsAt = file.size() - SLOTS * width * WORD_BYTES;
    return { filter: { bytes, width, rowsAt, checksum: checksumOf(file) }, rows: rows[0]! };
  });
}

function checksumOf(file: OpenFile): number {
  const bytes = Buffer.alloc(WORD_BYTES);
  file.read(bytes, CHECKSUM_AT);
  return bytes.readUInt32LE(0);
}

function fits(history: History, segment: Segment, header: Header): boolean {
  const { number, group_id: groupId, bytes, width, sample } = header;
  if (number !== segment.number || groupId !== history.options.group_id) return false;
  if (!Number.isSafeInteger(bytes) || bytes <= 0 || bytes > coverable(segment)) return false;
  return width === widthFor(bytes) && sample === sampleOf(history.fileOf(segment), bytes);
}

/** May be lost in a crash; then a search reads the segment. */
export async function writeFilter(
  history: History,
  segment: Segment,
  bytes: number,
  rows: Uint32Array,
): Promise<void> {
  const header: Header = {
    number: segment.number,
    group_id: history.options.group_id,
    bytes,
    width: rows.length / SLOTS,
    sample: sampleOf(history.fileOf(segment), bytes),
  };
  const parts = checksummed(MAGIC, header, [asBytes(rows)]);
  await replaceFile(history.storage.files, filterPath(history, segment), parts, { durable: false });
}

/**
 * The blocks whose bits are set in all these rows; null when the file isn't the one that was found
 * whole.
 */
export function readCandidates(
  history: History,
  segment: Segment,
  filter: Filter,
  slots: readonly number[],
): Candidates | null {
  return opened(history, segment, (file) => {
    if (checksumOf(file) !== filter.checksum) return null;
    const { bytes, width, rowsAt } = filter;
    const row = new Uint32Array(width);
    const bits = new Uint32Array(width).fill(0xffffffff);
    for (const slot of slots) {
      const got = file.read(asBytes(row), rowsAt + slot * width * WORD_BYTES);
      if (got < width * WORD_BYTES) return null;
      let all = 0;
      for (let word = 0; word < width; word += 1) all |= bits[word]! &= row[word]!;
      if (all === 0) break;
    }
    return { bytes, bits };
  });
}
