/** Sessions of external Actors: who holds what was handed out (core-model.md, "Actor"). */

/** One Actor in one generation. */
export interface ActorIdentity {
  group_id: string;
  actor_id: string;
  generation: string;
}

/** Held by a connection for as long as it lasts. */
export interface Lifeline {
  /** The connection is gone; the session ends when this was its last lifeline. Idempotent. */
  release(): void;
}
