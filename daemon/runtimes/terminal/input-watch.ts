/**
 * What people type: interrupts (Ctrl-C, or Esc on its own, outside a bracketed paste; Claude has no
 * hook for them), and whether a line may be half written. A viewer's terminal also sends reports by
 * itself: that it got or lost the focus, and where a mouse is.
 */
const PASTE_BEGINS = "\u001b[200~";
export const PASTE_ENDS = "\u001b[201~";
export const CONTROL_C = "\u0003";
const CONTROL_U = "\u0015";
/**
 * One or more, and nothing else: a terminal sends each key in one piece, and a fast hand sends two
 * Esc in one.
 */
// oxlint-disable-next-line no-control-regex
const ESCAPES = /^\u001b+$/;
// oxlint-disable-next-line no-control-regex
const REPORTS = /\u001b\[(?:[IO]|<[\d;]+[Mm])/g;
const ENDS_LINE = /[\r\n]/;

export interface TypedInput {
  /** Someone typed: this isn't only a report of the terminal. */
  isTyped: boolean;
  interrupts: boolean;
  /** What follows the last Ctrl-C outside of a paste; null without one. */
  afterControlC: string | null;
  /** Something was typed since the last Enter, Ctrl-C or Ctrl-U. */
  hasDraft: boolean;
}

export class InputWatch {
  #inPaste = false;
  #hasDraft = false;

  /** A bracketed paste has begun and not ended. */
  get inPaste(): boolean {
    return this.#inPaste;
  }

  /** The paste ends here: what it still had doesn't come. */
  endPaste(): void {
    this.#inPaste = false;
  }

  /** `input`: one message of a viewer. */
  read(input: string): TypedInput {
    let rest = input.replaceAll(REPORTS, "");
    const isTyped = rest !== "";
    let interrupts = false;
    let afterControlC: string | null = null;
    while (rest !== "") {
      if (this.#inPaste) {
        const end = rest.indexOf(PASTE_ENDS);
        this.#hasDraft = true;
        if (end < 0) break;
        this.#inPaste = false;
        rest = rest.slice(end + PASTE_ENDS.length);
        continue;
      }
      const begin = rest.indexOf(PASTE_BEGINS);
      const typed = begin < 0 ? rest : rest.slice(0, begin);
      const isEscape = ESCAPES.test(typed);
      const isControlC = typed.includes(CONTROL_C);
      if (isControlC) afterControlC = rest.slice(typed.lastIndexOf(CONTROL_C) + 1);
      interrupts ||= isControlC || isEscape;
      for (const key of isEscape ? "" : typed) {
        this.#hasDraft = !(ENDS_LINE.test(key) || key === CONTROL_C || key === CONTROL_U);
      }
      if (begin < 0) break;
      this.#inPaste = true;
      rest = rest.slice(begin + PASTE_BEGINS.length);
    }
    return { isTyped, interrupts, afterControlC, hasDraft: this.#hasDraft };
  }
}
