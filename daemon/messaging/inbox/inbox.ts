/**
 * Operations `inbox_read`, `inbox_peek`, `feed_read` and `feed_unread`, and the external runner's
 * side of them
 * (docs/core-model.md#actor). Direct messages are claimed in the ledger before an Actor gets them.
 * The session holds the Actor's Mail and moves the cursor later. Both are acknowledged by naming
 * the batch or by any later call of the same session (`later`). If the session ends first, they are
 * delivered again, marked. A call without a session moves the cursor at once. Paused and stopped
 * Groups and disabled Actors get nothing: their reads keep waiting and return empty.
 */

import { timestamp } from "../../../platform/clock.ts";
import { errorFields } from "../../../platform/log.ts";
import { Refusal } from "../../../shared/errors.ts";
import { type InboxEvent, isMessage } from "../../../shared/events.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { StoredActor } from "../../../shared/model.ts";
import type { CallContext } from "../../../shared/operations/caller.ts";
import type { InputOf, ResultOf } from "../../../shared/operations/registry.ts";
import type { NewEvent } from "../../ledger/types.ts";
import type { ActorCaller, Chats, GroupChat, MessagingDependencies } from "../group-chat.ts";
import { HANDED_BACK } from "../kinds.ts";
import type { ActorQueue } from "../projection/actor-queue.ts";
import { delivery, mailRead } from "./inbox-events.ts";
import { readMailMark, writeMailMark } from "./mail-mark.ts";
import { readingOf } from "./overview.ts";
import { bytesOf, partOf } from "./reading-budget.ts";
import type { Session, Sessions } from "./sessions.ts";

type Reading = ResultOf<"inbox_read">;
type InboxMessage = Reading["messages"][number];

/** What is about to be delivered, in ledger order. */
interface Selection {
  ordinals: number[];
  mail: Set<number>;
  redelivered: Set<number>;
  /** More waits than the limit of messages allows. */
  isCut: boolean;
}

const ACKNOWLEDGED = "acknowledged";
const LATER_CALL = "later_call";

export class Inbox {
  readonly #chats: Chats;
  readonly #deps: MessagingDependencies;
  readonly #sessions: Sessions;
  /** Called when what an Actor is doing has changed. */
  readonly #changed: (groupId: string, actorId: string) => void;

  constructor(
    chats: Chats,
    deps: MessagingDependencies,
    sessions: Sessions,
    changed: (groupId: string, actorId: string) => void,
  ) {
    this.#chats = chats;
    this.#deps = deps;
    this.#sessions = sessions;
    this.#changed = changed;
  }

  peek(input: InputOf<"inbox_peek">, { caller }: CallContext): ResultOf<"inbox_peek"> {
    const chat = this.#chats.get(input.group_id);
    const actor = this.#whose(chat, input.actor_id, caller);
    const queue = chat.queueOf(actor);
    if (queue === undefined) return { messages: [], cursor: null, unread: 0 };
    const ordinals = Array.from({ length: Math.min(input.limit, queue.mail.count) }, (_, at) =>
      queue.mail.at(at),
    );
    return {
      messages: chat.ledger.readMany(ordinals).filter(isMessage),
      cursor: queue.cursor,
      unread: queue.mail.count,
    };
  }

  async read(input: InputOf<"inbox_read">, context: CallContext): Promise<Reading> {
    const chat = this.#chats.get(input.group_id);
    const { caller } = context;
    const actor = this.#whose(chat, input.actor_id, caller);
    if (caller.kind !== "actor") {
      return chat.inbox(actor.id).inTurn(() => this.#readMail(chat, actor, input.limit));
    }
    const session = this.#sessions.touch(caller, caller.session);
    const left = this.#sessions.enter(session);
    try {
      if (input.ack !== undefined) await this.#accept(chat, caller, input.ack, ACKNOWLEDGED);
      return await this.#wait(chat, caller, session, input, context);
    } finally {
      left();
      this.#isWaiting(chat, session, false);
    }
  }

  /** The person has seen everything up to this event. Moves only forward. */
  async feedRead(input: InputOf<"feed_read">): Promise<ResultOf<"feed_read">> {
    const { chat, ordinal } = this.#place(input);
    const { reading } = chat.projection;
    const count = reading.countThrough(ordinal);
    if (count > 0) {
      const id = chat.ledger.idOf(reading.at(count - 1));
      await chat.ledger.append(chat.event("mail.read", "user", { actor_id: "user", event_id: id }));
    }
    return readingOf(this.#chats, chat);
  }

  /** The person wants to read again from this event on. Moves only back. */
  async feedUnread(input: InputOf<"feed_unread">): Promise<ResultOf<"feed_unread">> {
    const { chat, ordinal } = this.#place(input);
    const first = chat.projection.reading.readFrom(ordinal);
    if (first !== null) {
      const id = chat.ledger.idOf(first);
      await chat.ledger.append(chat.event("mail.unread", "user", { actor_id: "user", event_id: id }));
    }
    return readingOf(this.#chats, chat);
  }

  #place({ group_id: groupId, event_id: eventId }: InputOf<"feed_read">) {
    const chat = this.#chats.get(groupId);
    const ordinal = chat.ledger.ordinalOf(eventId);
    if (ordinal === undefined) throw new Refusal("event_not_found", { details: { event_id: eventId } });
    return { chat, ordinal };
  }

  /**
   * A session's call is evidence that the model received its last batch. Where calls may overtake
   * one another, this counts only if nothing has cancelled or lost that answer for a while, because
   * the client may have given up before this call. Never throws; appends on its own.
   */
  later(caller: ActorCaller, session: Session): void {
    for (const [batchId, state] of session.batches) {
      if (state !== "answered") continue;
      const chat = this.#chats.find(caller.group_id);
      if (chat === undefined) return;
      const accept = (): Promise<void> =>
        this.#accept(chat, caller, batchId, LATER_CALL).catch((error: unknown) => {
          // The next call tries again.
          if (session.batches.has(batchId)) session.batches.set(batchId, "answered");
          this.#deps.log.warn("inbox_accept", { group_id: caller.group_id, ...errorFields(error) });
        });
      session.batches.set(batchId, "settling");
      if (caller.unordered === true) this.#sessions.soon(session, LIMITS.mcp.settleSeconds * 1000, accept);
      else void accept();
    }
  }

