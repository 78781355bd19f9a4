/**
 * Texts where there is room for only one line: without Markdown, and around the searched words.
 * Pure.
 */
const BEFORE = 60;
const LENGTH = 240;

export interface ExcerptPart {
  text: string;
  match: boolean;
}

/** Markdown as one line of plain words. */
export function flatten(text: string): string {
  return text
    .replaceAll(/```[^\n]*|\||^#+ |^\s*>/gm, " ")
    .replaceAll(/[`*]/g, "")
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/(?<=\s):?-{2,}:?(?=\s)/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** The part of a text around the first of the searched words, with all of them marked. */
export function excerpt(text: string, query: string): ExcerptPart[] {
  const line = flatten(text);
  const words = query
    .trim()
    .split(/\s+/)
    .filter((word) => word !== "");
  const pattern = new RegExp(
    `(${words.map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`,
    "giu",
  );
  const at = words.length === 0 ? -1 : line.search(pattern);
  const from = at > BEFORE ? line.lastIndexOf(" ", at - BEFORE) + 1 : 0;
  const shown = `${from > 0 ? "…" : ""}${line.slice(from, from + LENGTH)}${line.length > from + LENGTH ? "…" : ""}`;
  if (words.length === 0) return [{ text: shown, match: false }];
  return shown
    .split(pattern)
    .map((part, index) => ({ text: part, match: index % 2 === 1 }))
    .filter((part) => part.text !== "");
}
