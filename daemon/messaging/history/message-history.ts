/**
 * Operation `message_history`: what one Actor sent or received in its own generation, paging back
 * from the newest.
 */
import { Refusal } from "../../../shared/errors.ts";
import { isMessage, type MessageEvent } from "../../../shared/events.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { StoredActor } from "../../../shared/model.ts";
import type { CallContext } from "../../../shared/operations/caller.ts";
import type { InputOf, ResultOf } from "../../../shared/operations/registry.ts";
import { type Chats, concerns, type GroupChat } from "../group-chat.ts";

type Input = InputOf<"message_history">;

interface Page {
  /** Oldest first. */
  events: MessageEvent[];
  /** Where the next page begins; null at the beginning of the history. */
  before: string | null;
  unreadable: string[] | undefined;
}

const ADDITIONS: ReadonlySet<string> = new Set(["actor.add"]);
const MESSAGES: ReadonlySet<string> = new Set(["chat.message"]);
/** Roughly what an event takes besides its text. */
const EVENT_BYTES = 512;

/**
 * One call reads roughly `scanBytes` of the ledger and says where to continue: a quiet Actor's
 * messages may be anywhere in a large Group. Throws event_not_found, actor_not_found,
 * permission_denied or invalid_args.
 */
export async function messageHistory(
  chats: Chats,
  input: Input,
  { caller, signal }: CallContext,
  scanBytes: number = LIMITS.history.scanBytes,
): Promise<ResultOf<"message_history">> {
  const chat = chats.get(input.group_id);
  const actor = whose(chat, input.actor_id, caller);
  const begin = beginOf(chat, actor);
  const newestFirst: MessageEvent[] = [];
  const unreadable: string[] = [];
  let before = input.before_event_id;
  let scanned = 0;
  for (;;) {
    const page = await olderPage(chat, input.query.trim(), before);
    unreadable.push(...(page.unreadable ?? []));
    for (const event of page.events.reverse()) {
      const side = concerns(event, actor.id, actor.generation);
      if (side !== null && (input.mode === "all" || input.mode === side)) newestFirst.push(event);
      if (newestFirst.length > input.limit) break;
    }
    if (newestFirst.length > input.limit) {
      const shown = newestFirst.slice(0, input.limit);
      const oldest = chat.ledger.ordinalOf(shown.at(-1)!.id)!;
      return answer(
        shown,
        unreadable.filter((id) => (chat.ledger.ordinalOf(id) ?? 0) > oldest),
      );
    }
    // Nothing older can be this Actor's.
    const isBehindBegin = page.before !== null && (chat.ledger.ordinalOf(page.before) ?? 0) <= begin;
    if (page.before === null || isBehindBegin) return answer(newestFirst, unreadable, null);
    scanned += estimate(chat, page, before);
    before = page.before;
    if (scanned >= scanBytes || signal.aborted) return answer(newestFirst, unreadable, before);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

/** By default the next call continues before the oldest of these. */
function answer(
  newestFirst: MessageEvent[],
  unreadable: string[],
  continueBefore: string | null = newestFirst.at(-1)?.id ?? null,
): ResultOf<"message_history"> {
  return {
    events: newestFirst.reverse(),
    has_more: continueBefore !== null,
    continue_before: continueBefore,
    ...(unreadable.length === 0 ? {} : { unreadable }),
  };
}

function whose(
  chat: GroupChat,
  actorId: string | undefined,
  caller: CallContext["caller"],
): Pick<StoredActor, "id" | "generation" | "created_at"> {
  if (caller.kind === "actor") {
    if (actorId !== undefined && actorId !== caller.actor_id) throw new Refusal("permission_denied");
    return chat.self(caller);
  }
  if (actorId !== undefined) return chat.group.actor(actorId);
  throw new Refusal("invalid_args", {
    specifics: "'actor_id' is missing.",
    details: { field: "actor_id" },
  });
}

/**
 * Where this Actor was added: nothing before it can be its own. The order of the history says so,
 * for the clock may have been set since. -1 when that isn't there any more.
 */
function beginOf(chat: GroupChat, { id, generation }: Pick<StoredActor, "id" | "generation">): number {
  const { ledger } = chat;
  let before: string | undefined;
  for (;;) {
    const { events, more } = ledger.page({ before, limit: LIMITS.page.max, kinds: ADDITIONS });
    const added = events.findLast(
      (event) =>
        event.kind === "actor.add" && event.data.actor_id === id && event.data.generation === generation,
    );
    if (added !== undefined) return ledger.ordinalOf(added.id) ?? -1;
    before = events[0]?.id;
    // An import brought it: then nothing before the Group's own beginning is its.
    if (!more || before === undefined) return chat.projection.begin - 1;
  }
}

async function olderPage(chat: GroupChat, query: string, before: string | undefined): Promise<Page> {
  const request = { before, limit: LIMITS.page.max, kinds: MESSAGES };
  if (query !== "") {
    const { events, before, unreadable } = await chat.ledger.search({ query, ...request });
    return { events: events.filter(isMessage), before, unreadable };
  }
  const { events, more, unreadable } = chat.ledger.page(request);
  return { events: events.filter(isMessage), before: more ? (events[0]?.id ?? null) : null, unreadable };
}

/** Bytes that a page cost: of the events it passed over and the texts it holds. */
function estimate({ ledger }: GroupChat, page: Page, before: string | undefined): number {
  const newest = before === undefined ? ledger.count : (ledger.ordinalOf(before) ?? ledger.count);
  const oldest = page.before === null ? 0 : (ledger.ordinalOf(page.before) ?? 0);
  let bytes = (newest - oldest) * EVENT_BYTES;
  for (const { data } of page.events) bytes += data.text.length;
  return bytes;
}
