/** One Group as messaging sees it: its projection, running calls, and waiters. */

import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files.ts";
import { errorFields, type Log } from "../../platform/log.ts";
import type { ProjectFiles } from "../../platform/project-files.ts";
import type { Random } from "../../platform/random.ts";
import { Refusal } from "../../shared/errors.ts";
import type {
  EventData,
  EventKind,
  EventOf,
  InboxEvent,
  LedgerEvent,
  MessageEvent,
} from "../../shared/events.ts";
import type { StoredActor } from "../../shared/model.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { OpenGroup } from "../groups/group.ts";
import type { LaunchTokens } from "../groups/launch-tokens.ts";
import type { GroupRegistry } from "../groups/registry.ts";
import { type Reach, reachOf } from "../groups/scopes.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { NewEvent } from "../ledger/types.ts";
import type { BlobStore } from "./files/blobs.ts";
import { MailHold } from "./inbox/mail-hold.ts";
import type { Author, Said } from "./messages/message-event.ts";
import type { ActorQueue } from "./projection/actor-queue.ts";
import type { PresentationProjection } from "./projection/presentation-projection.ts";
import type { MessageProjection } from "./projection/projection.ts";
import type { GroupProjections, MessageProjections } from "./projection/projections.ts";

/** Smaller ones, for tests. */
export interface MessagingLimits {
  historyScanBytes: number;
  waitingBytes: number;
  waitingBytesPerHome: number;
}

export interface MessagingDependencies {
  files: Files;
  clock: Clock;
  random: Random;
  projects: ProjectFiles;
  log: Log;
  limits?: Partial<MessagingLimits>;
  registry: GroupRegistry;
  /** Whose credentials are revoked. */
  launchTokens: Pick<LaunchTokens, "onRevoked">;
  /** What follows the Groups' ledgers, which are open already. */
  projections: MessageProjections;
  /** Working states of Actors that run in terminals. */
  workingState(groupId: string, actor: StoredActor): WorkingState;
  /**
   * Why messages wait for an Actor whose process the daemon runs, in words; empty when none has to.
   */
  whyWaiting(groupId: string, actorId: string): string;
  /** Replies and cancellations that leave this instance. Without it, none do. */
  remote?: RemoteMessages;
}

/** What an Actor is doing, in words. */
export type WorkingState = Pick<
  ActorWithPresence["presence"],
  "state" | "reason" | "since" | "last_activity" | "attention"
>;

/** All Groups that messaging looks after. */
export interface Chats {
  /** Throws group_not_found or group_unavailable. */
  get(groupId: string): GroupChat;
  find(groupId: string): GroupChat | undefined;
  /** Of an Actor that runs in a terminal. */
  workingState(groupId: string, actor: StoredActor): WorkingState;
}

/** An event with its place in the Group's ledger. */
export interface Located<Kind extends LedgerEvent["kind"] = LedgerEvent["kind"]> {
  ordinal: number;
  event: EventOf<Kind>;
}

/** A reply to a message that came from or went to another instance. */
export interface RemoteReply {
  /** The message that is answered, as recorded here. */
  original: Located<"chat.message">;
  mode: "send" | "mail" | undefined;
  /** As written; empty for all that the original allows (RPL-010). */
  to: readonly string[];
}

/**
 * What messaging needs from the peers service above it: replies and cancellations that leave this
 * instance.
 */
export interface RemoteMessages {
  /** Whether the outbox has active work for this message or cancellation. */
  isActive(sourceEventId: string): boolean;
  /**
   * The event that was accepted under a sender's key, whether or not the ledger has it; undefined
   * when no active work has that key.
   */
  accepted(groupId: string, key: string): MessageEvent | undefined;
  /**
   * Queues a reply and records it here. Returns its source event. Throws what sending throws,
   * invalid_recipient for an audience that the original doesn't allow, permission_denied, or
   * connect_receipt_required for a follow-up before the original's receipt (RPL-004).
   */
  reply(
    chat: GroupChat,
    said: Said,
    reply: RemoteReply,
    caller: Caller,
    digest: string | undefined,
  ): Promise<MessageEvent>;
  /** The same checks without doing anything (MSG-048). */
  checkReply(chat: GroupChat, reply: RemoteReply, author: Author): void;
  /** Reserves the control, then records the withdrawal here. Returns its event (CAN-013). */
  cancel(
    chat: GroupChat,
    original: Located<"chat.message">,
    caller: Caller,
    withdrawal: { recipients: string[]; client_id: string | undefined },
  ): Promise<EventOf<"chat.reply_request.cancelled">>;
  /**
   * At the start, before files are settled: records accepted messages that a crash kept out of the
   * ledger (OUT-021).
   */
  recover(chat: GroupChat): Promise<void>;
}

/** What a Group's messaging learns from its surroundings. */
export interface ChatSurroundings {
  /** Null in a daemon that reaches no other instance. */
  remote: RemoteMessages | null;
  /** Why messages wait for an Actor whose process the daemon runs, in words. */
  whyWaiting(actorId: string): string;
  /** Whether a living session of the Actor holds the batch. */
  isHeld(actorId: string, batchId: string): boolean;
}

