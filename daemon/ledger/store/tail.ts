/**
 * What follows the last whole line of an active file: a batch that a crash tore, which was never
 * acknowledged, or lines that were recorded and are behind a damaged one.
 */
import type { OpenFile } from "../../../platform/files.ts";
import { decodeLine, LINE_FEED } from "../format/line.ts";
import type { History } from "../history.ts";

/** A disk writes no less at once. */
const SECTOR_BYTES = 512;

/**
 * Why the bytes `[end, used)` can't be the rest of one torn batch; null when they can. A crash
 * leaves of a batch whole sectors, and line feeds in place of those that didn't arrive. Lines that
 * are whole behind a broken one are therefore a torn batch's only if every broken line ends or
 * begins at such a hole. Without a whole line nothing shows that anything was recorded there.
 */
export function damageBehind(
  history: History,
  file: OpenFile,
  { end, used }: { end: number; used: number },
  batchBytes: number,
): string | null {
  const problem = `${history.segments.at(-1)!.name} has a damaged line at byte ${end}, and whole ones behind it.`;
  if (used - end > batchBytes) return hasNewEvent(history, file, end, used) ? problem : null;
  const bytes = Buffer.alloc(used - end);
  file.read(bytes, end);
  let isBroken = false;
  let isExplained = true;
  let isWholeBehind = false;
  for (const [from, to] of linesOf(bytes)) {
    if (isNewEvent(history, bytes, from, to)) {
      // Whole ones in front of a broken one are the beginning of an atomic batch.
      isWholeBehind ||= isBroken;
      continue;
    }
    isBroken = true;
    isExplained &&= from < to ? isAtHole(bytes, end, from, to) : isInHole(bytes, end, from);
  }
  return isWholeBehind && !isExplained ? problem : null;
}

function* linesOf(bytes: Buffer): Generator<[from: number, to: number]> {
  for (let from = 0; from < bytes.length; ) {
    const found = bytes.indexOf(LINE_FEED, from);
    const to = found < 0 ? bytes.length : found;
    yield [from, to];
    from = to + 1;
  }
}

/** An event of this Group that isn't recorded before the end. */
function isNewEvent(history: History, bytes: Buffer, from: number, to: number): boolean {
  const event = decodeLine(bytes.toString("utf8", from, to));
  if (event === null || event.group_id !== history.options.group_id) return false;
  return history.ordinalOf(event.id) === undefined;
}

function isAtHole(bytes: Buffer, end: number, from: number, to: number): boolean {
  const beginsBehind = (end + from) % SECTOR_BYTES === 0 && from > 0 && isHole(bytes, end, from - 1);
  const endsBefore = (end + to) % SECTOR_BYTES === 0 && (to >= bytes.length - 1 || isHole(bytes, end, to));
  return beginsBehind || endsBefore;
}

/** Whether a blank line is part of a hole: its own byte's sector, or the line feed before one. */
function isInHole(bytes: Buffer, end: number, at: number): boolean {
  return isHole(bytes, end, at) || (at + 1 < bytes.length && isHole(bytes, end, at + 1));
}

/** Whether the sector of this byte, as far as it is behind the end, is nothing but line feeds. */
function isHole(bytes: Buffer, end: number, at: number): boolean {
  const sector = Math.floor((end + at) / SECTOR_BYTES) * SECTOR_BYTES;
  const from = Math.max(0, sector - end);
  const to = Math.min(bytes.length, sector + SECTOR_BYTES - end);
  for (let byte = from; byte < to; byte += 1) if (bytes[byte] !== LINE_FEED) return false;
  return true;
}

const PIECE_BYTES = 4 * 1024 * 1024;

/** Of a region too long for one batch; a line across two pieces isn't looked at. */
function hasNewEvent(history: History, file: OpenFile, end: number, used: number): boolean {
  const piece = Buffer.alloc(Math.min(PIECE_BYTES, used - end));
  for (let at = end; at < used; at += piece.length) {
    const bytes = piece.subarray(0, Math.min(piece.length, used - at));
    file.read(bytes, at);
    for (const [from, to] of linesOf(bytes)) if (isNewEvent(history, bytes, from, to)) return true;
  }
  return false;
}
