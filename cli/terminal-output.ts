/**
 * Makes a program's terminal output safe to show in another terminal. The daemon answers what the
 * program asks its terminal. If the questions were passed on, this terminal would answer too, as if
 * someone were typing. The program also can't reach this machine's clipboard.
 */

const ESCAPE = 0x1b;
const BELL = 0x07;
const ENQUIRY = 0x05;
const CANCEL = new Set([0x18, 0x1a]);
/** A longer unfinished sequence isn't a sequence. */
const LONGEST = 64 * 1024;

/**
 * Control sequences that ask for device attributes and version, status and position, modes, window
 * or keyboard.
 */
const ASKS =
  /^\[(?:[>=?]?[\d;]*c|>[\d;]*q|\??[\d;]*n|\??[\d;]*\$p|(?:1[1-689]|2[01])(?:;\d*)*t|\?u|[\d;]*x)$/;
/** Operating system commands that ask for a color or concern the clipboard. */
const ASKS_SYSTEM = /^\](?:52;|(?:4|5|1\d|2\d|21);(?:[^;]*;)*\?)/;
/** Device control strings that ask (DECRQSS, XTGETTCAP). */
const ASKS_DEVICE = /^P(?:\$q|\+q)/;

export class TerminalOutput {
  /** A sequence that has begun. */
  #begun: number[] | null = null;
  /** Its bytes so far, as part of a string that a bell or ESC \ ends. */
  #isString = false;

  /** The part of the bytes, and of an earlier unfinished sequence, that may be shown now. */
  filter(bytes: Uint8Array): Buffer {
    const shown: number[] = [];
    for (const byte of bytes) this.#take(byte, shown);
    return Buffer.from(shown);
  }

  #take(byte: number, shown: number[]): void {
    const begun = this.#begun;
    if (begun === null) {
      if (byte === ESCAPE) this.#begin();
      else if (byte !== ENQUIRY) shown.push(byte);
      return;
    }
    if (CANCEL.has(byte)) {
      this.#begun = null;
      return;
    }
    const last = begun.at(-1);
    // A sequence that interrupts another one ends it.
    if (byte === ESCAPE && !this.#isString) return this.#begin();
    if (this.#isString && last === ESCAPE && byte !== 0x5c) {
      this.#begin();
      this.#take(byte, shown);
      return;
    }
    begun.push(byte);
    if (begun.length === 2) this.#isString = [0x5d, 0x50, 0x58, 0x5e, 0x5f].includes(byte);
    if (!this.#isOver(begun, byte, last) && begun.length < LONGEST) return;
    this.#begun = null;
    if (!asks(begun)) for (const one of begun) shown.push(one);
  }

  #begin(): void {
    this.#begun = [ESCAPE];
    this.#isString = false;
  }

  #isOver(begun: readonly number[], byte: number, last: number | undefined): boolean {
    if (this.#isString) return byte === BELL || (last === ESCAPE && byte === 0x5c && begun.length > 3);
    // After `[`, up to a final byte; otherwise after intermediate bytes.
    if (begun[1] === 0x5b) return begun.length > 2 && byte >= 0x40 && byte <= 0x7e;
    return byte < 0x20 || byte > 0x2f;
  }
}

function asks(sequence: readonly number[]): boolean {
  const text = Buffer.from(sequence.slice(1)).toString("latin1");
  return ASKS.test(text) || ASKS_SYSTEM.test(text) || ASKS_DEVICE.test(text) || text === "Z";
}

/** Undoes what a program may have switched on in the terminal. */
export const RESTORE_TERMINAL = [
  // Alternate screen, synchronized output, bracketed paste, focus, mouse.
  ...[1049, 2026, 2004, 1004, 1006, 1003, 1002, 1000].map((mode) => `\u001b[?${mode}l`),
  // Normal keys, whole-screen scrolling, plain text, a cursor.
  "\u001b[?1l\u001b>\u001b[<u\u001b[>4m\u001b[r\u001b[0m\u001b[?25h",
].join("");
