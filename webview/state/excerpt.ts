/** The part of a text around the first of the searched words, with all of them marked. Pure. */
const BEFORE = 60;
const LENGTH = 240;

export interface ExcerptPart {
  text: string;
  match: boolean;
}

export function excerpt(text: string, query: string): ExcerptPart[] {
  const line = text.replaceAll(/\s+/g, " ").trim();
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
