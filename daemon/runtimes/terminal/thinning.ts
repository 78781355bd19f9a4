/**
 * Leaves out of a flood of plain lines what would have scrolled out of sight before anyone could
 * see it. The drawn result is the same: only printable text, tabs and whole line ends are left out,
 * between two line ends, and only if more lines follow than are kept. Nothing is left out once a
 * program has set margins (DECSTBM): outside of them lines stay, and the last row is overwritten
 * without a line end.
 */

const ESCAPE = 0x1b;
const CANCEL = 0x18;
const SUBSTITUTE = 0x1a;
/** Begins a control sequence as `ESC [` does; in UTF-8 it follows the lead. */
const SEQUENCE = 0x9b;
const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const DELETE = 0x7f;
/** Before a byte up to 0x9f it is a control character of two bytes. */
const CONTROL_LEAD = 0xc2;
/** Final characters: `ESC c`, `ESC [`, and `r` of a control sequence. */
const FULL_RESET = 0x63;
const OPEN_BRACKET = 0x5b;
const SET_MARGINS = 0x72;
const LINE_END = Buffer.from("\r\n");

const SPACES = 0x20202020;
const DELETES = 0x7f7f7f7f;
const ONES = 0x01010101;
const HIGHEST = 0x80808080;

/** Where there is a control sequence that may set the margins. */
type Within = "text" | "escape" | "sequence";

/** One terminal's output: sees all of it, and thins out what the caller asks for. */
export class Thinning {
  #within: Within = "text";
  #hasMargins = false;
  #lastByte = 0;

  /** The next output, in its order; a character or a sequence may be cut by its ends. */
  see(output: Uint8Array): void {
    let escape = -1;
    let sequence = -1;
    for (let at = 0; at < output.length; at += 1) {
      if (this.#within === "text") {
        if (escape < at) escape = place(output, ESCAPE, at);
        if (sequence < at) sequence = place(output, SEQUENCE, at);
        at = Math.min(escape, sequence);
        if (at === output.length) break;
        if (at === escape) this.#within = "escape";
        else if ((at === 0 ? this.#lastByte : output[at - 1]) === CONTROL_LEAD) this.#within = "sequence";
      } else this.#follow(output[at]!);
    }
    this.#lastByte = output.at(-1) ?? this.#lastByte;
  }

  /**
   * `output` is UTF-8, perhaps cut within a character, and the last that `see` was given. `lines`
   * is how many the scrollback holds and twice the screen: the first ones may overwrite what is
   * there before anything scrolls. Gives `output` itself or a shorter copy.
   */
  thinned(output: Buffer, lines: number): Buffer {
    if (this.#hasMargins) return output;
    const plain = output.indexOf(LINE_END, afterSequence(output, lastControl(output) + 1));
    if (plain < 0) return output;
    const begin = plain + LINE_END.length;
    let tail = output.length;
    for (let left = lines + 1; left > 0; left -= 1) {
      tail = tail === 0 ? -1 : output.lastIndexOf(LINE_END, tail - 1);
      if (tail < begin) return output;
    }
    return Buffer.concat([output.subarray(0, begin), output.subarray(tail + LINE_END.length)]);
  }

  /**
   * A byte within an escape or control sequence; control characters in it are obeyed and don't end
   * it.
   */
  #follow(byte: number): void {
    if (byte === ESCAPE) this.#within = "escape";
    else if (byte === CANCEL || byte === SUBSTITUTE) this.#within = "text";
    else if (this.#within === "escape") {
      if (byte < 0x30) return;
      this.#within = byte === OPEN_BRACKET ? "sequence" : "text";
      if (byte === FULL_RESET) this.#hasMargins = false;
    } else if (byte >= 0x40 && byte !== DELETE) {
      this.#within = "text";
      if (byte === SET_MARGINS) this.#hasMargins = true;
    }
  }
}

/** The position of a byte from `from` on; the end without one. */
function place(output: Uint8Array, byte: number, from: number): number {
  const at = output.indexOf(byte, from);
  return at < 0 ? output.length : at;
}

/**
 * Where a control sequence that began before `from`, also in earlier output, has surely taken its
 * final characters: line ends within a sequence don't end it, printable text does, at its second
 * character from `@` on at the latest (`ESC [ A`).
 */
function afterSequence(output: Buffer, from: number): number {
  let at = from;
  for (let finals = 0; finals < 2 && at < output.length; at += 1) {
    const byte = output[at]!;
    if (byte >= 0x40 && byte < DELETE) finals += 1;
  }
  return at;
}

/**
 * Position of the last character that does more than print, tab or end a line; -1 without one.
 * Looks at four bytes at once where it can.
 */
function lastControl(output: Buffer): number {
  const view = new DataView(output.buffer, output.byteOffset, output.length);
  let at = output.length - 1;
  while (at >= 0) {
    if (at >= 3) {
      const four = view.getInt32(at - 3, true);
      const deletes = four ^ DELETES;
      // A byte that is smaller borrows from its highest bit, and so does one that is zero after the
      // comparison.
      if ((((four - SPACES) & ~four) | ((deletes - ONES) & ~deletes) | four) & HIGHEST) {
        for (const end = at - 4; at > end; at -= 1) if (isControl(output, at)) return at;
      } else at -= 4;
      continue;
    }
    if (isControl(output, at)) return at;
    at -= 1;
  }
  return -1;
}

function isControl(output: Buffer, at: number): boolean {
  const byte = output[at]!;
  if (byte >= 0x20 && byte < DELETE) return false;
  if (byte > DELETE) return byte <= 0x9f && (at === 0 || output[at - 1] === CONTROL_LEAD);
  // A lone carriage return or line feed moves the cursor elsewhere.
  if (byte === CARRIAGE_RETURN) return output[at + 1] !== LINE_FEED;
  if (byte === LINE_FEED) return output[at - 1] !== CARRIAGE_RETURN;
  return byte !== TAB;
}
