/** One linear pass over the lines of a file, one piece at a time. */
import type { OpenFile } from "../../../platform/files.ts";
import { LINE_FEED } from "../format/line.ts";

/** Small enough to stay in the processor's cache between reading and scanning. */
const PIECE_BYTES = 256 * 1024;

/**
 * A line's bytes without its line feed, and where it begins in the file. False ends the scan in
 * front of this line.
 */
type LineVisitor = (bytes: Buffer, start: number, end: number, position: number) => boolean;

/** A long task in steps of about a millisecond, with a result at the end. */
export type Steps<Result> = Generator<void, Result, void>;

/** All steps at once. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/**
 * Visits the lines in `[from, to)`, a piece of the file in each step. Returns the position after
 * the last line that was taken; an unterminated rest is not visited.
 */
export function* scanLines(file: OpenFile, from: number, to: number, visit: LineVisitor): Steps<number> {
  let buffer = Buffer.allocUnsafe(Math.max(1, Math.min(PIECE_BYTES, to - from)));
  let held = 0;
  let position = from;
  for (;;) {
    const wanted = Math.min(buffer.length - held, to - position - held);
    if (wanted > 0) {
      const got = file.read(buffer.subarray(held, held + wanted), position + held);
      held += got;
    }
    const piece = buffer.subarray(0, held);
    let start = 0;
    for (;;) {
      const end = piece.indexOf(LINE_FEED, start);
      if (end < 0) break;
      if (!visit(buffer, start, end, position + start)) return position + start;
      start = end + 1;
    }
    yield;
    if (wanted <= 0 || (start === 0 && held < buffer.length)) return position + start;
    if (start === 0) {
      const wider = Buffer.allocUnsafe(buffer.length * 2);
      buffer.copy(wider, 0, 0, held);
      buffer = wider;
    } else {
      buffer.copy(buffer, 0, start, held);
      held -= start;
      position += start;
    }
  }
}
