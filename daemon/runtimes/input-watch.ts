/** Finds interrupts in what people type: Ctrl-C, or Esc on its own, outside a bracketed paste (Claude has no hook for them). */
const PASTE_BEGINS = "\u001b[200~";
const PASTE_ENDS = "\u001b[201~";
const CONTROL_C = "\u0003";
const ESCAPE = "\u001b";

export class InputWatch {
  #inPaste = false;

  /** Whether `input`, one message of a viewer, interrupts. A terminal sends each key in one piece, so a lone Esc is one on its own. */
  interrupts(input: string): boolean {
    let rest = input;
    let found = false;
    for (;;) {
      if (this.#inPaste) {
        const end = rest.indexOf(PASTE_ENDS);
        if (end < 0) return found;
        this.#inPaste = false;
        rest = rest.slice(end + PASTE_ENDS.length);
      }
      const begin = rest.indexOf(PASTE_BEGINS);
      const typed = begin < 0 ? rest : rest.slice(0, begin);
      found ||= typed.includes(CONTROL_C) || typed === ESCAPE;
      if (begin < 0) return found;
      this.#inPaste = true;
      rest = rest.slice(begin + PASTE_BEGINS.length);
    }
  }
}
