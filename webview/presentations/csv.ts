/**
 * Comma-separated values as rows of text (RFC 4180), up to a bound. A formula stays text. Where the
 * first line has no comma, semicolons or tabs separate, as spreadsheets write them in many
 * countries.
 */
import { LIMITS } from "../../shared/limits.ts";

export interface Table {
  rows: readonly (readonly string[])[];
  /** There are more rows, columns or characters than these. */
  cut: boolean;
}

const SEPARATORS = [",", ";", "\t"];
/** Of the first line. */
const LOOKED_AT = 10_000;

function separatorOf(body: string): string {
  const [line = ""] = body
    .slice(0, LOOKED_AT)
    .replace(/"[^"]*"/g, "")
    .split(/[\r\n]/, 1);
  return SEPARATORS.find((separator) => line.includes(separator)) ?? ",";
}

export function readCsv(text: string): Table {
  const { rows: mostRows, columns: mostColumns, cellCharacters } = LIMITS.presentation.table;
  const rows: string[][] = [];
  let row: string[] = [];
  let cut = false;
  let at = 0;
  const body = text.replace(/^\uFEFF/, "");
  const separator = separatorOf(body);
  // After a separator there is one more cell, even at the end.
  while (at < body.length || row.length > 0) {
    const { cell, end } = cellAt(body, at, separator);
    cut ||= row.length === mostColumns || cell.length > cellCharacters;
    if (row.length < mostColumns) row.push(cell.slice(0, cellCharacters).toWellFormed());
    at = end + (body.startsWith("\r\n", end) ? 2 : 1);
    if (body[end] === separator) continue;
    rows.push(row);
    row = [];
    if (rows.length === mostRows) return { rows, cut: cut || at < body.length };
  }
  return { rows, cut };
}

/** A quote in a quoted cell is written twice. One character more tells that it is cut. */
const MOST_QUOTED = 2 * (LIMITS.presentation.table.cellCharacters + 1);

/**
 * The cell that begins there, quoted or not, and where it ends. Of a long one at least a character
 * more than is shown. One expression for both kinds would run out of stack on a long cell.
 */
function cellAt(body: string, at: number, separator: string): { cell: string; end: number } {
  if (body[at] === '"') {
    let quote = body.indexOf('"', at + 1);
    while (quote !== -1 && body[quote + 1] === '"') quote = body.indexOf('"', quote + 2);
    const end = quote + 1;
    if (quote !== -1 && (end === body.length || `${separator}\r\n`.includes(body[end]!)))
      return { cell: body.slice(at + 1, Math.min(quote, at + 1 + MOST_QUOTED)).replaceAll('""', '"'), end };
  }
  const ending = new RegExp(`[${separator}\r\n]|$`, "g");
  ending.lastIndex = at;
  const end = ending.exec(body)?.index ?? body.length;
  return { cell: body.slice(at, end), end };
}
