/** Launch tokens: how an external Actor proves itself. The daemon keeps digests; the token is in an owner-only file. */
export interface LaunchIdentity {
  group_id: string;
  actor_id: string;
  generation: string;
}

export class LaunchTokens {
  /** The Actor that the token belongs to, or null. */
  verify(_token: string): LaunchIdentity | null {
    throw new Error("not yet");
  }
  /** Called when an Actor's token ends: restart, removal, delete, reset of a Group. */
  onRevoked(_listener: (identity: LaunchIdentity) => void): () => void {
    throw new Error("not yet");
  }
}
