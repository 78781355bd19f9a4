/**
 * Operations `inbox_read`, `inbox_peek` and `feed_read`, and the external runner's side of them (docs/core-model.md#actor): the direct
 * messages that an Actor is handed are claimed in the ledger first, and its Mail is held by the session, which moves the cursor later. Both
 * are acknowledged by naming the batch or by any later call of the session that got it (`later`); and handed out again, marked, when that session has
 * ended without it. A call without a session moves the cursor at once. Paused and stopped Groups and disabled Actors are handed nothing:
 * their reads wait on and answer empty.
 */

import { timestamp } from "../../../platform/clock.ts";
import { errorFields } from "../../../platform/log.ts";
import { Refusal } from "../../../shared/errors.ts";
import type { LedgerEvent } from "../../../shared/events.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { StoredActor } from "../../../shared/model.ts";
import type { CallContext } from "../../../shared/operations/caller.ts";
import type { InputOf, ResultOf } from "../../../shared/operations/registry.ts";
import type { NewEvent } from "../../ledger/types.ts";
import type { ActorCaller, GroupRoom, MessagingDependencies, Rooms } from "../group-room.ts";
import { EVENTS, HANDED_BACK } from "../kinds.ts";
import { attentionOf } from "../projection/overview.ts";
import type { ActorQueue } from "./actor-queue.ts";
import { delivery, mailRead } from "./inbox-events.ts";
import { readMailMark, writeMailMark } from "./mail-mark.ts";
import type { Session, Sessions } from "./sessions.ts";

type Reading = ResultOf<"inbox_read">;
type InboxMessage = Reading["messages"][number];

/** What is about to be handed out, in ledger order. */
interface Selection {
  ordinals: number[];
  mail: Set<number>;
  redelivered: Set<number>;
}

const ACKNOWLEDGED = "acknowledged";
const LATER_CALL = "later_call";

export class Inbox {
  readonly #rooms: Rooms;
  readonly #deps: MessagingDependencies;
  readonly #sessions: Sessions;
  /** Told when what an Actor does changed. */
  readonly #changed: (group_id: string, actor_id: string) => void;

  constructor(
    rooms: Rooms,
    deps: MessagingDependencies,
    sessions: Sessions,
    changed: (group_id: string, actor_id: string) => void,
  ) {
    this.#rooms = rooms;
    this.#deps = deps;
    this.#sessions = sessions;
    this.#changed = changed;
  }

  peek(input: InputOf<"inbox_peek">, { caller }: CallContext): ResultOf<"inbox_peek"> {
    const room = this.#rooms.get(input.group_id);
    const actor = this.#whose(room, input.actor_id, caller);
    const queue = room.queueOf(actor);
    if (queue === undefined) return { messages: [], cursor: null, unread: 0 };
    const ordinals = Array.from({ length: Math.min(input.limit, queue.mail.count) }, (_, at) =>
      queue.mail.at(at),
    );
    return {
      messages: room.ledger.readMany(ordinals),
      cursor: queue.cursor,
      unread: queue.mail.count,
    };
  }

