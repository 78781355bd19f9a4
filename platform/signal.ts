/** A typed event that one service tells and others listen to. */
export class Signal<Arguments extends unknown[] = []> {
  readonly #listeners = new Set<(...told: Arguments) => void>();

  /** Returns the way to stop listening. */
  on(listener: (...told: Arguments) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Calls every listener, in the order in which they came. */
  tell(...told: Arguments): void {
    for (const listener of this.#listeners) listener(...told);
  }
}
