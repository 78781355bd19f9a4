/** The other thread of an open: scans parts of sealed segments from the last one on, while the opening thread comes from the first. */
import type { Files } from "../../../platform/files.ts";
import type { KeyOf } from "../types.ts";
import { EventColumns } from "./event-columns.ts";
import { atOnce, scanLines } from "./line-scan.ts";
import type { Part } from "./segment-parts.ts";
import { SegmentScan } from "./segment-scan.ts";

/** Raises when a message between the two changes: an upgrade may put a newer program beside a running daemon. */
export const SCAN_FORMAT = 2;

export interface ScanJob {
  format: typeof SCAN_FORMAT;
  group_id: string;
  parts: (Part & { path: string })[];
  /** In shared memory, one of each part: 0 until a thread has taken it. */
  taken: Int32Array;
}

export interface ScannedPart {
  place: number;
  /** Null when it can't be read or has a line that isn't an event: the opening thread then finds out what is wrong. */
  columns: EventColumns | null;
}

/** Whether the part is the caller's to scan now. */
export function takePart(taken: Int32Array, place: number): boolean {
  return Atomics.compareExchange(taken, place, 0, 1) === 0;
}

/** Scans what nobody has taken. `tell` gets every part that was; its arrays may be given away. */
export function scanParts(files: Files, keyOf: KeyOf, job: ScanJob, tell: (part: ScannedPart) => void): void {
  if (job.format !== SCAN_FORMAT) return;
  const scan = new SegmentScan(job.group_id, keyOf);
  for (let place = job.parts.length - 1; place >= 0; place -= 1) {
    if (!takePart(job.taken, place)) continue;
    tell({ place, columns: columnsOf(files, scan, job.parts[place]!) });
  }
}

function columnsOf(
  files: Files,
  scan: SegmentScan,
  { path, from, to }: ScanJob["parts"][number],
): EventColumns | null {
  const columns = new EventColumns(to - from);
  try {
    const file = files.open(path, "read");
    try {
      const lines = scanLines(file, from, to, (piece, start, end, position) => {
        const head = scan.read(piece, start, end);
        if (head !== null) scan.enter(head, position, columns);
        return head !== null;
      });
      return atOnce(lines) === to ? columns : null;
    } finally {
      file.close();
    }
  } catch {
    return null;
  }
}
