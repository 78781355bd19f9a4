/** The store can't be used as it is, and the operator can do something about it. */
export class StoreProblem extends Error {
  override readonly name = "StoreProblem";
  readonly remedy: string;

  constructor(message: string, options: ErrorOptions & { remedy?: string } = {}) {
    super(message, options);
    this.remedy = options.remedy ?? "Nothing was changed.";
  }
}
