/**
 * The source event of outbox work: complete before it is recorded, so that a later start records
 * the same event (OUT-005, OUT-021).
 */

import type { SourceEvent } from "../../../shared/events.ts";
import type { GroupChat } from "../../messaging/group-chat.ts";
import { messageKey } from "../../messaging/projection/message-keys.ts";

/** The idempotency key of the sender's `client_id`; null without one. */
export function clientKeyOf({ kind, by, data }: SourceEvent): string | null {
  if (kind !== "chat.message" || data.client_id === undefined) return null;
  return messageKey({ by, generation: data.sender_generation }, data.client_id);
}

/** Records source events, each once, whoever requests it. */
export class SourceEvents {
  readonly #underWay = new Map<string, Promise<void>>();

  /** Throws what an append throws. */
  project(chat: GroupChat, event: SourceEvent): Promise<void> {
    const running = this.#underWay.get(event.id);
    if (running !== undefined) return running;
    const done = record(chat, event).finally(() => this.#underWay.delete(event.id));
    this.#underWay.set(event.id, done);
    return done;
  }
}

async function record(chat: GroupChat, event: SourceEvent): Promise<void> {
  if (chat.ledger.ordinalOf(event.id) !== undefined) return;
  await chat.ledger.appendAll([{ ...event, key: clientKeyOf(event) ?? undefined }]);
}
