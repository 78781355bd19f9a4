/** The store can't be used as it is, and the operator can do something about it. */
export class StoreProblem extends Error {
  override readonly name = "StoreProblem";
}
