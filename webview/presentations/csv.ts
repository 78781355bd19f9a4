/** Comma-separated values as rows of text (RFC 4180), up to a bound. A formula stays text. */
import { LIMITS } from "../../shared/limits.ts";

export interface Table {
  rows: readonly (readonly string[])[];
  /** There are more rows, columns or characters than these. */
  cut: boolean;
}

export function readCsv(text: string): Table {
  const { rows: mostRows, columns: mostColumns, cellCharacters } = LIMITS.presentation.table;
  const rows: string[][] = [];
  let row: string[] = [];
  let cut = false;
  // A cell, quoted or not, and what ends it.
  const cells = /(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r?\n|\r|$)/gy;
  const body = text.replace(/^\uFEFF/, "");
  while (cells.lastIndex < body.length) {
    const match = cells.exec(body);
    if (match === null) return { rows: [...rows, row], cut: true };
    const cell = match[1]?.replaceAll('""', '"') ?? match[2] ?? "";
    if (row.length < mostColumns) row.push(cell.slice(0, cellCharacters).toWellFormed());
    cut ||= row.length === mostColumns || cell.length > cellCharacters;
    if (match[3] === ",") continue;
    rows.push(row);
    row = [];
    if (rows.length === mostRows) return { rows, cut: cut || cells.lastIndex < body.length };
  }
  return { rows: row.length > 0 ? [...rows, row] : rows, cut };
}
