/** How far the other side has taken what is sent to it in numbered pieces, from 0. */
export class Acknowledged {
  #last = -1;
  #wake: (() => void) | null = null;

  /** The pieces up to `seq` have arrived. */
  take(seq: number): void {
    this.#last = Math.max(this.#last, seq);
    this.#wake?.();
  }

  /**
   * Resolves once the piece `seq` has arrived, at once for a negative one. Throws the signal's
   * reason after an abort. One call at a time.
   */
  async reaches(seq: number, signal: AbortSignal): Promise<void> {
    const wake = (): void => this.#wake?.();
    signal.addEventListener("abort", wake);
    try {
      for (;;) {
        signal.throwIfAborted();
        if (this.#last >= seq) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      this.#wake = null;
      signal.removeEventListener("abort", wake);
    }
  }
}
