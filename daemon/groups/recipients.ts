/** From what a sender writes to the Actors that are meant (core-model.md, "Messages"). Pure. */
import type { MessageMode, StoredGroup } from "../../shared/model.ts";

/** `remote` stands for a sender that is no Actor of this Group. */
export type Sender = { kind: "user" } | { kind: "actor"; actor_id: string } | { kind: "remote" };

export interface Audience {
  /** `["user"]`, or Actor ids in order of mention. */
  to: string[];
  /** Generation of each Actor in `to`; empty for the person. */
  to_generations: Record<string, string>;
}

export function resolveRecipients(
  _record: StoredGroup,
  _request: { to: readonly string[]; mode: MessageMode; sender: Sender },
): Audience {
  throw new Error("not yet");
}
