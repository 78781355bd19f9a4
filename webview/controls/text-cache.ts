/**
 * Keeps the results for the most recently used texts, up to a number of texts and of characters: a
 * message may be large, and its result larger.
 */
export class TextCache {
  readonly #entries = new Map<string, string>();
  readonly #most: { entries: number; characters: number };
  #characters = 0;

  constructor(most: { entries: number; characters: number }) {
    this.#most = most;
  }

  /** Characters kept: texts and their results. */
  get characters(): number {
    return this.#characters;
  }

  /** The result of `make` for the text, computed now or earlier. */
  of(text: string, make: (text: string) => string): string {
    const known = this.#entries.get(text);
    this.#forget(text);
    const made = known ?? make(text);
    this.#entries.set(text, made);
    this.#characters += text.length + made.length;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#most.entries && this.#characters <= this.#most.characters) break;
      this.#forget(oldest);
    }
    return made;
  }

  #forget(text: string): void {
    const made = this.#entries.get(text);
    if (made === undefined) return;
    this.#entries.delete(text);
    this.#characters -= text.length + made.length;
  }
}
