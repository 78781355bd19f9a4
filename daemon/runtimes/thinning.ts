/**
 * Leaves out of a flood of plain lines what would have scrolled out of sight before anybody could see it. What is drawn is the same: only
 * printable text, tabs and whole line ends are left out, between two line ends, and more lines follow than are kept.
 */

/** Shorter output is drawn as it is. */
const FLOOD_CHARACTERS = 128 * 1024;
const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const LINE_END = "\r\n";

/** `lines` is how many the scrollback holds and twice the screen: the first ones may overwrite what is there before anything scrolls. */
export function thinned(output: string, lines: number): string {
  if (output.length < FLOOD_CHARACTERS) return output;
  const plain = output.indexOf(LINE_END, afterSequence(output, lastControl(output) + 1));
  if (plain < 0) return output;
  const begin = plain + LINE_END.length;
  let tail = output.length;
  for (let left = lines + 1; left > 0; left -= 1) {
    tail = output.lastIndexOf(LINE_END, tail - 1);
    if (tail < begin) return output;
  }
  return output.slice(0, begin) + output.slice(tail + LINE_END.length);
}

/**
 * Where a control sequence that began before `from`, also in earlier output, has surely taken its final characters: line ends within a
 * sequence don't end it, printable text does, at its second character from `@` on at the latest (`ESC [ A`).
 */
function afterSequence(output: string, from: number): number {
  let at = from;
  for (let finals = 0; finals < 2 && at < output.length; at += 1) {
    const code = output.charCodeAt(at);
    if (code >= 0x40 && code < 0x7f) finals += 1;
  }
  return at;
}

/** Position of the last character that does more than print, tab or end a line; -1 without one. */
function lastControl(output: string): number {
  for (let at = output.length - 1; at >= 0; at -= 1) {
    const code = output.charCodeAt(at);
    if (code >= 0x20 && code < 0x7f) continue;
    if (code > 0x9f) continue;
    // A lone carriage return or line feed moves the cursor elsewhere.
    if (code === CARRIAGE_RETURN && output.charCodeAt(at + 1) === LINE_FEED) continue;
    if (code === LINE_FEED && output.charCodeAt(at - 1) === CARRIAGE_RETURN) continue;
    if (code !== TAB) return at;
  }
  return -1;
}
