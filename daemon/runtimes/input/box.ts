/**
 * An input line in a box with a left edge and a floor, but no mark, in any column. Measured on
 * opencode.
 */
import type { ScreenView } from "../terminal/screen-view.ts";

export interface Box {
  /** The left edge of every row. */
  readonly edge: string;
  /** The whole floor below the last row, from its corner on; the box is as wide. */
  readonly floor: RegExp;
  /** From the edge to the text. */
  readonly indent: number;
  /** The last row says so in its shell mode, whose input line looks the same. */
  readonly shell: RegExp;
}

export interface BoxedText {
  readonly top: number;
  readonly bottom: number;
  /** The column where it begins. */
  readonly begin: number;
  readonly isShell: boolean;
  readonly lines: readonly string[];
}

/**
 * The text in the box that holds the cursor: between an empty row above, and an empty row and one
 * that names the mode below.
 */
export function findBox(view: ScreenView, { edge, floor, indent, shell }: Box): BoxedText | null {
  const { row, column } = view.cursor;
  const left = view.line(row).search(/\S/);
  if (left < 0 || column < left + indent) return null;
  const isEdge = (at: number): boolean => {
    const line = view.line(at);
    return line.search(/\S/) === left && line.startsWith(edge, left);
  };
  if (!isEdge(row)) return null;
  let top = row;
  while (top > 0 && isEdge(top - 1)) top -= 1;
  let last = row;
  while (last + 1 < view.rows && isEdge(last + 1)) last += 1;
  const below = last + 1 < view.rows ? view.line(last + 1) : "";
  const width = below.search(/\S/) === left ? (floor.exec(below.slice(left))?.[0].length ?? 0) : 0;
  if (width === 0) return null;
  const inside = (at: number): string => view.line(at).slice(left + 1, left + width);
  const isBlank = (at: number): boolean => inside(at).trim() === "";
  const bottom = last - 2;
  if (row <= top || row > bottom || !isBlank(top) || !isBlank(bottom + 1) || isBlank(last)) return null;
  const lines: string[] = [];
  for (let at = top + 1; at <= bottom; at += 1) lines.push(inside(at).slice(indent - 1));
  return { top: top + 1, bottom, begin: left + indent, isShell: shell.test(inside(last).trim()), lines };
}