export type ActorCaller = Extract<Caller, { kind: "actor" }>;

export class GroupChat {
  readonly group: OpenGroup;
  readonly projection: MessageProjection;
  readonly presentations: PresentationProjection;
  readonly blobs: BlobStore;
  /** Keyed calls that aren't recorded yet. */
  readonly underWay = new Map<string, { digest: string; done: Promise<unknown> }>();
  readonly #inboxes = new Map<string, ActorInbox>();
  readonly #around: ChatSurroundings;
  /** Undefined until somebody asks. */
  #forgottenAt: string | null | undefined;
  #last: { ordinal: number; id: string; ts: string } | null = null;

  constructor(
    group: OpenGroup,
    { messages, presentations }: GroupProjections,
    blobs: BlobStore,
    around: ChatSurroundings,
  ) {
    this.#around = around;
    this.group = group;
    this.projection = messages;
    this.presentations = presentations;
    this.blobs = blobs;
  }

  /** Null in a daemon that reaches no other instance. */
  get remote(): RemoteMessages | null {
    return this.#around.remote;
  }

  /** Why messages wait for an Actor whose process the daemon runs, in words. */
  whyWaiting(actorId: string): string {
    return this.#around.whyWaiting(actorId);
  }

  /** Whether a living session of the Actor holds the batch. */
  isHeld(actorId: string, batchId: string): boolean {
    return this.#around.isHeld(actorId, batchId);
  }

  get ledger(): Ledger {
    return this.group.ledger;
  }

  get scopeKey(): string {
    return this.group.record.active_scope_key ?? "";
  }

  /** Paused and stopped Groups deliver nothing to Actors. */
  get handsOut(): boolean {
    const { state } = this.group.record;
    return state === "active" || state === "idle";
  }

  /** The event as the ledger takes it, in the Group's present scope. */
  event<Kind extends EventKind>(kind: Kind, by: string, data: EventData<Kind>, key?: string): NewEvent<Kind> {
    const event: unknown = { kind, scope_key: this.scopeKey, by, data, key };
    // The compiler doesn't see that kind and data belong together.
    return event as NewEvent<Kind>;
  }

  /**
   * The Actor that a credential speaks for. Throws invalid_launch_token if it has been removed or
   * added again since.
   */
  self(caller: ActorCaller): StoredActor {
    const actor = this.group.record.actors.find((candidate) => candidate.id === caller.actor_id);
    if (actor === undefined || actor.generation !== caller.generation)
      throw new Refusal("invalid_launch_token");
    return actor;
  }

  /** Where a caller's paths may lead if they mustn't leave the attached projects. */
  reach(caller: Caller): Reach {
    return reachOf(this.group.record, caller.kind === "actor" ? this.self(caller) : null);
  }

  author(caller: Caller): Author {
    if (caller.kind !== "actor") return { by: "user", title: "user" };
    const { id, generation, title } = this.self(caller);
    return { by: id, generation, title: title === "" ? id : title };
  }

  /** The queue of an Actor that exists now. */
  queueOf(actor: Pick<StoredActor, "id" | "generation">): ActorQueue | undefined {
    return this.projection.queue(actor.id, actor.generation);
  }

  /** Mail that no session has taken. */
  unreadMail(actor: Pick<StoredActor, "id" | "generation">): number {
    const mail = this.queueOf(actor)?.mail;
    return mail === undefined ? 0 : mail.count - mail.countThrough(this.inbox(actor.id).mail.through);
  }

  /** Whether the event came with an import: it can be read, but nothing may follow from it. */
  isHistory(ordinal: number): boolean {
    return ordinal < this.projection.begin;
  }

  /** The Group's own event that was recorded first under this idempotency key. */
  byKey(key: string): number | undefined {
    return this.ledger.byKey(key, this.projection.begin);
  }

  /** A message that a key or the projection knows. */
  message(ordinal: number): MessageEvent {
    const event = this.ledger.read(ordinal);
    if (event.kind === "chat.message") return event;
    throw new TypeError(`event ${event.id} isn't a message`);
  }

  /** Those of these ascending ordinals that an Inbox hands out. */
  inboxEvents(ordinals: readonly number[]): { ordinal: number; event: InboxEvent }[] {
    return this.ledger.readMany(ordinals).flatMap((event) => {
      const isHandedOut = event.kind === "chat.message" || event.kind === "system.notify";
      return isHandedOut ? [{ ordinal: this.ledger.ordinalOf(event.id)!, event }] : [];
    });
  }

  /** The Group's own event of this id; undefined for one that an import brought. */
  ownOrdinal(eventId: string): number | undefined {
    const ordinal = this.ledger.ordinalOf(eventId);
    return ordinal === undefined || this.isHistory(ordinal) ? undefined : ordinal;
  }

  /**
   * When the Group was last reset, UTC ISO 8601; null if it never was. Every ledger starts with
   * what created it.
   */
  get resetAt(): string | null {
    if (this.ledger.count === 0) return this.group.record.updated_at;
    if (this.isHistory(0)) return null;
    const [first] = this.ledger.readMany([0]);
    return first?.kind === "group.reset" ? first.ts : null;
  }

