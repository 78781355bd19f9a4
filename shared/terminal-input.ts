/** What is typed or pasted at once, in pieces that the daemon takes (shared/terminal.ts). */
import { LIMITS } from "./limits.ts";

/** UTF-16 code units of a piece: each takes at most three bytes. */
const PIECE = Math.floor(LIMITS.terminal.inputBytes / 4);

/** Pieces of `data` in order, never cut within a character. Half a character becomes U+FFFD. */
export function* inputPieces(data: string): Generator<string> {
  const characters = data.isWellFormed() ? data : data.toWellFormed();
  for (let at = 0; at < characters.length; ) {
    let end = Math.min(at + PIECE, characters.length);
    if (/[\ud800-\udbff]/.test(characters[end - 1] ?? "")) end -= 1;
    yield characters.slice(at, end);
    at = end;
  }
}
