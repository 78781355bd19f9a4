/** A large part that many Homes never need. It is created when it is first requested. */
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

  /** Waits for a creation in progress; null if nothing was requested, or it failed. */
  async settled(): Promise<Part | null> {
    await this.#making?.catch(() => undefined);
    return this.made;
  }
}
