/** What keeps a Home from being used. These never cross the wire: the start of the daemon or of a client ends with them. */
export type HomeProblemCode =
  /** A newer program wrote it. */
  | "unsupported_version"
  /** The bytes don't say what they should; they are left as they are. */
  | "corrupt"
  | "unreadable"
  /** Foreign owner, a link, or open to others. */
  | "insecure"
  /** Another daemon runs. */
  | "locked";

/** `message` says what is wrong and what to do. Nothing in it is secret. */
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
