/** Wrong use of the command line: exit 2. */
export class UsageError extends Error {
  /** Words of the command whose help to point to. */
  readonly words: string;

  constructor(message: string, words = "") {
    super(message);
    this.name = "UsageError";
    this.words = words;
  }
}
