/** Ledger events, as tests make them and look at them. */
import assert from "node:assert/strict";
import type { NewEvent } from "../../daemon/ledger/types.ts";
import type { ChatMessage, EventOf, LedgerEvent } from "../../shared/events.ts";

/** Those of one kind, in their order. */
export function ofKind<Kind extends LedgerEvent["kind"]>(
  events: readonly LedgerEvent[],
  kind: Kind,
): EventOf<Kind>[] {
  return events.filter((event): event is EventOf<Kind> => event.kind === kind);
}

/** The data of a message; fails for anything else. */
export function messageOf(event: LedgerEvent | undefined): ChatMessage {
  assert.ok(event?.kind === "chat.message", `${event?.kind} is no message`);
  return event.data;
}

/** The text of a message; undefined for anything else. */
export function textOf(event: LedgerEvent | undefined): string | undefined {
  return event?.kind === "chat.message" ? event.data.text : undefined;
}

/** Data of a message to no one. */
export function chatMessage(more: Partial<ChatMessage> = {}): ChatMessage {
  return {
    message_mode: "send",
    to: [],
    to_generations: {},
    sender_title: "Someone",
    text: "",
    format: "plain",
    attachments: [],
    refs: [],
    ...more,
  };
}

interface Loose {
  kind: string;
  data: object;
}

/** An event with any kind and data, as another version could have written it. */
export function odd(event: Omit<LedgerEvent, "kind" | "data"> & Loose): LedgerEvent {
  return event as LedgerEvent;
}

/** The same for an append. */
export function oddNew(event: Omit<NewEvent, "kind" | "data"> & Loose): NewEvent {
  return event as NewEvent;
}
