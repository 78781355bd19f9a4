/** Operations that read and keep the ledger: `ledger_*`. */
import { defined } from "../../../shared/defined.ts";
import { Refusal } from "../../../shared/errors.ts";
import type { LedgerEvent, MessageEvent } from "../../../shared/events.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { CallContext } from "../../../shared/operations/caller.ts";
import type { InputOf, ResultOf } from "../../../shared/operations/registry.ts";
import { fileFindings } from "../files/referred-files.ts";
import { type Chats, type GroupChat, mayKnow } from "../group-chat.ts";
import { MessageStatuses } from "../messages/statuses.ts";
import { filterOf } from "./message-filter.ts";

export class Reads {
  readonly #chats: Chats;

  constructor(chats: Chats) {
    this.#chats = chats;
  }

  tail(input: InputOf<"ledger_tail">): ResultOf<"ledger_tail"> {
    const chat = this.#chats.get(input.group_id);
    const { before, after, from, limit } = input;
    const given = Object.entries({ before, after, from }).filter(([, value]) => value !== undefined);
    if (given.length > 1) {
      throw new Refusal("invalid_args", {
        specifics: "Only one of 'before', 'after' and 'from' can be given.",
        details: { field: given[1]![0] },
      });
    }
    const page = chat.ledger.page({ before, after, from, limit, kinds: kindsOf(input.kinds) });
    return {
      events: annotated(chat, page.events, input.with_obligation_status),
      has_more: page.more,
      ...defined({ unreadable: page.unreadable }),
    };
  }

  window(input: InputOf<"ledger_window">): ResultOf<"ledger_window"> {
    const chat = this.#chats.get(input.group_id);
    const { event_id: around, before, after } = input;
    const { events, older, newer, unreadable } = chat.ledger.window({
      around,
      before,
      after,
      kinds: kindsOf(input.kinds),
    });
    return {
      events: annotated(chat, events, input.with_obligation_status),
      has_older: older,
      has_newer: newer,
      ...defined({ unreadable }),
    };
  }

  /** Replies come after what they answer, so that the oldest ones are found first. */
  thread(input: InputOf<"ledger_thread">): ResultOf<"ledger_thread"> {
    const chat = this.#chats.get(input.group_id);
    const { ledger } = chat;
    const messageAt = (ordinal: number | undefined): MessageEvent | null => {
      const event = ordinal === undefined ? undefined : ledger.readMany([ordinal])[0];
      return event?.kind === "chat.message" ? event : null;
    };
    let first = messageAt(ledger.ordinalOf(input.event_id));
    if (first === null) throw new Refusal("event_not_found", { details: { event_id: input.event_id } });
    for (let steps = 0; first.data.reply_to !== undefined && steps < LIMITS.thread.messages; steps += 1) {
      const answered = messageAt(ledger.ordinalOf(first.data.reply_to));
      if (answered === null) break;
      first = answered;
    }
    const found = new Map([[ledger.ordinalOf(first.id)!, first]]);
    for (const ordinal of found.keys()) {
      if (found.size > LIMITS.thread.messages) break;
      for (const later of ledger.related(ordinal)) {
        const reply = messageAt(later);
        if (reply?.data.reply_to === found.get(ordinal)!.id) found.set(later, reply);
        if (found.size > LIMITS.thread.messages) break;
      }
    }
    const events = [...found].sort(([a], [b]) => a - b).map(([, event]) => event);
    return {
      events: marked(chat, events.slice(0, LIMITS.thread.messages)),
      has_more: events.length > LIMITS.thread.messages,
    };
  }

  async search(input: InputOf<"ledger_search">): Promise<ResultOf<"ledger_search">> {
    const chat = this.#chats.get(input.group_id);
    const { query, before, limit } = input;
    const kinds = kindsOf(input.kinds);
    const page = await chat.ledger.search({ query, before, limit, kinds, ...filterOf(input, chat) });
    return {
      events: annotated(chat, page.events, input.with_obligation_status),
      has_more: page.more,
      continue_before: page.before,
      ...defined({ unreadable: page.unreadable }),
    };
  }

