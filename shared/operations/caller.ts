/**
 * A caller after authentication, as every handler sees it. `by` is derived from the credential and
 * is never free text.
 */
export type Caller =
  /** The owner of the local socket (`token_id` null) or an administrator access token. */
  | { kind: "user"; by: "user"; via: "socket" | "web"; token_id: string | null }
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