  async read(input: InputOf<"inbox_read">, context: CallContext): Promise<Reading> {
    const room = this.#rooms.get(input.group_id);
    const { caller } = context;
    const actor = this.#whose(room, input.actor_id, caller);
    if (caller.kind !== "actor") {
      return room.desk(actor.id).inTurn(() => this.#readMail(room, actor, input.limit));
    }
    const session = this.#sessions.touch(caller, caller.session);
    const left = this.#sessions.enter(session);
    try {
      if (input.ack !== undefined) await this.#accept(room, caller, input.ack, ACKNOWLEDGED);
      return await this.#wait(room, caller, session, input, context);
    } finally {
      left();
      this.#isWaiting(room, session, false);
    }
  }

  /** The person has seen everything up to this event; only forward. */
  async feedRead(input: InputOf<"feed_read">): Promise<ResultOf<"feed_read">> {
    const room = this.#rooms.get(input.group_id);
    const ordinal = room.ledger.ordinalOf(input.event_id);
    if (ordinal === undefined) {
      throw new Refusal("event_not_found", { details: { event_id: input.event_id } });
    }
    const { projection } = room;
    const count = projection.unread.countThrough(ordinal);
    if (count > 0) {
      const { id } = room.ledger.read(projection.unread.at(count - 1));
      await room.ledger.append(room.event(EVENTS.mailRead, "user", { actor_id: "user", event_id: id }));
    }
    return { unread: projection.unread.count, attention: attentionOf(this.#rooms, room) };
  }

  /**
   * A call of a session is evidence that the model took what it was handed before; where calls overtake one another only when nothing has
   * cancelled or lost that answer for a while, since the client may have given up before this call. Never throws; appends on its own.
   */
  later(caller: ActorCaller, session: Session): void {
    for (const [batch_id, state] of session.batches) {
      if (state !== "answered") continue;
      const room = this.#rooms.find(caller.group_id);
      if (room === undefined) return;
      const accept = (): Promise<void> =>
        this.#accept(room, caller, batch_id, LATER_CALL).catch((error: unknown) => {
          // The next call tries again.
          if (session.batches.has(batch_id)) session.batches.set(batch_id, "answered");
          this.#deps.log.warn("inbox_accept", { group_id: caller.group_id, ...errorFields(error) });
        });
      session.batches.set(batch_id, "settling");
      if (caller.unordered === true) this.#sessions.soon(session, LIMITS.mcp.settleSeconds * 1000, accept);
      else void accept();
    }
  }

  #whose(room: GroupRoom, actor_id: string | undefined, caller: CallContext["caller"]): StoredActor {
    if (caller.kind === "actor") {
      if (actor_id !== undefined && actor_id !== caller.actor_id) throw new Refusal("permission_denied");
      return room.self(caller);
    }
    if (actor_id === undefined) {
      throw new Refusal("invalid_args", {
        specifics: "'actor_id' is missing.",
        details: { field: "actor_id" },
      });
    }
    return room.group.actor(actor_id);
  }

