/**
 * How svc knows that a person asks (docs/security.md#who-is-at-the-socket): a browser's session, an
 * access token, the editor's extension, a terminal that isn't an Actor's, what the daemon was
 * started from, or, where the system doesn't say who is there, the socket's key.
 */
export type Known = "browser" | "token" | "editor" | "terminal" | "starter" | "key";

/**
 * A caller after authentication, as every handler sees it. `by` is derived from the credential and
 * is never free text.
 */
export type Caller =
  /** The owner of the local socket (`token_id` null) or an administrator access token. */
  | {
      kind: "user";
      by: "user";
      via: "socket" | "web";
      token_id: string | null;
      /** Null: it may be any program of this user, which decides nothing. */
      known?: Known | null;
    }
  /** A person with a token restricted to these Groups. */
  | { kind: "member"; by: "user"; token_id: string; groups: ReadonlySet<string> }
  | {
      kind: "actor";
      /** The Actor's id. */
      by: string;
      group_id: string;
      actor_id: string;
      generation: string;
      /**
       * The Actor's session as its port named it; null for a single call such as one from the
       * command line.
       */
      session: string | null;
      /**
       * Digest of the launch token that the call came with; absent if the port doesn't say. Hooks
       * need it.
       */
      launch?: string;
      /** Recognized by its process, without the launch token. */
      descends?: true;
      /**
       * Calls of the session may overtake one another on their way here, including one that cancels
       * another.
       */
      unordered?: true;
    }
  | { kind: "exhibit"; by: "exhibit"; token_id: string; groups: ReadonlySet<string> };

export interface CallContext {
  caller: Caller;
  /**
   * Aborts when the caller goes away or cancels. Waiting operations then give back what they took.
   */
  signal: AbortSignal;
  /** A sign of life during a wait; absent if the port can't show one. */
  progress?: (text: string) => void;
}

/**
 * Whether any program of this user may be asking, as far as svc knows: it decides nothing
 * (docs/security.md#who-is-at-the-socket).
 */
export function isAnybody(caller: Caller): boolean {
  return caller.kind === "user" && caller.known === null;
}

/** For an event of what a person decided: how svc knew that it was one. Empty if it isn't known. */
export function knownBy(caller: Caller): { known?: Known } {
  return caller.kind === "user" && caller.known ? { known: caller.known } : {};
}
