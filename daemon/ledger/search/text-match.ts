/** What a search looks at: the same folding for events, queries and filters. */
import type { LedgerEvent } from "../../../shared/events.ts";

/** Members of data that a person sees as text. */
const TEXT_MEMBERS = ["text", "title", "message"] as const;

export function folded(text: string): string {
  return text.toLowerCase();
}

/** The event's texts, folded. */
export function foldedTexts(event: LedgerEvent): string[] {
  const texts: string[] = [];
  const data: Readonly<Record<string, unknown>> = event.data;
  for (const member of TEXT_MEMBERS) {
    const value = data[member];
    if (typeof value === "string") texts.push(folded(value));
  }
  return texts;
}

/** Whether one of the event's texts holds the query, which is folded. */
export function holds(event: LedgerEvent, query: string): boolean {
  return foldedTexts(event).some((text) => text.includes(query));
}

const ASCII_LIMIT = 128;
/** Shorter texts give it nothing to skip by. */
const SHORTEST = 4;
/**
 * Characters outside ASCII that fold to something with an ASCII letter in it: the Kelvin sign and I
 * with a dot.
 */
const FOLDED_TO_ASCII = [Buffer.from("\u212a"), Buffer.from("\u0130")];

/** Each byte, ASCII letters small. */
const SMALL = Uint8Array.from({ length: 256 }, (_, byte) => (byte >= 65 && byte <= 90 ? byte + 32 : byte));

/**
 * Finds an ASCII text in bytes without regard to case, from their end, without making strings of
 * them.
 */
export class AsciiFinder {
  readonly #wanted: Uint8Array;
  /** How far to go back when this byte is where the text would begin (Horspool, mirrored). */
  readonly #steps: Uint32Array;

  private constructor(wanted: Uint8Array) {
    this.#wanted = wanted;
    this.#steps = new Uint32Array(256).fill(wanted.length);
    for (let at = wanted.length - 1; at > 0; at -= 1) this.#steps[wanted[at]!] = at;
    for (let byte = 65; byte <= 90; byte += 1) this.#steps[byte] = this.#steps[SMALL[byte]!]!;
  }

  /** For a folded text; null when it is short or not all ASCII. */
  static of(text: string): AsciiFinder | null {
    const wanted = Buffer.from(text);
    const isAscii = wanted.length >= SHORTEST && wanted.every((byte) => byte < ASCII_LIMIT);
    return isAscii ? new AsciiFinder(wanted) : null;
  }

  /** Whether all that folds to ASCII in these bytes is ASCII itself. */
  suits(bytes: Buffer): boolean {
    return FOLDED_TO_ASCII.every((character) => !bytes.includes(character));
  }

  /** The last place at or before `from` where the text begins, -1 for none. */
  lastIn(bytes: Uint8Array, from: number): number {
    const wanted = this.#wanted;
    const { length } = wanted;
    let at = Math.min(from, bytes.length - length);
    while (at >= 0) {
      let matched = 0;
      while (matched < length && SMALL[bytes[at + matched]!] === wanted[matched]) matched += 1;
      if (matched === length) return at;
      at -= this.#steps[bytes[at]!]!;
    }
    return -1;
  }
}