  async #wait(
    room: GroupRoom,
    caller: ActorCaller,
    session: Session,
    input: InputOf<"inbox_read">,
    context: CallContext,
  ): Promise<Reading> {
    const { clock } = this.#deps;
    const deadline = clock.monotonic() + (input.wait_seconds ?? 0) * 1000;
    const desk = room.desk(caller.actor_id);
    let saidAt = clock.monotonic();
    for (;;) {
      if (context.signal.aborted || session.over !== null) break;
      const reading = await desk.inTurn(() => this.#take(room, caller, session, input.limit, context.signal));
      if (reading !== null) return reading;
      const now = clock.monotonic();
      if (now >= deadline) break;
      if (now - saidAt >= LIMITS.inbox.progressSeconds * 1000) {
        context.progress?.("Waiting for messages");
        saidAt = now;
      }
      const progressAt = saidAt + LIMITS.inbox.progressSeconds * 1000;
      const paused = this.#intervalEnd(room, caller.actor_id);
      const until = Math.min(deadline, progressAt, paused > now ? paused : Number.POSITIVE_INFINITY);
      if (context.signal.aborted || session.over !== null) continue;
      this.#isWaiting(room, session, true);
      await this.#sleep(room, caller.actor_id, until - now, context.signal);
    }
    if (session.over?.refusal) throw session.over.refusal;
    const who = { id: caller.actor_id, generation: caller.generation };
    const cursor = room.queueOf(who)?.cursor ?? null;
    return { messages: [], batch_id: null, cursor, unread: room.unreadMail(who) };
  }

  /** What people see of it: a wait lasts until the call ends, also while it looks for messages. */
  #isWaiting(room: GroupRoom, session: Session, isWaiting: boolean): void {
    if (session.isWaiting === isWaiting) return;
    session.isWaiting = isWaiting;
    if (isWaiting) session.took = 0;
    this.#changed(room.group.group_id, session.identity.actor_id);
  }

  /** Until something is appended for the Actor, the time is over, or the caller goes away. */
  #sleep(room: GroupRoom, actor_id: string, milliseconds: number, signal: AbortSignal): Promise<void> {
    const desk = room.desk(actor_id);
    if (desk.waiting >= LIMITS.inbox.waitersPerActor) {
      const limit = LIMITS.inbox.waitersPerActor;
      throw new Refusal("limit_reached", {
        specifics: `${limit} calls wait for this Actor's messages, which is the most.`,
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
      const leave = desk.await(end);
      const timer = this.#deps.clock.after(Math.max(0, Math.ceil(milliseconds)), end);
      signal.addEventListener("abort", end, { once: true });
    });
  }

  /** What can be handed out now, claimed; null when that is nothing. Runs in the desk's turn. */
  async #take(
    room: GroupRoom,
    caller: ActorCaller,
    session: Session,
    limit: number,
    signal: AbortSignal,
  ): Promise<Reading | null> {
    const actor = room.self(caller);
    if (signal.aborted || session.over !== null || !room.handsOut || !actor.enabled) return null;
    const queue = room.queueOf(actor);
    if (queue === undefined) return null;
    const selection = this.#select(room, queue, limit, actor.runner === "external");
    if (selection.ordinals.length === 0) return null;
    const read = room.ledger.readMany(selection.ordinals);
    const batch_id = `b_${this.#deps.random.uuid().replaceAll("-", "")}`;
    const messages: InboxMessage[] = [];
    const events: NewEvent[] = [];
    const claimed: LedgerEvent[] = [];
    let lastMail: { event_id: string; ordinal: number } | undefined;
    for (const [at, event] of read.entries()) {
      const ordinal = selection.ordinals[at]!;
      const redelivered = selection.redelivered.has(ordinal);
      if (selection.mail.has(ordinal)) {
        lastMail = { event_id: event.id, ordinal };
        messages.push({ event, delivery: "mail", redelivered });
        continue;
      }
      claimed.push(event);
      events.push(delivery(room, actor, event.id, batch_id, "claimed", redelivered ? "redelivered" : ""));
      const kind = event.kind === EVENTS.notify ? "notice" : "direct";
      messages.push({ event, delivery: kind, redelivered });
    }
    const holdsMail = lastMail !== undefined && session.name !== null;
    const isBatch = claimed.length > 0 || holdsMail;
    if (lastMail !== undefined && !holdsMail) events.push(mailRead(room, actor, lastMail.event_id, actor.id));
    if (isBatch) this.#sessions.hold(session, batch_id);
    try {
      if (events.length > 0) await room.ledger.appendAll(events);
    } catch (error) {
      this.#sessions.drop(session.identity, batch_id);
      throw error;
    }
    const desk = room.desk(actor.id);
    if (claimed.length > 0) desk.handedOutAt = this.#deps.clock.monotonic();
    if (isBatch && (signal.aborted || !this.#sessions.isHeld(session.identity, batch_id))) {
      await this.#handBack(room, actor, claimed, batch_id);
      return null;
    }
    if (isBatch) session.batches.set(batch_id, "answered");
    if (lastMail !== undefined && holdsMail) {
      const isNew = desk.mail.take({ batch_id, ...lastMail, holder: session });
      if (isNew) this.#remember(room, actor, lastMail.event_id);
    }
    session.took = messages.length;
    session.tookAt = timestamp(this.#deps.clock);
    session.isWaiting = false;
    this.#changed(room.group.group_id, actor.id);
    return {
      messages,
      batch_id: isBatch ? batch_id : null,
      cursor: queue.cursor,
      unread: room.unreadMail(actor),
    };
  }

  /** Only a mark hangs on it: a disk that fails now is worth a line in the log. */
  #remember(room: GroupRoom, actor: StoredActor, event_id: string): void {
    try {
      writeMailMark(this.#deps.files, room.group.paths.cursors, actor, event_id);
    } catch (error) {
      this.#deps.log.warn("mail_mark", { group_id: room.group.group_id, ...errorFields(error) });
    }
  }

  #handedOut(room: GroupRoom, { actor_id, generation }: ActorQueue): number {
    const directory = room.group.paths.cursors;
    const event_id = readMailMark(this.#deps.files, directory, { id: actor_id, generation });
    return event_id === null ? -1 : (room.ledger.ordinalOf(event_id) ?? -1);
  }

  /**
   * The oldest of everything that waits; direct messages only for those that take them themselves (a terminal is prompted), when the Group's
   * minimum interval is over.
   */
  #select(room: GroupRoom, queue: ActorQueue, limit: number, takesDirect: boolean): Selection {
    const selection: Selection = { ordinals: [], mail: new Set(), redelivered: new Set() };
    const hold = room.desk(queue.actor_id).mail;
    if (queue.mail.count > 0) hold.recall(() => this.#handedOut(room, queue));
    const mailCount = hold.through > queue.cursorOrdinal ? 0 : Math.min(limit, queue.mail.count);
    for (let at = 0; at < mailCount; at += 1) {
      const ordinal = queue.mail.at(at);
      selection.mail.add(ordinal);
      if (hold.wasHandedOut(ordinal)) selection.redelivered.add(ordinal);
    }
    const candidates = [...selection.mail];
    if (takesDirect && this.#intervalEnd(room, queue.actor_id) <= this.#deps.clock.monotonic()) {
      for (let at = 0; at < Math.min(limit, queue.pending.count); at += 1)
        candidates.push(queue.pending.at(at));
      for (const [id, { ordinal, redelivered }] of queue.returned) {
        // An import's ledger could say anything.
        if (room.ledger.ordinalOf(id) !== ordinal) continue;
        candidates.push(ordinal);
        if (redelivered) selection.redelivered.add(ordinal);
      }
      const owner = { group_id: room.group.group_id, actor_id: queue.actor_id };
      for (const { ordinal, batch_id } of queue.claimed.values()) {
        if (this.#sessions.isHeld(owner, batch_id)) continue;
        candidates.push(ordinal);
        selection.redelivered.add(ordinal);
      }
    }
    selection.ordinals = candidates.sort((a, b) => a - b).slice(0, limit);
    return selection;
  }

  /** A person reads an Actor's Mail in its stead: the cursor moves, direct messages stay where they are. */
  async #readMail(room: GroupRoom, actor: StoredActor, limit: number): Promise<Reading> {
    const queue = room.queueOf(actor);
    const count = Math.min(limit, queue?.mail.count ?? 0);
    if (queue === undefined || count === 0) {
      return { messages: [], batch_id: null, cursor: queue?.cursor ?? null, unread: 0 };
    }
    const events = room.ledger.readMany(Array.from({ length: count }, (_, at) => queue.mail.at(at)));
    await room.ledger.appendAll([mailRead(room, actor, events.at(-1)!.id, "user")]);
    return {
      messages: events.map((event) => ({ event, delivery: "mail", redelivered: false })),
      batch_id: null,
      cursor: queue.cursor,
      unread: queue.mail.count,
    };
  }

  /** Notes the batch as accepted and moves the cursor over its Mail; one that isn't open (any more) changes nothing, so that acknowledging is idempotent. */
  #accept(room: GroupRoom, caller: ActorCaller, batch_id: string, reason: string): Promise<void> {
    const desk = room.desk(caller.actor_id);
    return desk.inTurn(async () => {
      const actor = room.self(caller);
      const queue = room.queueOf(actor);
      const events: NewEvent[] = [];
      for (const [id, claim] of queue?.claimed ?? []) {
        if (claim.batch_id === batch_id) events.push(delivery(room, actor, id, batch_id, "accepted", reason));
      }
      const mail = desk.mail.of(batch_id);
      // The person may have read it in the Actor's stead.
      if (mail !== null && (queue?.mail.countThrough(mail.ordinal) ?? 0) > 0) {
        events.push(mailRead(room, actor, mail.event_id, actor.id));
      }
      if (events.length > 0) await room.ledger.appendAll(events);
      desk.mail.settle(batch_id);
      this.#sessions.drop(caller, batch_id);
      if (mail !== null) desk.wake();
    });
  }

  /** The answer never left: the messages are pending again, as if they hadn't been claimed. */
  async #handBack(
    room: GroupRoom,
    actor: StoredActor,
    claimed: readonly LedgerEvent[],
    batch_id: string,
  ): Promise<void> {
    try {
      if (claimed.length === 0) return;
      await room.ledger.appendAll(
        claimed.map(({ id }) => delivery(room, actor, id, batch_id, "failed", HANDED_BACK)),
      );
    } finally {
      // Without its holder the claim is handed out again even if this couldn't be noted.
      this.#sessions.drop({ group_id: room.group.group_id, actor_id: actor.id }, batch_id);
    }
  }

  /** Monotonic time from which direct messages may be handed out again (`min_interval_seconds`). */
  #intervalEnd(room: GroupRoom, actor_id: string): number {
    return room.desk(actor_id).handedOutAt + room.group.record.settings.min_interval_seconds * 1000;
  }
}
