/**
 * What lines have in common, as a scan learns it: most lines of a ledger begin and are laid out
 * like an earlier one.
 */
import type { Pattern } from "./line-bytes.ts";

/**
 * What comes between a line's time and its data, and where data may begin the same way as before.
 */
export interface Opening {
  pattern: Pattern;
  kind: string;
  /** Places of scope, actor and data, relative to the line. */
  scope: number;
  scopeEnd: number;
  by: string;
  dataAt: number;
  /** By group: shapes, the frequent ones first. */
  shapes: Shape[][];
  /** Misses less hits among them. */
  misses: number;
}

/**
 * The layout of data, of a message's up to `text`: fixed bytes, with a string that differs from
 * event to event in each gap between them. Recipients, Actors and states change seldom, so some
 * shapes fit nearly every line.
 */
export interface Shape {
  parts: Pattern[];
  /** In front of each part but the first. */
  gaps: Gap[];
  places: Map<string, Place>;
  /** Where the members that it knows end, relative to the last part. */
  headEnd: number;
  /** The last part is the end of the line. */
  isWhole: boolean;
}

/**
 * How long the string in a gap usually is, with its quotes, and whether it is of that length
 * always.
 */
export interface Gap {
  length: number;
  isFixed: boolean;
}

/**
 * A member's value: what is in a gap, or (-1) bytes relative to a part, with their meaning when
 * that is a string.
 */
export interface Place {
  gap: number;
  part: number;
  start: number;
  end: number;
  text: string | undefined;
}
