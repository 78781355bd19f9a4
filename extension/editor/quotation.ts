/** What of a file goes into a draft: where it is, and its text as a quotation. */
import { LIMITS } from "../../shared/limits.ts";

export interface Quoted {
  /** Relative to the folder, with `/`. */
  path: string;
  /** From 1. */
  firstLine: number;
  lastLine: number;
  /** The editor's id of the language; empty for none. */
  language: string;
  text: string;
}

/** `src/a.ts:3` or `src/a.ts:3-5`: such a reference opens in the editor. */
function reference({ path, firstLine, lastLine }: Pick<Quoted, "path" | "firstLine" | "lastLine">): string {
  return firstLine === lastLine ? `${path}:${firstLine}` : `${path}:${firstLine}-${lastLine}`;
}

/**
 * The reference, and the text in a fence that nothing in it can close. Throws when the text is too
 * long for a message.
 */
export function quotation(quoted: Quoted): string {
  const longest = Math.max(2, ...[...quoted.text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  const language = /^[\w+-]{1,32}$/.test(quoted.language) ? quoted.language : "";
  const whole = `${reference(quoted)}\n\n${fence}${language}\n${quoted.text.replace(/\n$/, "")}\n${fence}\n\n`;
  if (Buffer.byteLength(whole) > LIMITS.message.textBytes)
    throw new Error("The selection is too long for a message. Select less, or attach the file.");
  return whole;
}

/** A problem that the editor shows, with where it is. */
export function problemText(place: Omit<Quoted, "text" | "language">, message: string): string {
  return `${reference(place)}: ${message}\n\n`;
}
