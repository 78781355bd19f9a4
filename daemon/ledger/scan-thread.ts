/** The other thread of an open: scans sealed segments from the last one on, while the opening thread comes from the first. */
import type { Files } from "../platform/files.ts";
import { EventColumns } from "./event-columns.ts";
import { atOnce, scanLines } from "./line-scan.ts";
import { SegmentScan } from "./segment-scan.ts";
import type { KeyOf } from "./types.ts";

/** Raises when a message between the two changes: an upgrade may put a newer program beside a running daemon. */
export const SCAN_FORMAT = 1;

export interface ScanJob {
  format: typeof SCAN_FORMAT;
  group_id: string;
  segments: { path: string; bytes: number }[];
  /** In shared memory, one of each segment: 0 until a thread has taken it. */
  taken: Int32Array;
}

export interface ScannedSegment {
  place: number;
  /** Null when it can't be read or has a line that isn't an event: the opening thread then finds out what is wrong. */
  columns: EventColumns | null;
}

/** Whether the segment is the caller's to scan now. */
export function takeSegment(taken: Int32Array, place: number): boolean {
  return Atomics.compareExchange(taken, place, 0, 1) === 0;
}

/** Scans what nobody has taken. `tell` gets every segment that was; its arrays may be given away. */
export function scanSegments(
  files: Files,
  keyOf: KeyOf,
  job: ScanJob,
  tell: (segment: ScannedSegment) => void,
): void {
  if (job.format !== SCAN_FORMAT) return;
  const scan = new SegmentScan(job.group_id, keyOf);
  for (let place = job.segments.length - 1; place >= 0; place -= 1) {
    if (!takeSegment(job.taken, place)) continue;
    const { path, bytes } = job.segments[place]!;
    tell({ place, columns: columnsOf(files, scan, path, bytes) });
  }
}

function columnsOf(files: Files, scan: SegmentScan, path: string, bytes: number): EventColumns | null {
  const columns = new EventColumns(bytes);
  try {
    const file = files.open(path, "read");
    try {
      const lines = scanLines(file, 0, bytes, (piece, start, end, position) => {
        const head = scan.read(piece, start, end);
        if (head !== null) scan.enter(head, position, columns);
        return head !== null;
      });
      return atOnce(lines) === bytes ? columns : null;
    } finally {
      file.close();
    }
  } catch {
    return null;
  }
}
