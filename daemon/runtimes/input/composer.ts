/**
 * Whether a runtime's input line is empty and has the focus, read from its screen
 * (docs/runtimes.md, "When a message goes in"). The cursor decides: text that an agent prints can
 * draw everything but can't move the cursor. It must be at the beginning of an input line that has
 * its mark and its frame. Everything else means not ready; the rest of the screen only chooses the
 * words.
 */

import { LIMITS } from "../../../shared/limits.ts";
import type { ScreenView } from "../terminal/screen-view.ts";
import { type Box, findBox } from "./box.ts";

/** Words that a line of the screen has, and what they say. */
export type Sign = readonly [pattern: RegExp, reason: string];

/** What a runtime's input line looks like, measured (docs/runtimes.md). */
export interface Composer {
  /** It is in such a box, and `marks` to `below` don't count; null when it has a mark. */
  readonly box: Box | null;
  /** Each can be its first character, in this column; its text begins at `text`. */
  readonly marks: string;
  readonly column: number;
  readonly text: number;
  /** The mark is bold and not dim: quotations of prompts look alike otherwise. */
  readonly hasBoldMark: boolean;
  /** The mark of its shell mode; null when it has none. */
  readonly shellMark: string | null;
  /** The whole lines above and below it. */
  readonly above: RegExp;
  readonly below: RegExp;
  /**
   * Shown above it when its first lines, and its mark with them, are out of sight: in a low window.
   */
  readonly cut: RegExp;
  /** Shown instead of `below` when its last lines are out of sight. */
  readonly cutBelow: RegExp;
  /**
   * It shows the terminal's cursor. Otherwise it hides the cursor and keeps it where typing goes.
   */
  readonly showsCursor: boolean;
  /** Texts that it shows when it is empty; without a blank one, it is never blank. */
  readonly placeholders: readonly RegExp[];
  /** Placeholders are dim. */
  readonly hasDimPlaceholder: boolean;
  /** A paste that it shows as one piece. */
  readonly piece: RegExp;
  /** Its placeholder or a line below it shows another view that has the same input line. */
  readonly elsewhere: readonly Sign[];
  /** A line close above it says that it can't be used. */
  readonly useless: readonly Sign[];
  /**
   * A line close above or below it says that a turn runs, which may ask a person something at any
   * moment. Only where no hook announces that.
   */
  readonly works: RegExp;
}

/** What is known of a runtime's screens. */
export interface InputFacts {
  readonly composer: Composer;
  /**
   * A line that it draws when its start is over, after which the start asks nothing more. Null if
   * none is known.
   */
  readonly started: RegExp | null;
  /** What it asks a person, and what a person may have opened: looked for in this order. */
  readonly questions: readonly Sign[];
  readonly views: readonly Sign[];
}

export type Look =
  | { readonly kind: "empty" }
  /**
   * `question`: it asks a person. `occupied`: its input line has text or another mode. `view`: a
   * menu or something else is open. `working`: it is empty, but a question may take its place.
   */
  | {
      readonly kind: "drawing" | "question" | "occupied" | "view" | "working" | "unknown";
      readonly reason: string;
      /**
       * The text is one of our prompts: Claude puts one back that is interrupted before any answer.
       */
      readonly isOurs?: boolean;
      /** It shows too little of the text to tell: it may be one. */
      readonly mayBeOurs?: boolean;
    };

const BLANK = /^[\s\u00a0]*$/;
const OURS = /^\[svc\] (?:message|notice) [0-9a-f]{32}\b/;
/** Lines above and below the input line that may belong to it. */
const CLOSE_LINES = 4;
/** This much of what someone typed is shown: enough to find it, too little for a secret. */
const TOLD_CHARACTERS = 2;

/** Looks for an empty, focused input line. */
export function look(view: ScreenView, { composer, questions, views }: InputFacts): Look {
  if (view.isDrawing) return { kind: "drawing", reason: "its screen is still being drawn" };
  const found = findComposer(view, composer);
  if (found === null) return elsewhere(view, questions, views);
  const { top, bottom, begin, isShell, isCut, isCutBelow, text } = found;
  for (const [pattern, reason] of composer.elsewhere) {
    for (let row = top; row < view.rows; row += 1) {
      if ((row <= bottom || view.line(row) !== "") && pattern.test(view.line(row))) {
        return { kind: "view", reason };
      }
    }
  }
  for (const [pattern, reason] of composer.useless) {
    for (let row = Math.max(0, top - CLOSE_LINES); row < top; row += 1) {
      if (pattern.test(view.line(row))) return { kind: "question", reason };
    }
  }
  if (isShell) return { kind: "occupied", reason: "its shell mode is on" };
  const { row, column } = view.cursor;
  const isFirst = !isCut && !isCutBelow && top === bottom && row === top && column === begin;
  if (isFirst && isPlaceholder(view, composer, found)) {
    if (!isWorking(view, composer, found)) return { kind: "empty" };
    return { kind: "working", reason: "it is working and might ask a question at any moment" };
  }
  if (BLANK.test(text)) return { kind: "occupied", reason: "its input line contains blanks" };
  const told = Array.from(text.trim()).slice(0, TOLD_CHARACTERS).join("");
  const reason = `its input line contains unsent text: "${told}…"`;
  if (isCutBelow) return { kind: "occupied", reason };
  const isOurs = !isCut && OURS.test(text);
  return { kind: "occupied", reason, isOurs, mayBeOurs: isCut || composer.piece.test(text.trim()) };
}

