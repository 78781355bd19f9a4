/** Where the segments of a history are cut, so that two threads can read them and neither waits long for the other. */
import type { OpenFile } from "../../../platform/files.ts";
import { LINE_FEED } from "../format/line.ts";

/** Bytes `[from, to)` of a segment: whole lines. What is sealed was acknowledged, so a batch may be cut. */
export interface Part {
  from: number;
  to: number;
}

/** Where a longer line than this stands, there is no cut. */
const LOOK_BYTES = 64 * 1024;

/** The parts of a file of `bytes`, each of about `size`. */
export function partsOf(file: OpenFile, bytes: number, size: number): Part[] {
  const parts: Part[] = [];
  const look = Buffer.allocUnsafe(LOOK_BYTES);
  let from = 0;
  for (let near = size; near < bytes; near += size) {
    const got = file.read(look.subarray(0, Math.min(LOOK_BYTES, bytes - near)), near);
    const to = near + look.subarray(0, got).indexOf(LINE_FEED) + 1;
    if (to === near || to >= bytes) continue;
    parts.push({ from, to });
    from = to;
  }
  parts.push({ from, to: bytes });
  return parts;
}
