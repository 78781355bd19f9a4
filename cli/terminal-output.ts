/**
 * Output of a program in a terminal as another terminal may show it. The daemon answers what the program asks its terminal; were the questions
 * passed on, this one would answer as well, as if somebody typed. Nor does the program reach this machine's clipboard.
 */

const ESCAPE = 0x1b;
const BELL = 0x07;
const ENQUIRY = 0x05;
const CANCEL = new Set([0x18, 0x1a]);
/** A sequence that isn't over by then is none. */
const LONGEST = 64 * 1024;

/** Control sequences that ask: device attributes and version, status and position, modes, window, keyboard. */
const ASKS =
  /^\[(?:[>=?]?[\d;]*c|>[\d;]*q|\??[\d;]*n|\??[\d;]*\$p|(?:1[1-689]|2[01])(?:;\d*)*t|\?u|[\d;]*x)$/;
/** Operating system commands that ask for a colour, or concern the clipboard. */
const ASKS_SYSTEM = /^\](?:52;|(?:4|5|1\d|2\d|21);(?:[^;]*;)*\?)/;
/** Device control strings that ask (DECRQSS, XTGETTCAP). */
const ASKS_DEVICE = /^P(?:\$q|\+q)/;

export class TerminalOutput {
  /** A sequence that has begun. */
  #begun: number[] | null = null;
  /** Bytes of it so far that belong to a string, which a bell or ESC \ ends. */
  #isString = false;

  /** What of the bytes, and of a sequence that began before them, may be shown now. */
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
    // One that another interrupts is over.
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
    // After `[` up to a final byte; else after intermediate ones.
    if (begun[1] === 0x5b) return begun.length > 2 && byte >= 0x40 && byte <= 0x7e;
    return byte < 0x20 || byte > 0x2f;
  }
}

function asks(sequence: readonly number[]): boolean {
  const text = Buffer.from(sequence.slice(1)).toString("latin1");
  return ASKS.test(text) || ASKS_SYSTEM.test(text) || ASKS_DEVICE.test(text) || text === "Z";
}

/** Takes back what a program may have switched on in the terminal. */
export const RESTORE_TERMINAL = [
  // Other screen, synchronized output, pastes in brackets, focus, mouse.
  ...[1049, 2026, 2004, 1004, 1006, 1003, 1002, 1000].map((mode) => `\u001b[?${mode}l`),
  // Keys as usual, the whole screen scrolls, plain text, a cursor.
  "\u001b[?1l\u001b>\u001b[<u\u001b[>4m\u001b[r\u001b[0m\u001b[?25h",
].join("");
