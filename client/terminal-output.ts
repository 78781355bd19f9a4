/**
 * Makes a program's terminal output safe to show in another terminal. The daemon answers what the
 * program asks its terminal. If the questions were passed on, this terminal would answer too, as if
 * someone were typing. The program also can't reach this machine's clipboard.
 *
 * Terminals obey control characters within a sequence, and read a control character of two bytes
 * (U+0080 to U+009F) as an escape sequence. So does this, and passes sequences on in their plain
 * form: a question in disguise is one as well.
 */

const ESCAPE = 0x1b;
const BELL = 0x07;
const ENQUIRY = 0x05;
const DELETE = 0x7f;
const SPACE = 0x20;
const CANCEL = new Set([0x18, 0x1a]);
/** The first byte of U+0080 to U+00BF. */
const CONTROL_LEAD = 0xc2;
/** `ESC [` begins a control sequence, `ESC ]` an operating system command. */
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const BACKSLASH = 0x5c;
/** What begins a string that `ESC \` ends: commands, and P, X, ^ and _. */
const STRINGS = new Set([CLOSE_BRACKET, 0x50, 0x58, 0x5e, 0x5f]);
/** A longer sequence isn't passed on. */
const LONGEST = 64 * 1024;

const LEADING_ZEROS = /(?<!\d)0+(?=\d)/g;
/**
 * Control sequences that ask for device attributes and version, status and position, modes, window,
 * keyboard, settings or what is on the screen.
 */
const ASKS = new RegExp(
  [
    /[>=?]?[\d;:]*c|>[\d;:]*q|\??[\d;:]*n|[\d;:]*x|\?[\d;:]*[muS]/,
    /(?:1[1-689]|2[01])(?:[;:]\d*)*t/,
    /[>=?]?[\d;:]*(?:\$[pqtuvw]|\*[yz]|'[|w]|&[uw]|#[|RS])/,
  ]
    .map(({ source }) => `^\\[(?:${source})$`)
    .join("|"),
);
/**
 * Operating system commands that ask for a color, font or setting, or that concern the clipboard or
 * files.
 */
const ASKS_SYSTEM = /^\](?:(?:52|6[0-2]|1337|5522)(?!\d)|(?:4|5|1\d|2\d|50);(?:[^;]*;)*\?)/;
/** Device control and other strings ask, too, or reach another terminal around this one. */
const ASKS_OTHERWISE = /^[PX^_Z]/;

export class TerminalOutput {
  /** A sequence that has begun, without control characters in it; null for none. */
  #begun: number[] | null = null;
  /** In a string: the last byte was an escape, which ends it. */
  #isEnding = false;
  /** The last byte was the first one of two. */
  #isLed = false;

  /** The part of the bytes, and of an earlier unfinished sequence, that may be shown now. */
  filter(bytes: Uint8Array): Buffer {
    const shown: number[] = [];
    for (const byte of bytes) {
      const isLed = this.#isLed;
      this.#isLed = byte === CONTROL_LEAD;
      if (isLed && byte >= 0x80 && byte <= 0x9f) {
        this.#take(ESCAPE, shown);
        this.#take(byte - 0x40, shown);
        continue;
      }
      if (isLed) this.#take(CONTROL_LEAD, shown);
      if (!this.#isLed) this.#take(byte, shown);
    }
    return Buffer.from(shown);
  }

  #take(byte: number, shown: number[]): void {
    const begun = this.#begun;
    if (begun === null) {
      if (byte === ESCAPE) this.#begin();
      else if (byte !== ENQUIRY) shown.push(byte);
    } else if (CANCEL.has(byte)) this.#begun = null;
    else if (STRINGS.has(begun[1] ?? 0)) this.#takeInString(begun, byte, shown);
    else if (byte === ESCAPE) this.#begin();
    else if (byte < SPACE) {
      if (byte !== ENQUIRY) shown.push(byte);
    } else if (byte > DELETE) {
      // A character that belongs to no sequence ends this one.
      this.#begun = null;
      shown.push(byte);
    } else if (byte !== DELETE) {
      keep(begun, byte);
      if (isOver(begun, byte)) this.#end(begun, shown);
    }
  }

  #takeInString(begun: number[], byte: number, shown: number[]): void {
    if (this.#isEnding) {
      this.#begin();
      if (byte !== BACKSLASH) this.#take(byte, shown);
      else this.#end([...begun, ESCAPE, BACKSLASH], shown);
    } else if (byte === ESCAPE) this.#isEnding = true;
    else if (byte === BELL && begun[1] === CLOSE_BRACKET) this.#end([...begun, BELL], shown);
    else if (byte >= SPACE) keep(begun, byte);
  }

  #begin(): void {
    this.#begun = [ESCAPE];
    this.#isEnding = false;
  }

  #end(sequence: readonly number[], shown: number[]): void {
    this.#begun = null;
    if (sequence.length < LONGEST && !asks(sequence)) for (const byte of sequence) shown.push(byte);
  }
}

function keep(begun: number[], byte: number): void {
  if (begun.length < LONGEST) begun.push(byte);
}

/** After `[`, up to a final byte; otherwise after intermediate bytes. */
function isOver(begun: readonly number[], byte: number): boolean {
  if (begun[1] === OPEN_BRACKET) return begun.length > 2 && byte >= 0x40;
  return byte >= 0x30 && !STRINGS.has(begun[1] ?? 0);
}

function asks(sequence: readonly number[]): boolean {
  const text = Buffer.from(sequence.slice(1)).toString("latin1").replaceAll(LEADING_ZEROS, "");
  return ASKS.test(text) || ASKS_SYSTEM.test(text) || ASKS_OTHERWISE.test(text);
}

/** Undoes what a program may have switched on in the terminal. */
export const RESTORE_TERMINAL = [
  // Alternate screen, synchronized output, bracketed paste, focus, mouse.
  ...[1049, 2026, 2004, 1004, 1006, 1003, 1002, 1000].map((mode) => `\u001b[?${mode}l`),
  // Normal keys, whole-screen scrolling, plain text, a cursor.
  "\u001b[?1l\u001b>\u001b[<u\u001b[>4m\u001b[r\u001b[0m\u001b[?25h",
].join("");
