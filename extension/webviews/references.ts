/** References to places in files, such as `src/app.ts:12:3`. */

export interface Reference {
  path: string;
  /** From 1; null for the file as a whole. */
  line: number | null;
  column: number | null;
}

const REFERENCE = /^(?:file:\/\/)?(.+?)(?::(\d{1,7})(?::(\d{1,5}))?)?$/;

/** Null for what is no path. */
export function readReference(text: string): Reference | null {
  const found = REFERENCE.exec(text.trim());
  if (found === null || found[1]!.includes("\0")) return null;
  const number = (digits: string | undefined) =>
    digits === undefined || Number(digits) < 1 ? null : Number(digits);
  return { path: found[1]!, line: number(found[2]), column: number(found[3]) };
}
