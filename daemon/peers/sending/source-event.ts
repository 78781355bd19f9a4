/**
 * The source event of outbox work: complete before it is recorded, so that a later start records
 * the same event (OUT-005, OUT-021).
 */

import type { Random } from "../../../platform/random.ts";
import type { LedgerEvent } from "../../../shared/events.ts";
import type { NewEvent } from "../../ledger/types.ts";
import type { GroupChat } from "../../messaging/group-chat.ts";
import { EVENTS } from "../../messaging/kinds.ts";
import { messageKey } from "../../messaging/messages/message-keys.ts";

/** An event that isn't recorded yet, with its id and time. */
export function preallocate(
  chat: GroupChat,
  random: Random,
  ts: string,
  { kind, by, data }: Pick<LedgerEvent, "kind" | "by" | "data">,
): LedgerEvent {
  return {
    v: 1,
    id: random.uuid().replaceAll("-", ""),
    ts,
    kind,
    group_id: chat.group.group_id,
    scope_key: chat.scopeKey,
    by,
    data,
  };
}

/** The idempotency key of the sender's `client_id`; null without one. */
export function clientKeyOf({ kind, by, data }: LedgerEvent): string | null {
  const { client_id: clientId, sender_generation: generation } = data;
  if (kind !== EVENTS.message || typeof clientId !== "string") return null;
  return messageKey({ by, generation: typeof generation === "string" ? generation : undefined }, clientId);
}

/** Records source events, each once, whoever requests it. */
export class SourceEvents {
  readonly #underWay = new Map<string, Promise<void>>();

  /** Throws what an append throws. */
  project(chat: GroupChat, event: LedgerEvent): Promise<void> {
    const running = this.#underWay.get(event.id);
    if (running !== undefined) return running;
    const done = record(chat, event).finally(() => this.#underWay.delete(event.id));
    this.#underWay.set(event.id, done);
    return done;
  }
}

async function record(chat: GroupChat, event: LedgerEvent): Promise<void> {
  if (chat.ledger.ordinalOf(event.id) !== undefined) return;
  const { id, ts, kind, scope_key: scopeKey, by, data } = event;
  const fresh: NewEvent = { id, ts, kind, scope_key: scopeKey, by, data };
  const key = clientKeyOf(event);
  if (key !== null) fresh.key = key;
  await chat.ledger.appendAll([fresh]);
}