  async since(input: InputOf<"ledger_since">): Promise<ResultOf<"ledger_since">> {
    const { ledger } = this.#chats.get(input.group_id);
    return { event_id: (await ledger.firstSince(Date.parse(input.ts), kindsOf(input.kinds))) ?? null };
  }

  /** For an Actor, only what it may know. */
  find(input: InputOf<"ledger_find">, { caller }: CallContext): ResultOf<"ledger_find"> {
    const chat = this.#chats.get(input.group_id);
    if (caller.kind === "actor") chat.self(caller);
    const eventIds: string[] = [];
    for (const ordinal of chat.ledger.startingWith(input.prefix)) {
      const [event] = chat.ledger.readMany([ordinal]);
      if (event !== undefined && mayKnow(caller, event)) eventIds.push(event.id);
      if (eventIds.length === LIMITS.eventPrefix.found) break;
    }
    return { event_ids: eventIds };
  }

  /** Leaves out ids that aren't messages here, or that this Actor may not know. */
  statuses(input: InputOf<"ledger_statuses">, { caller }: CallContext): ResultOf<"ledger_statuses"> {
    const chat = this.#chats.get(input.group_id);
    if (caller.kind === "actor") chat.self(caller);
    const statuses: ResultOf<"ledger_statuses">["statuses"] = {};
    for (const id of input.event_ids) {
      const ordinal = chat.ledger.ordinalOf(id);
      if (ordinal === undefined) continue;
      const [event] = chat.ledger.readMany([ordinal]);
      if (event?.kind !== "chat.message" || !mayKnow(caller, event)) continue;
      statuses[id] = new MessageStatuses(chat, ordinal, event).status();
    }
    return { statuses };
  }

  async compact(input: InputOf<"ledger_compact">): Promise<ResultOf<"ledger_compact">> {
    const { ledger } = this.#chats.get(input.group_id);
    const { sealed } = await ledger.compact();
    return { sealed: sealed === null ? null : String(sealed.number), segments: ledger.segments };
  }

  /** Of the ledger, and of every file that its events refer to. */
  async verify(input: InputOf<"ledger_verify">): Promise<ResultOf<"ledger_verify">> {
    const { ledger, blobs } = this.#chats.get(input.group_id);
    const { problems, ...counts } = await ledger.verify();
    const findings = await fileFindings(ledger, blobs.checked, { again: true });
    const texts = [...problems, ...findings.map(({ text }) => text)];
    return { ...counts, problems: texts.slice(0, LIMITS.ledger.problems) };
  }
}

function kindsOf(kinds: readonly string[] | undefined): ReadonlySet<string> | undefined {
  return kinds === undefined ? undefined : new Set(kinds);
}

/** With `_imported` beside the members of what came with an import: nobody here wrote it. */
function marked<Event extends LedgerEvent>(chat: GroupChat, events: Event[]): Event[] {
  const { begin } = chat.projection;
  if (begin === 0) return events;
  return events.map((event) =>
    (chat.ledger.ordinalOf(event.id) ?? begin) < begin ? { ...event, _imported: true } : event,
  );
}

/** With `_obligation_status` and the Connect statuses beside each message's members on request. */
function annotated(chat: GroupChat, found: LedgerEvent[], wanted: boolean): LedgerEvent[] {
  const events = marked(chat, found);
  if (!wanted) return events;
  return events.map((event) => {
    if (event.kind !== "chat.message") return event;
    const ordinal = chat.ledger.ordinalOf(event.id);
    if (ordinal === undefined) return event;
    const statuses = new MessageStatuses(chat, ordinal, event);
    return {
      ...event,
      _obligation_status: statuses.obligations(),
      _connect_delivery: statuses.connectDelivery(),
      _connect_cancellation: statuses.connectCancellation(),
    };
  });
}
