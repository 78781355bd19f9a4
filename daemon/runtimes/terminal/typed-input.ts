/**
 * What people type, on its way to a process that may not read it. A paste comes in several
 * messages: once one of them is refused, the rest of the paste is too, and what the process has of
 * it ends there.
 */
import type { TerminalProcess } from "../../../platform/processes.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { CONTROL_C, InputWatch, PASTE_ENDS, type TypedInput as WatchedInput } from "./input-watch.ts";

const { unreadBytes } = LIMITS.terminal;
/** Kept for the ends of pastes. */
const END_BYTES = 1024;

export interface Typed extends WatchedInput {
  /** It wasn't passed on. What follows of the same paste isn't either, and isn't said again. */
  isRefused: boolean;
}

export class TypedInput {
  readonly #watch = new InputWatch();
  /** Within a paste that was refused. */
  #isSkipping = false;
  /** Something was refused, and the process has read too little since. */
  #isFull = false;

  /** Passes on one message of a viewer. */
  type(process: TerminalProcess, data: string): Typed {
    const wasInPaste = this.#watch.inPaste;
    const watched = this.#watch.read(data);
    const { afterControlC } = watched;
    if (afterControlC !== null && this.interrupts(process, CONTROL_C)) {
      const isRefused = afterControlC !== "" && process.write(afterControlC) === null;
      return { ...watched, isRefused };
    }
    let rest = data;
    if (this.#isSkipping) {
      const end = data.indexOf(PASTE_ENDS);
      this.#isSkipping = end < 0;
      rest = end < 0 ? "" : data.slice(end + PASTE_ENDS.length);
      if (rest === "") return { ...watched, isRefused: false };
    }
    this.#isFull &&= process.unread > unreadBytes / 2;
    this.#isFull ||= process.unread + Buffer.byteLength(rest) > unreadBytes - END_BYTES;
    if (!this.#isFull && process.write(rest) !== null) return { ...watched, isRefused: false };
    this.#isSkipping = this.#watch.inPaste;
    if (wasInPaste) process.write(PASTE_ENDS);
    return { ...watched, isRefused: true };
  }

  /**
   * Whether a key has interrupted a process that doesn't read: Ctrl-C, which would only be one more
   * byte behind the others. They are dropped, as a terminal's driver does.
   */
  interrupts(process: TerminalProcess, key: string): boolean {
    if (key !== CONTROL_C || !process.isStuck) return false;
    process.dropInput();
    this.#isFull = false;
    this.#isSkipping = false;
    process.interrupt();
    return true;
  }

  /** The writer is gone: a paste of which only a part has come ends here. */
  endPaste(process: TerminalProcess): void {
    if (this.#watch.inPaste && !this.#isSkipping) process.write(PASTE_ENDS);
    this.#watch.endPaste();
    this.#isSkipping = false;
  }
}
