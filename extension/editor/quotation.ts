/** What of a file goes into a draft: where it is, and its text as a quotation. */
import { LIMITS } from "../../shared/limits.ts";

export interface Quoted {
  /** Relative to the folder, with `/`. */
  path: string;
  /** From 1. */
  firstLine: number;
  lastLine: number;
  /** Which of several texts at this path it is, such as one side of a diff. Absent for the file. */
  version?: string;
  /** The editor's id of the language; empty for none. */
  language: string;
  text: string;
}

/** `src/a.ts:3` or `src/a.ts:3-5`: such a reference opens in the editor. */
function reference({ path, firstLine, lastLine }: Pick<Quoted, "path" | "firstLine" | "lastLine">): string {
  return firstLine === lastLine ? `${path}:${firstLine}` : `${path}:${firstLine}-${lastLine}`;
}

/** The text in a fence that nothing in it can close. */
function fenced(text: string, language = ""): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}\n\n`;
}

function fitting(whole: string): string {
  if (Buffer.byteLength(whole) > LIMITS.message.textBytes)
    throw new Error("The selection is too long for a message. Select less, or attach the file.");
  return whole;
}

/** The reference, and the text. Throws when it is too long for a message. */
export function quotation(quoted: Quoted): string {
  const language = /^[\w+-]{1,32}$/.test(quoted.language) ? quoted.language : "";
  const version = quoted.version === undefined ? "" : ` (${quoted.version})`;
  return fitting(`${reference(quoted)}${version}\n\n${fenced(quoted.text, language)}`);
}

/** What a terminal shows, with the terminal's name. Throws when it is too long for a message. */
export function terminalQuotation(name: string, text: string): string {
  // Lines are filled with spaces to the terminal's width.
  const lines = text.replaceAll("\r\n", "\n").replaceAll(/[ \t]+$/gm, "");
  return fitting(`From the terminal ${name}:\n\n${fenced(lines)}`);
}

/** A problem that the editor shows, with where it is. */
export function problemText(place: Omit<Quoted, "text" | "language">, message: string): string {
  return `${reference(place)}: ${message}\n\n`;
}
