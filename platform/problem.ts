/**
 * Why a Home can't be used. These errors never cross the wire: they end the start of the daemon or
 * of a client.
 */
export type HomeProblemCode =
  /** A newer program wrote it. */
  | "unsupported_version"
  /** The content isn't valid. The file is left unchanged. */
  | "corrupt"
  | "unreadable"
  /** It was there before. */
  | "missing"
  /** Owned by someone else, a link, or open to others. */
  | "insecure"
  /** Another daemon runs. */
  | "locked";

/** `message` says what is wrong and what to do. It contains no secret. */
export class HomeProblem extends Error {
  readonly code: HomeProblemCode;
  readonly path: string;

  constructor(code: HomeProblemCode, path: string, wrong: string, remedy: string, cause?: unknown) {
    super(`${path}: ${wrong} ${remedy}`, cause === undefined ? undefined : { cause });
    this.name = "HomeProblem";
    this.code = code;
    this.path = path;
  }
}
