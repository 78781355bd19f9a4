/** A part that is heavy and that many Homes never need: it is made when it is first asked for. */
export class Lazy<Part> {
  readonly #make: () => Promise<Part>;
  #making: Promise<Part> | undefined;
  /** Null while it isn't made. */
  made: Part | null = null;

  constructor(make: () => Promise<Part>) {
    this.#make = make;
  }

  get(): Promise<Part> {
    this.#making ??= this.#make().then((part) => {
      this.made = part;
      return part;
    });
    return this.#making;
  }

  /** Waits for what is being made; null when nobody has asked for it. */
  async settled(): Promise<Part | null> {
    return (await this.#making) ?? null;
  }
}
