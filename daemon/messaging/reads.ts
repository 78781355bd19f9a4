/** Operations that read and keep the ledger: `ledger_*` and `message_history`. */
import { Refusal } from "../../shared/errors.ts";
import type { LedgerEvent } from "../../shared/events.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { CallContext } from "../../shared/operations/caller.ts";
import type { InputOf, ResultOf } from "../../shared/operations/registry.ts";
import { concerns, type GroupRoom, mayKnow, type Rooms } from "./group-room.ts";
import { EVENTS } from "./kinds.ts";
import { MessageStatuses } from "./statuses.ts";

const MESSAGES: ReadonlySet<string> = new Set([EVENTS.message]);
/** Wall time may have been set back a little since an Actor was added. */
const CLOCK_MARGIN_MS = 24 * 3_600_000;

export class Reads {
  readonly #rooms: Rooms;

  constructor(rooms: Rooms) {
    this.#rooms = rooms;
  }

  tail(input: InputOf<"ledger_tail">): ResultOf<"ledger_tail"> {
    const room = this.#rooms.get(input.group_id);
    const { before, after, from, limit } = input;
    const given = Object.entries({ before, after, from }).filter(([, value]) => value !== undefined);
    if (given.length > 1) {
      throw new Refusal("invalid_args", {
        specifics: "Only one of 'before', 'after' and 'from' can be given.",
        details: { field: given[1]![0] },
      });
    }
    const page = room.ledger.page({ before, after, from, limit, kinds: kindsOf(input.kinds) });
    return { events: annotated(room, page.events, input.with_obligation_status), has_more: page.more };
  }

  window(input: InputOf<"ledger_window">): ResultOf<"ledger_window"> {
    const room = this.#rooms.get(input.group_id);
    const { event_id: around, before, after } = input;
    const { events, older, newer } = room.ledger.window({
      around,
      before,
      after,
      kinds: kindsOf(input.kinds),
    });
    return {
      events: annotated(room, events, input.with_obligation_status),
      has_older: older,
      has_newer: newer,
    };
  }

  async search(input: InputOf<"ledger_search">): Promise<ResultOf<"ledger_search">> {
    const room = this.#rooms.get(input.group_id);
    const { query, before, limit } = input;
    const page = await room.ledger.search({ query, before, limit, kinds: kindsOf(input.kinds) });
    return {
      events: annotated(room, page.events, input.with_obligation_status),
      has_more: page.more,
      continue_before: page.before,
    };
  }

  /** Ids that aren't messages here, or none that this Actor may know, are left out. */
  statuses(input: InputOf<"ledger_statuses">, { caller }: CallContext): ResultOf<"ledger_statuses"> {
    const room = this.#rooms.get(input.group_id);
    if (caller.kind === "actor") room.self(caller);
    const statuses: ResultOf<"ledger_statuses">["statuses"] = {};
    for (const id of input.event_ids) {
      const ordinal = room.ledger.ordinalOf(id);
      if (ordinal === undefined) continue;
      const event = room.ledger.read(ordinal);
      if (event.kind !== EVENTS.message || !mayKnow(caller, event)) continue;
      statuses[id] = new MessageStatuses(room, ordinal, event).status();
    }
    return { statuses };
  }

  async compact(input: InputOf<"ledger_compact">): Promise<ResultOf<"ledger_compact">> {
    const { ledger } = this.#rooms.get(input.group_id);
    const { sealed } = await ledger.compact();
    return { sealed: sealed === null ? null : String(sealed.number), segments: ledger.segments };
  }

  verify(input: InputOf<"ledger_verify">): Promise<ResultOf<"ledger_verify">> {
    return this.#rooms.get(input.group_id).ledger.verify();
  }

  /** Only what that Actor sent or was sent in its own generation; walks back from the newest in pages. */
  async history(
    input: InputOf<"message_history">,
    context: CallContext,
  ): Promise<ResultOf<"message_history">> {
    const room = this.#rooms.get(input.group_id);
    const { caller } = context;
    const actor_id = caller.kind === "actor" ? caller.actor_id : input.actor_id;
    if (actor_id === undefined || (input.actor_id !== undefined && input.actor_id !== actor_id)) {
      if (caller.kind === "actor") throw new Refusal("permission_denied");
      throw new Refusal("invalid_args", {
        specifics: "'actor_id' is missing.",
        details: { field: "actor_id" },
      });
    }
    const actor = caller.kind === "actor" ? room.self(caller) : room.group.actor(actor_id);
    if (input.before_event_id !== undefined) room.visible(caller, input.before_event_id);
    const begin = new Date(Date.parse(actor.created_at) - CLOCK_MARGIN_MS).toISOString();
    const query = input.query.trim();
    const newestFirst: LedgerEvent[] = [];
    let before = input.before_event_id;
    for (;;) {
      const page =
        query === ""
          ? olderPage(room, before)
          : await room.ledger.search({ query, before, limit: LIMITS.page.max, kinds: MESSAGES });
      for (const event of page.events.reverse()) {
        const side = concerns(event, actor.id, actor.generation);
        if (side !== null && (input.mode === "all" || input.mode === side)) newestFirst.push(event);
        if (newestFirst.length > input.limit) break;
      }
      if (newestFirst.length > input.limit || page.before === null) break;
      if (context.signal.aborted || (page.events.at(-1)?.ts ?? begin) < begin) break;
      before = page.before;
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    const has_more = newestFirst.length > input.limit;
    return { events: newestFirst.slice(0, input.limit).reverse(), has_more };
  }
}

function olderPage(
  room: GroupRoom,
  before: string | undefined,
): { events: LedgerEvent[]; before: string | null } {
  const { events, more } = room.ledger.page({ before, limit: LIMITS.page.max, kinds: MESSAGES });
  return { events, before: more ? (events[0]?.id ?? null) : null };
}

function kindsOf(kinds: readonly string[] | undefined): ReadonlySet<string> | undefined {
  return kinds === undefined ? undefined : new Set(kinds);
}

/** With `_obligation_status` and the Connect statuses beside each message's members when asked for. */
function annotated(room: GroupRoom, events: LedgerEvent[], wanted: boolean): LedgerEvent[] {
  if (!wanted) return events;
  return events.map((event) => {
    const ordinal = event.kind === EVENTS.message ? room.ledger.ordinalOf(event.id) : undefined;
    if (ordinal === undefined) return event;
    return {
      ...event,
      _obligation_status: new MessageStatuses(room, ordinal, event).obligations(),
      _connect_delivery: null,
      _connect_cancellation: null,
    };
  });
}
