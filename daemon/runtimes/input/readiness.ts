/**
 * Whether a runtime's input is empty and has the focus, by all the evidence: its hooks, its screen,
 * and the keys that people typed. Without evidence the answer is no. When it holds a message back,
 * it says why, in words.
 */

import type { Clock } from "../../../platform/clock.ts";
import type { InputReceipt } from "../../../platform/processes.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { StoredActor } from "../../../shared/model.ts";
import { WAITS_IN_INBOX } from "../../../shared/names.ts";
import { sizeWords } from "../../../shared/size-words.ts";
import type { Launch, LaunchReports } from "../../activity/launches.ts";
import type { RuntimeEntry } from "../catalogue.ts";
import type { ActorTerminal } from "../terminal/terminal.ts";
import { hasStarted, type Look, linesBehindPaste, look } from "./composer.ts";

/** Why nothing is delivered now. */
export interface Hold {
  /** In words. */
  reason: string;
  /** It changes with time. */
  retryMs?: number;
  /** What the screen shows next may change it. */
  isOfScreen?: boolean;
  /** A person has to do something. */
  needsPerson?: boolean;
}

export interface ReadinessOptions {
  launch: Launch;
  entry: RuntimeEntry;
  terminal: ActorTerminal;
  reports: LaunchReports;
  /** The runtime has our tools, or gets none from us. */
  hasTools(): boolean;
  clock: Clock;
}

const { readySeconds, toolsSeconds, typingSeconds, pasteSeconds, lookMs, pasteLookMs } = LIMITS.prompt;

/** What the screen of a runtime shows; null where nothing is known of its screens. */
export function screenOf(entry: RuntimeEntry, terminal: ActorTerminal): Look | null {
  const { view } = terminal;
  return entry.input === null || view === null ? null : look(view, entry.input);
}

const UNREAD_LOOK_MS = 250;

/** Its owner may allow it. */
export const HOLD_IN_INBOX = `${WAITS_IN_INBOX} (--prompts allows it)`;

export class Readiness {
  readonly #options: ReadinessOptions;
  readonly #startedAt: number;
  /** When the input line was last seen to be empty; monotonic. */
  #emptyAt = Number.NEGATIVE_INFINITY;
  /** When it last took a prompt of ours; monotonic. */
  #takenAt = Number.NEGATIVE_INFINITY;
  /** Empty lines that it showed after that prompt before Enter. */
  #linesBefore = 0;
  /** Since when its input line has been seen empty; "long" once that was long enough. */
  #emptySince: number | "long" | null = null;

  constructor(options: ReadinessOptions) {
    this.#options = options;
    this.#startedAt = options.clock.monotonic();
  }

  /** Null when a message may go in now. */
  hold(actor: Pick<StoredActor, "prompts">): Hold | null {
    const { launch, entry, terminal, clock, reports } = this.#options;
    if (entry.input === null && !actor.prompts) return { reason: HOLD_IN_INBOX };
    const seen = screenOf(entry, terminal);
    const now = clock.monotonic();
    const toSteady = this.#toSteady(seen, now);
    if (reports.doing(launch) === "waiting")
      return { reason: "it is waiting for a person's answer", isOfScreen: true };
    if (seen?.kind === "question")
      return { reason: `it ${seen.reason}`, isOfScreen: true, needsPerson: true };
    const isStarting = this.#startedAt + readySeconds * 1000 - now;
    if (!terminal.reads) {
      if (isStarting > 0) return { reason: "starting", retryMs: isStarting, isOfScreen: true };
      const reason = "its terminal hasn't shown that it reads prompts (bracketed paste is off)";
      return { reason, isOfScreen: true, needsPerson: true };
    }
    if (terminal.unread > 0) {
      const reason = `it hasn't read ${sizeWords(terminal.unread)} of its input`;
      return { reason, retryMs: UNREAD_LOOK_MS };
    }
    const typing = terminal.typedAt + typingSeconds * 1000 - now;
    if (typing > 0) return { reason: "someone is typing in its terminal", retryMs: typing };
    if (seen?.kind === "empty") this.#emptyAt = now;
    // What Claude put back goes in again with what comes, as it was. A key that answered a dialog
    // is no draft.
    const hasDraft = terminal.hasDraft && terminal.typedAt >= this.#emptyAt;
    const isUntouched = terminal.typedAt < this.#takenAt;
    const isOurs =
      seen?.kind === "occupied" &&
      ((seen.isOurs === true && !hasDraft) || (seen.mayBeOurs === true && isUntouched));
    const ofScreen = isOurs ? null : seen === null ? this.#unseen() : fromScreen(seen, isStarting);
    if (ofScreen !== null) return ofScreen;
    if (toSteady > 0) return { reason: "starting", retryMs: toSteady, isOfScreen: true };
    const toList = this.#startedAt + toolsSeconds * 1000 - now;
    return this.#options.hasTools() || toList <= 0 ? null : { reason: "starting", retryMs: toList };
  }