  /**
   * When a person last went on without events that were lost, UTC ISO 8601; null if nobody has.
   * What had arrived before may be forgotten.
   */
  get forgottenAt(): string | null {
    if (this.#forgottenAt === undefined) {
      const { events } = this.ledger.page({ limit: 1, kinds: new Set(["group.continue"]) });
      this.#forgottenAt = events[0]?.ts ?? null;
    }
    return this.#forgottenAt;
  }

  /** An event that something may be done with. Throws as `visible`, and imported_history. */
  actionable(caller: Caller, eventId: string): Located {
    const located = this.visible(caller, eventId);
    if (this.isHistory(located.ordinal))
      throw new Refusal("imported_history", { details: { event_id: eventId } });
    return located;
  }

  /** The same for what only a message allows. Throws event_not_found for any other event. */
  actionableMessage(caller: Caller, eventId: string): Located<"chat.message"> {
    const { ordinal, event } = this.actionable(caller, eventId);
    if (event.kind === "chat.message") return { ordinal, event };
    throw new Refusal("event_not_found", {
      specifics: "That event isn't a message.",
      details: { event_id: eventId },
    });
  }

  /**
   * Throws event_not_found unless the event exists and, for an Actor, is one that it sent or
   * received.
   */
  visible(caller: Caller, eventId: string): Located {
    const ordinal = this.ledger.ordinalOf(eventId);
    const event = ordinal === undefined ? undefined : this.ledger.read(ordinal);
    if (ordinal === undefined || event === undefined || !mayKnow(caller, event)) {
      throw new Refusal("event_not_found", { details: { event_id: eventId } });
    }
    return { ordinal, event };
  }

  /** The last event that people would call one. */
  lastEvent(): { id: string; ts: string } | null {
    const ordinal = this.projection.lastOrdinal;
    if (ordinal < 0) return null;
    if (this.#last?.ordinal !== ordinal) {
      const id = this.ledger.idOf(ordinal);
      const [event] = this.ledger.readMany([ordinal]);
      this.#last = { ordinal, id, ts: event?.ts ?? this.group.record.updated_at };
    }
    return { id: this.#last.id, ts: this.#last.ts };
  }

  inbox(actorId: string): ActorInbox {
    let inbox = this.#inboxes.get(actorId);
    if (inbox === undefined) {
      inbox = new ActorInbox();
      this.#inboxes.set(actorId, inbox);
    }
    return inbox;
  }

  /** Wakes everyone who waits for this Actor's messages, or for any Actor's. */
  wake(actorId?: string): void {
    if (actorId === undefined) for (const inbox of this.#inboxes.values()) inbox.wake();
    else this.#inboxes.get(actorId)?.wake();
  }
}

/** One Actor's messages are taken and acknowledged here, one step after another. */
export class ActorInbox {
  readonly mail = new MailHold();
  readonly #waiting = new Set<() => void>();
  #last: Promise<unknown> = Promise.resolve();
  /** When its last session ended, as far as this run knows. */
  leftAt: string | null = null;
  /** Monotonic time of the last hand-out of direct messages. */
  handedOutAt = Number.NEGATIVE_INFINITY;

  /** Calls that wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Runs `step` when the steps before it have ended. */
  inTurn<Result>(step: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(step);
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** `woken` is called at every wake until the returned function is called. */
  await(woken: () => void): () => void {
    this.#waiting.add(woken);
    return () => void this.#waiting.delete(woken);
  }

  wake(): void {
    for (const woken of this.#waiting) woken();
  }
}

/**
 * A person's message wakes an idle Group. It is already recorded, so a disk that fails now only
 * causes a log line.
 */
export async function wakeGroup(chat: GroupChat, log: Log): Promise<void> {
  try {
    await chat.group.update((record) => (record.state === "idle" ? { ...record, state: "active" } : record), {
      kind: "group.set_state",
      by: "user",
      data: { state: "active", reason: "message" },
    });
  } catch (error) {
    log.error("wake_group", { group_id: chat.group.group_id, ...errorFields(error) });
  }
}

/**
 * People see everything in their Groups. An Actor sees what it sent or received in its own
 * generation (docs/core-model.md#inbox-and-obligations).
 */
export function mayKnow(caller: Caller, event: LedgerEvent): boolean {
  return caller.kind !== "actor" || concerns(event, caller.actor_id, caller.generation) !== null;
}

/** Whether this Actor, in this generation, sent or received the message or notice. */
export function concerns(
  { kind, by, data }: LedgerEvent,
  actorId: string,
  generation: string,
): "sent" | "received" | null {
  if (kind === "chat.message") {
    if (by === actorId) return data.sender_generation === generation ? "sent" : null;
    const received = data.to.includes(actorId) && data.to_generations[actorId] === generation;
    return received ? "received" : null;
  }
  if (kind !== "system.notify" || data.target_actor_id !== actorId) return null;
  return data.context.actor_generation === generation ? "received" : null;
}
