/**
 * Output of one turn of the event loop, passed on together: the system delivers it in small pieces.
 */
export class OutputPieces {
  #pieces: Buffer[] = [];
  #listener: (bytes: Uint8Array) => void = () => {};

  onOutput(listener: (bytes: Uint8Array) => void): void {
    this.#listener = listener;
  }

  /** `piece`: some systems give text instead of bytes. */
  push(piece: Buffer | string): void {
    this.#pieces.push(typeof piece === "string" ? Buffer.from(piece) : piece);
    if (this.#pieces.length === 1) setImmediate(() => this.tell());
  }

  /** Passes on what has come so far. */
  tell(): void {
    const [first, ...others] = this.#pieces;
    if (first === undefined) return;
    this.#pieces = [];
    this.#listener(others.length === 0 ? first : Buffer.concat([first, ...others]));
  }
}