  #whose(chat: GroupChat, actorId: string | undefined, caller: CallContext["caller"]): StoredActor {
    if (caller.kind === "actor") {
      if (actorId !== undefined && actorId !== caller.actor_id) throw new Refusal("permission_denied");
      return chat.self(caller);
    }
    if (actorId === undefined) {
      throw new Refusal("invalid_args", {
        specifics: "'actor_id' is missing.",
        details: { field: "actor_id" },
      });
    }
    return chat.group.actor(actorId);
  }

  async #wait(
    chat: GroupChat,
    caller: ActorCaller,
    session: Session,
    input: InputOf<"inbox_read">,
    context: CallContext,
  ): Promise<Reading> {
    const { clock } = this.#deps;
    const deadline = clock.monotonic() + (input.wait_seconds ?? 0) * 1000;
    const inbox = chat.inbox(caller.actor_id);
    let saidAt = clock.monotonic();
    for (;;) {
      if (context.signal.aborted || session.over !== null) break;
      const reading = await inbox.inTurn(() =>
        this.#take(chat, caller, session, input.limit, context.signal),
      );
      if (reading !== null) return reading;
      const now = clock.monotonic();
      if (now >= deadline) break;
      if (now - saidAt >= LIMITS.inbox.progressSeconds * 1000) {
        context.progress?.("Waiting for messages");
        saidAt = now;
      }
      const progressAt = saidAt + LIMITS.inbox.progressSeconds * 1000;
      const paused = this.#intervalEnd(chat, caller.actor_id);
      const until = Math.min(deadline, progressAt, paused > now ? paused : Number.POSITIVE_INFINITY);
      if (context.signal.aborted || session.over !== null) continue;
      this.#isWaiting(chat, session, true);
      await this.#sleep(chat, caller.actor_id, until - now, context.signal);
    }
    if (session.over?.refusal) throw session.over.refusal;
    const who = { id: caller.actor_id, generation: caller.generation };
    const cursor = chat.queueOf(who)?.cursor ?? null;
    return { batch_id: null, has_more: false, messages: [], cursor, unread: chat.unreadMail(who) };
  }

  /** What people see of it: a wait lasts until the call ends, even while it looks for messages. */
  #isWaiting(chat: GroupChat, session: Session, isWaiting: boolean): void {
    if (session.isWaiting === isWaiting) return;
    session.isWaiting = isWaiting;
    if (isWaiting) session.took = 0;
    this.#changed(chat.group.group_id, session.identity.actor_id);
  }

  /** Until something is appended for the Actor, the time is up, or the caller goes away. */
  #sleep(chat: GroupChat, actorId: string, milliseconds: number, signal: AbortSignal): Promise<void> {
    const inbox = chat.inbox(actorId);
    if (inbox.waiting >= LIMITS.inbox.waitersPerActor) {
      const limit = LIMITS.inbox.waitersPerActor;
      throw new Refusal("limit_reached", {
        specifics: `${limit} calls are waiting for this Actor's messages, which is the limit.`,
        remedy: "End one of them.",
        details: { limit },
      });
    }
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel();
        leave();
        signal.removeEventListener("abort", end);
        resolve();
      };
      const leave = inbox.await(end);
      const timer = this.#deps.clock.after(Math.max(0, Math.ceil(milliseconds)), end);
      signal.addEventListener("abort", end, { once: true });
    });
  }

  /** What can be delivered now, claimed; null if there is nothing. Runs in the Actor's turn. */
  async #take(
    chat: GroupChat,
    caller: ActorCaller,
    session: Session,
    limit: number,
    signal: AbortSignal,
  ): Promise<Reading | null> {
    const actor = chat.self(caller);
    if (signal.aborted || session.over !== null || !chat.handsOut || !actor.enabled) return null;
    const queue = chat.queueOf(actor);
    if (queue === undefined) return null;
    const selection = this.#select(chat, queue, limit, actor.runner === "external");
    if (selection.ordinals.length === 0) return null;
    const batchId = `b_${this.#deps.random.uuid().replaceAll("-", "")}`;
    const messages: InboxMessage[] = [];
    const events: NewEvent[] = [];
    const claimed: InboxEvent[] = [];
    let lastMail: { event_id: string; ordinal: number } | undefined;
    let bytes = 0;
    let hasMore = selection.isCut;
    for (const { ordinal, event } of chat.inboxEvents(selection.ordinals)) {
      const redelivered = selection.redelivered.has(ordinal);
      const isMail = selection.mail.has(ordinal);
      const kind = isMail ? "mail" : event.kind === "system.notify" ? "notice" : "direct";
      const divided = session.name === null ? null : partOf(event, session.parts.get(event.id) ?? 0);
      const shown = divided ?? { event };
      bytes += bytesOf(shown.event);
      if (messages.length > 0 && bytes > LIMITS.inbox.batchBytes) {
        hasMore = true;
        break;
      }
      messages.push({ ...shown, delivery: kind, redelivered });
      if (divided !== null && divided.part.to < divided.part.bytes) {
        // Only the last part is taken: until then, the message waits as before.
        if (messages.length > 1) messages.pop();
        else session.parts.set(event.id, divided.part.to);
        hasMore = true;
        break;
      }
      if (isMail) {
        lastMail = { event_id: event.id, ordinal };
        continue;
      }
      claimed.push(event);
      events.push(delivery(chat, actor, event.id, batchId, "claimed", redelivered ? "redelivered" : ""));
    }
    const holdsMail = lastMail !== undefined && session.name !== null;
    const isBatch = claimed.length > 0 || holdsMail;
    if (lastMail !== undefined && !holdsMail) events.push(mailRead(chat, actor, lastMail.event_id, actor.id));
    if (isBatch) this.#sessions.hold(session, batchId);
    try {
      if (events.length > 0) await chat.ledger.appendAll(events);
    } catch (error) {
      this.#sessions.drop(session.identity, batchId);
      throw error;
    }
    const inbox = chat.inbox(actor.id);
    if (claimed.length > 0) inbox.handedOutAt = this.#deps.clock.monotonic();
    if (isBatch && (signal.aborted || !this.#sessions.isHeld(session.identity, batchId))) {
      await this.#handBack(chat, actor, claimed, batchId);
      return null;
    }
    if (isBatch) session.batches.set(batchId, "answered");
    for (const { event } of isBatch ? messages : []) session.parts.delete(event.id);
    if (lastMail !== undefined && holdsMail) {
      const isNew = inbox.mail.take({ batch_id: batchId, ...lastMail, holder: session });
      if (isNew) this.#remember(chat, actor, lastMail.event_id);
    }
    session.took = messages.length;
    session.tookAt = timestamp(this.#deps.clock);
    session.isWaiting = false;
    this.#changed(chat.group.group_id, actor.id);
    return {
      batch_id: isBatch ? batchId : null,
      has_more: hasMore,
      messages,
      cursor: queue.cursor,
      unread: chat.unreadMail(actor),
    };
  }

  /** It is only a mark, so a disk that fails now only causes a log line. */
  #remember(chat: GroupChat, actor: StoredActor, eventId: string): void {
    try {
      writeMailMark(this.#deps.files, chat.group.paths.cursors, actor, eventId);
    } catch (error) {
      this.#deps.log.warn("mail_mark", { group_id: chat.group.group_id, ...errorFields(error) });
    }
  }

  #handedOut(chat: GroupChat, { actor_id: actorId, generation }: ActorQueue): number {
    const directory = chat.group.paths.cursors;
    const eventId = readMailMark(this.#deps.files, directory, { id: actorId, generation });
    return eventId === null ? -1 : (chat.ledger.ordinalOf(eventId) ?? -1);
  }

  /**
   * The oldest of everything that waits. Direct messages only for Actors that take them themselves
   * (a terminal is prompted), and once the Group's minimum interval has passed.
   */
  #select(chat: GroupChat, queue: ActorQueue, limit: number, takesDirect: boolean): Selection {
    const selection: Selection = { ordinals: [], mail: new Set(), redelivered: new Set(), isCut: false };
    const hold = chat.inbox(queue.actor_id).mail;
    if (queue.mail.count > 0) hold.recall(() => this.#handedOut(chat, queue));
    const mailCount = hold.through > queue.cursorOrdinal ? 0 : Math.min(limit, queue.mail.count);
    for (let at = 0; at < mailCount; at += 1) {
      const ordinal = queue.mail.at(at);
      selection.mail.add(ordinal);
      if (hold.wasHandedOut(ordinal)) selection.redelivered.add(ordinal);
    }
    const candidates = [...selection.mail];
    selection.isCut = mailCount > 0 && mailCount < queue.mail.count;
    if (takesDirect && this.#intervalEnd(chat, queue.actor_id) <= this.#deps.clock.monotonic()) {
      for (let at = 0; at < Math.min(limit, queue.pending.count); at += 1)
        candidates.push(queue.pending.at(at));
      selection.isCut ||= queue.pending.count > limit;
      for (const [id, { ordinal, redelivered }] of queue.returned) {
        // An import's ledger could say anything.
        if (chat.ledger.ordinalOf(id) !== ordinal) continue;
        candidates.push(ordinal);
        if (redelivered) selection.redelivered.add(ordinal);
      }
      const owner = { group_id: chat.group.group_id, actor_id: queue.actor_id };
      for (const { ordinal, batch_id: batchId } of queue.claimed.values()) {
        if (this.#sessions.isHeld(owner, batchId)) continue;
        candidates.push(ordinal);
        selection.redelivered.add(ordinal);
      }
    }
    selection.ordinals = candidates.sort((a, b) => a - b).slice(0, limit);
    selection.isCut ||= candidates.length > limit;
    return selection;
  }

  /** A person reads an Actor's Mail for it: the cursor moves, direct messages stay. */
  async #readMail(chat: GroupChat, actor: StoredActor, limit: number): Promise<Reading> {
    const queue = chat.queueOf(actor);
    const count = Math.min(limit, queue?.mail.count ?? 0);
    if (queue === undefined || count === 0) {
      return { batch_id: null, has_more: false, messages: [], cursor: queue?.cursor ?? null, unread: 0 };
    }
    const hasMore = count < queue.mail.count;
    const events = chat.ledger.readMany(Array.from({ length: count }, (_, at) => queue.mail.at(at)));
    const last = chat.ledger.idOf(queue.mail.at(count - 1));
    await chat.ledger.appendAll([mailRead(chat, actor, last, "user")]);
    return {
      batch_id: null,
      has_more: hasMore,
      messages: events.filter(isMessage).map((event) => ({ event, delivery: "mail", redelivered: false })),
      cursor: queue.cursor,
      unread: queue.mail.count,
    };
  }

  /**
   * Records the batch as accepted and moves the cursor past its Mail. For a batch that isn't open
   * (any more), nothing changes, so that acknowledging is idempotent.
   */
  #accept(chat: GroupChat, caller: ActorCaller, batchId: string, reason: string): Promise<void> {
    const inbox = chat.inbox(caller.actor_id);
    return inbox.inTurn(async () => {
      const actor = chat.self(caller);
      const queue = chat.queueOf(actor);
      const events: NewEvent[] = [];
      for (const [id, claim] of queue?.claimed ?? []) {
        if (claim.batch_id === batchId) events.push(delivery(chat, actor, id, batchId, "accepted", reason));
      }
      const mail = inbox.mail.of(batchId);
      // The person may have read it for the Actor.
      if (mail !== null && (queue?.mail.countThrough(mail.ordinal) ?? 0) > 0) {
        events.push(mailRead(chat, actor, mail.event_id, actor.id));
      }
      if (events.length > 0) await chat.ledger.appendAll(events);
      inbox.mail.settle(batchId);
      this.#sessions.drop(caller, batchId);
      if (mail !== null) inbox.wake();
    });
  }

  /** The answer was never sent: the messages are pending again, as if they hadn't been claimed. */
  async #handBack(
    chat: GroupChat,
    actor: StoredActor,
    claimed: readonly InboxEvent[],
    batchId: string,
  ): Promise<void> {
    try {
      if (claimed.length === 0) return;
      await chat.ledger.appendAll(
        claimed.map(({ id }) => delivery(chat, actor, id, batchId, "failed", HANDED_BACK)),
      );
    } finally {
      // Without its holder the claim is delivered again even if this couldn't be recorded.
      this.#sessions.drop({ group_id: chat.group.group_id, actor_id: actor.id }, batchId);
    }
  }

  /** Monotonic time from which direct messages may be delivered again (`min_interval_seconds`). */
  #intervalEnd(chat: GroupChat, actorId: string): number {
    return chat.inbox(actorId).handedOutAt + chat.group.record.settings.min_interval_seconds * 1000;
  }
}