/**
 * How many empty lines the input line has after the paste whose text ends with `ending`; null when
 * it doesn't hold that paste, the cursor isn't in it, or a turn runs that may ask something.
 */
export function linesBehindPaste(view: ScreenView, { composer }: InputFacts, ending: string): number | null {
  if (view.isDrawing) return null;
  const found = findComposer(view, composer);
  if (found === null || found.isShell || found.isCutBelow || isWorking(view, composer, found)) return null;
  const text = found.text.replaceAll(/[\s\u00a0]/g, "");
  const isHeld = text.endsWith(ending.replaceAll(/\s/g, "")) || composer.piece.test(found.text.trim());
  if (!isHeld) return null;
  const lines = found.text.split("\n");
  return lines.length - 1 - lines.findLastIndex((line) => !BLANK.test(line));
}

/**
 * Whether its start is over: it has drawn a line that says so, below everything that it asked. A
 * process that ran before it in the same terminal leaves its own line above.
 */
export function hasStarted(view: ScreenView, { started, questions }: InputFacts): boolean {
  if (started === null) return false;
  for (let row = view.rows - 1; row >= 0; row -= 1) {
    const line = view.line(row);
    if (started.test(line)) return true;
    if (questions.some(([pattern]) => pattern.test(line))) return false;
  }
  return false;
}

interface Found {
  top: number;
  bottom: number;
  /** The column where its text begins. */
  begin: number;
  isShell: boolean;
  /** Lines above `top` are out of sight. */
  isCut: boolean;
  /** Lines below `bottom` are out of sight. */
  isCutBelow: boolean;
  /** Its lines, joined by line feeds. */
  text: string;
}

function isWorking(view: ScreenView, { works }: Composer, { top, bottom }: Found): boolean {
  const end = Math.min(view.rows, bottom + 1 + CLOSE_LINES);
  for (let row = Math.max(0, top - CLOSE_LINES); row < end; row += 1) {
    if ((row < top || row > bottom) && works.test(view.line(row))) return true;
  }
  return false;
}

/** The input line that holds the cursor. */
function findComposer(view: ScreenView, composer: Composer): Found | null {
  const { row, column, isShown } = view.cursor;
  if (composer.showsCursor && !isShown) return null;
  if (composer.box !== null) {
    const boxed = findBox(view, composer.box);
    return boxed === null
      ? null
      : { ...boxed, isCut: false, isCutBelow: false, text: boxed.lines.join("\n") };
  }
  if (column < composer.text) return null;
  let top = row;
  const isCutAt = (at: number): boolean => at > 0 && composer.cut.test(view.line(at - 1));
  while (top > 0 && markOf(view, composer, top) === null) {
    if (!BLANK.test(view.line(top).slice(0, composer.text))) return null;
    if (isCutAt(top)) break;
    top -= 1;
  }
  const mark = markOf(view, composer, top);
  const isCut = mark === null && isCutAt(top);
  if (!isCut && (mark === null || top === 0 || !composer.above.test(view.line(top - 1)))) return null;
  const { below, cutBelow } = composer;
  let bottom = row;
  let isCutBelow = false;
  for (; bottom + 1 < view.rows; bottom += 1) {
    const next = view.line(bottom + 1);
    isCutBelow = cutBelow.test(next);
    if (isCutBelow || below.test(next)) break;
    if (!BLANK.test(next.slice(0, composer.text))) return null;
  }
  if (bottom + 1 >= view.rows) return null;
  const lines: string[] = [];
  for (let at = top; at <= bottom; at += 1) lines.push(view.line(at).slice(composer.text));
  const begin = composer.text;
  return { top, bottom, begin, isShell: mark === "shell", isCut, isCutBelow, text: lines.join("\n") };
}

function markOf(view: ScreenView, composer: Composer, row: number): "text" | "shell" | null {
  const line = view.line(row);
  const { column, marks, shellMark, hasBoldMark } = composer;
  if (!BLANK.test(line.slice(0, column)) || !BLANK.test(line.slice(column + 1, composer.text))) return null;
  const style = view.style(row, column);
  if (hasBoldMark && (!style.isBold || style.isDim)) return null;
  const first = line[column];
  if (first !== undefined && marks.includes(first)) return "text";
  return shellMark !== null && first === shellMark ? "shell" : null;
}

function isPlaceholder(view: ScreenView, composer: Composer, { top, begin: from, text }: Found): boolean {
  const shown = text.replaceAll("\u00a0", " ").trim();
  if (!composer.placeholders.some((pattern) => pattern.test(shown))) return false;
  if (shown === "" || !composer.hasDimPlaceholder) return true;
  const begin = view.line(top).indexOf(shown[0]!, from);
  for (let at = begin; at < begin + shown.length; at += 1) {
    if (!view.style(top, at).isDim) return false;
  }
  return true;
}

/** No input line has the focus: what is it instead? */
function elsewhere(view: ScreenView, questions: readonly Sign[], views: readonly Sign[]): Look {
  const lines = Array.from({ length: view.rows }, (_, row) => view.line(row));
  const sign = (signs: readonly Sign[]) =>
    signs.find(([pattern]) => lines.some((line) => pattern.test(line)));
  const question = sign(questions);
  if (question !== undefined) return { kind: "question", reason: question[1] };
  const opened = sign(views);
  if (opened !== undefined) return { kind: "view", reason: opened[1] };
  const isSmall = view.rows < LIMITS.terminal.rowsOfInput;
  const why = isSmall ? `, as its terminal has only ${view.rows} rows` : "";
  return { kind: "unknown", reason: `its screen shows no empty input line${why}` };
}
