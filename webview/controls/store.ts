/**
 * Something that changes and tells its listeners. Stores hold what is shown, know nothing of the
 * document, and are tested without one.
 */
export class Store {
  readonly #listeners = new Set<() => void>();

  /** Calls `listener` after each change until the returned function is called. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  protected changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