  /**
   * Whether Enter may be pressed after a paste: once the input line shows it, and no one has typed
   * since. `text` is the paste's. False if it doesn't show in time or isn't even read, or `isOver`
   * says that nothing more can come.
   */
  async takes(text: string, receipt: InputReceipt, isOver: () => boolean): Promise<boolean> {
    const { launch, entry, terminal, clock, reports } = this.#options;
    const began = clock.monotonic();
    this.#takenAt = Number.NEGATIVE_INFINITY;
    const ending = lastLine(text);
    let isShown = false;
    if (entry.input === null) await this.#pause(entry.pasteMs);
    for (;;) {
      await terminal.settled();
      const { view, typedAt } = terminal;
      if (view === null || isOver() || typedAt >= began) return false;
      const lines = entry.input === null ? 0 : linesBehindPaste(view, entry.input, ending);
      // Its hooks tell of a question before the screen shows it.
      const isRead = receipt.state === "written";
      const holds = isRead && lines !== null && reports.doing(launch) !== "waiting";
      if (holds && (isShown || entry.pasteMs === 0 || entry.input === null)) {
        this.#takenAt = clock.monotonic();
        this.#linesBefore = lines;
        return true;
      }
      if (clock.monotonic() - began > pasteSeconds * 1000) return false;
      isShown = holds;
      await this.#pause(holds ? entry.pasteMs : pasteLookMs);
    }
  }

  /** Resolves when the process has made room for what was written, or never will; says which. */
  async reads(receipt: InputReceipt, isOver: () => boolean): Promise<boolean> {
    while (receipt.state === "waiting" && !isOver()) await this.#pause(lookMs);
    return receipt.state === "written";
  }

  /**
   * Presses Enter again if the input line shows that each Enter so far has become another empty
   * line after the paste, and no one has typed since. An empty line that was there before, where
   * the text just fits the width, doesn't count. A busy runtime takes Enter for a part of the
   * paste long after it has drawn that. Call it after Enter was pressed once.
   */
  async insist(text: string, isOver: () => boolean): Promise<void> {
    const { launch, entry, terminal, clock, reports } = this.#options;
    if (entry.input === null) return;
    const ending = lastLine(text);
    for (let pressed = 1; ; ) {
      await terminal.settled();
      const { view, typedAt } = terminal;
      const isLate = clock.monotonic() - this.#takenAt > pasteSeconds * 1000;
      if (view === null || isOver() || isLate || typedAt >= this.#takenAt) return;
      // Its hooks tell of a question before the screen shows it.
      if (reports.doing(launch) === "waiting") return;
      if (!view.isDrawing) {
        const lines = linesBehindPaste(view, entry.input, ending);
        if (lines === null) return;
        if (lines === this.#linesBefore + pressed) {
          if (terminal.write(entry.submit) === null) return;
          pressed += 1;
        }
      }
      await this.#pause(lookMs);
    }
  }

  #pause(milliseconds: number): Promise<void> {
    const { clock } = this.#options;
    return new Promise((resolve) => void clock.after(milliseconds, resolve, { background: true }));
  }

  /**
   * Milliseconds until its input line counts as empty for the first time: some draw it, and then a
   * question over it. None when its screen shows that the start is over.
   */
  #toSteady(seen: Look | null, now: number): number {
    if (seen === null || this.#emptySince === "long") return 0;
    if (seen.kind !== "empty") {
      this.#emptySince = null;
      return 0;
    }
    const { entry, terminal } = this.#options;
    const { view } = terminal;
    if (view !== null && entry.input !== null && hasStarted(view, entry.input)) {
      this.#emptySince = "long";
      return 0;
    }
    this.#emptySince ??= now;
    const left = this.#emptySince + entry.steadyMs - now;
    if (left <= 0) this.#emptySince = "long";
    return left;
  }

  /** Nothing is known of its screens, but its owner says that it reads prompts. */
  #unseen(): Hold | null {
    if (!this.#options.terminal.hasDraft) return null;
    return { reason: "someone typed something and hasn't sent it", needsPerson: true };
  }
}

function fromScreen(seen: Look, isStarting: number): Hold | null {
  if (seen.kind === "empty") return null;
  const hold = { reason: seen.reason, isOfScreen: true };
  if (seen.kind === "working") return hold;
  if (seen.kind === "drawing") return { ...hold, retryMs: lookMs };
  if (seen.kind === "unknown" && isStarting > 0) return { ...hold, reason: "starting", retryMs: isStarting };
  return { ...hold, needsPerson: true };
}

function lastLine(text: string): string {
  return text.slice(text.lastIndexOf("\n") + 1);
}
