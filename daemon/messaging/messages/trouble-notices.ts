/**
 * Tells those who wait for an Actor's reply that it can't work now: once for each request and
 * failure, without any message text.
 */

import { errorFields, type Log } from "../../../platform/log.ts";
import type { StoredActor } from "../../../shared/model.ts";
import { idAndTitle, quoted } from "../../../shared/voice.ts";
import type { NewEvent } from "../../ledger/types.ts";
import type { GroupChat } from "../group-chat.ts";
import { TROUBLE_NOTICE } from "../kinds.ts";

/** What a notice quotes of a failure. */
const TROUBLE_CHARACTERS = 200;

export class TroubleNotices {
  readonly #log: Log;
  /** Requests that already have a notice of the current failure, by Actor in its generation. */
  readonly #told = new Map<string, Set<string>>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** `trouble` in words; empty when its last turn went well. */
  look(chat: GroupChat, actor: StoredActor, trouble: string): void {
    const name = `${chat.group.group_id}/${actor.id}/${actor.generation}`;
    if (trouble === "") {
      this.#told.delete(name);
      return;
    }
    const told = this.#told.get(name) ?? new Set();
    this.#told.set(name, told);
    const events = [...chat.projection.obligations.all()].flatMap((request) => {
      if (told.has(request.id) || request.owed.get(actor.id)?.generation !== actor.generation) return [];
      const queue = chat.queueOf(actor);
      // A failure doesn't concern messages that it never got.
      if (queue?.pending.has(request.ordinal) === true || queue?.returned.has(request.id) === true) return [];
      const asker = this.#asker(chat, request.asker.author, request.asker.generation);
      if (asker === null) return [];
      told.add(request.id);
      return [this.#notice(chat, actor, trouble, request.id, asker)];
    });
    if (events.length === 0) return;
    chat.ledger.appendAll(events).catch((error: unknown) => {
      this.#log.warn("trouble notices", { group_id: chat.group.group_id, ...errorFields(error) });
    });
  }

  /** The person, or the Actor of this Group that asked, if it is still the same; otherwise null. */
  #asker(chat: GroupChat, author: string, generation: string): { id: string; generation: string } | null {
    if (author === "user") return { id: "", generation: "" };
    const actor = chat.group.record.actors.find(({ id }) => id === author);
    return actor?.generation === generation ? { id: author, generation } : null;
  }

  #notice(
    chat: GroupChat,
    actor: StoredActor,
    trouble: string,
    relatedEventId: string,
    asker: { id: string; generation: string },
  ): NewEvent {
    return chat.event("system.notify", "system", {
      kind: TROUBLE_NOTICE,
      title: `${idAndTitle(actor.id, actor.title)} can't work on your request now`,
      message: `The reason: ${quoted(trouble, TROUBLE_CHARACTERS)}. The request stays open.`,
      target_actor_id: asker.id,
      priority: "normal",
      context: { actor_generation: asker.generation },
      related_event_id: relatedEventId,
    });
  }
}
