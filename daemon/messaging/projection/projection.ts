/**
 * What is open in a Group: unread Mail and messages, what waits for Actors, obligations, unfinished
 * cross-group messages. It follows the append and is rebuilt from the ledger. Its memory grows with
 * what is open, not with history (docs/architecture.md#rules). Closed states are read from the
 * ledger's chain of related events (`statuses.ts`).
 *
 * Imported events are history (docs/core-model.md#group): none of it is open, whatever it says.
 */
import type { EventHead, Projection } from "../../ledger/types.ts";
import { ENDED_UNREAD, HANDED_BACK, RESUME_NOTICE } from "../kinds.ts";
import { ActorQueue } from "./actor-queue.ts";
import { authorOf, remoteAuthor } from "./authors.ts";
import { Obligations } from "./obligations.ts";
import { PersonReading } from "./person-reading.ts";
import { SavedProjection } from "./saved-projection.ts";

/** Bookkeeping that doesn't count as something that happened in the Group. */
const SILENT = new Set<string>([
  "mail.read",
  "mail.unread",
  "runtime.delivery",
  "chat.cross_group_receipt",
  "actor.activity",
]);

type Data = Readonly<Record<string, unknown>>;

function string(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}

function record(value: unknown): Data {
  return typeof value === "object" && value !== null ? (value as Data) : {};
}

function addressOf(data: Data): Address {
  return {
    mode: data.message_mode,
    destination: string(data.dst_group_id),
    instance: string(data.dst_instance_id),
    audience: audienceOf(data.to, data.to_generations),
  };
}

/** The Actor that the event is about, in its generation. */
function concernedBy(event: EventHead): Addressee {
  const recipient = event.string("actor_id") ?? "";
  const generation = event.string("actor_generation") ?? "";
  return { recipient, generation, name: key(recipient, generation) };
}

export class MessageProjection implements Projection {
  readonly name = "messages";
  readonly version = 4;
  readonly obligations = new Obligations();
  readonly #queues = new Map<string, ActorQueue>();
  /** Cursors of generations that ended. */
  readonly #ended = new Map<string, number>();
  /** Cross-group messages from here that have no receipt: id to ordinal. */
  readonly #halfDone = new Map<string, number>();
  #reading = new PersonReading();
  #begin = 0;
  #lastOrdinal = -1;
  #touched = new Set<string>();
  #countsTouched = false;
  #mailTouched = false;
  #requestsTouched = false;

  /** Ordinal of the first event of the Group's own. Anything before it came with an import. */
  get begin(): number {
    return this.#begin;
  }

  /** What the person has read, and what is unread. */
  get reading(): Pick<PersonReading, "count" | "at" | "countThrough" | "readFrom" | "cursor"> {
    return this.#reading;
  }
  /** Ordinal of the last event that people would call one, -1 for none. */
  get lastOrdinal(): number {
    return this.#lastOrdinal;
  }
  get halfDone(): ReadonlyMap<string, number> {
    return this.#halfDone;
  }

  /** The Actor's queue; undefined when nothing ever came for that generation, or it was removed. */
  queue(actorId: string, generation: string): ActorQueue | undefined {
    return this.#queues.get(key(actorId, generation));
  }

  /** Ordinal of the last Mail that this generation read, -1 for none. */
  cursorOrdinal(actorId: string, generation: string): number {
    const name = key(actorId, generation);
    return this.#queues.get(name)?.cursorOrdinal ?? this.#ended.get(name) ?? -1;
  }

  hasEnded(actorId: string, generation: string): boolean {
    return this.#ended.has(key(actorId, generation));
  }

  /**
   * Who is affected by the events since the last call, and whether Mail or requests came that may
   * need a notice.
   */
  takeTouched(): { actors: ReadonlySet<string>; counts: boolean; mail: boolean; requests: boolean } {
    const touched = {
      actors: this.#touched,
      counts: this.#countsTouched,
      mail: this.#mailTouched,
      requests: this.#requestsTouched,
    };
    if (this.#touched.size > 0) this.#touched = new Set();
    this.#countsTouched = false;
    this.#mailTouched = false;
    this.#requestsTouched = false;
    return touched;
  }

  wants(_kind: string): boolean {
    return true;
  }

  apply(event: EventHead, ordinal: number): void {
    switch (event.kind) {
      case "chat.message":
        this.#message(event, ordinal);
        break;
      case "mail.read":
        this.#mailRead(event);
        break;
      case "mail.unread":
        if (this.#reading.unreadFrom(event.string("event_id") ?? "")) this.#countsTouched = true;
        break;
      case "runtime.delivery":
        this.#delivery(event);
        break;
      case "runtime.delivery_request":
        this.#deliveryRequest(event.data, ordinal);
        break;
      case "chat.reply_request.cancelled":
        this.#cancelled(event.data);
        break;
      case "chat.cross_group_receipt":
        this.#halfDone.delete(event.string("source_event_id") ?? "");
        break;
      case "system.notify":
        this.#notify(event, ordinal);
        break;
      case "actor.remove":
        this.#actorRemoved(string(event.data.actor_id));
        break;
      case "group.create":
        this.#began(ordinal);
        break;
    }
    if (!SILENT.has(event.kind)) {
      this.#lastOrdinal = ordinal;
      this.#countsTouched = true;
    }
  }

  reset(): void {
    this.obligations.clear();
    this.#queues.clear();
    this.#ended.clear();
    this.#halfDone.clear();
    this.#reading = new PersonReading();
    this.#begin = 0;
    this.#lastOrdinal = -1;
    this.takeTouched();
  }

  /**
   * An import writes this event after the imported ones, before the Group exists. Otherwise it
   * comes first.
   */
  #began(ordinal: number): void {
    if (ordinal === 0) return;
    this.reset();
    this.#begin = ordinal;
    // The person needn't open what is history.
    this.#reading = new PersonReading(undefined, 0, ordinal - 1);
  }

  checkpoint(): Uint8Array {
    return Buffer.from(
      JSON.stringify({
        begin: this.#begin,
        queues: [...this.#queues.values()].map((queue) => queue.encode()),
        ended: [...this.#ended],
        obligations: this.obligations.encode(),
        halfDone: [...this.#halfDone],
        toPerson: this.#reading.encode(),
        personRead: this.#reading.read,
        personCursor: this.#reading.cursor,
        lastOrdinal: this.#lastOrdinal,
      }),
    );
  }

  restore(bytes: Uint8Array): void {
    const saved = SavedProjection.parse(JSON.parse(Buffer.from(bytes).toString()));
    this.reset();
    for (const encoded of saved.queues) {
      const queue = ActorQueue.decode(encoded);
      this.#queues.set(key(queue.actor_id, queue.generation), queue);
    }
    for (const [name, cursor] of saved.ended) this.#ended.set(name, cursor);
    this.obligations.decode(saved.obligations);
    for (const [id, ordinal] of saved.halfDone) this.#halfDone.set(id, ordinal);
    this.#reading = PersonReading.decode(saved.toPerson, saved.personRead, saved.personCursor);
    this.#begin = saved.begin;
    this.#lastOrdinal = saved.lastOrdinal;
  }

  fresh(): MessageProjection {
    return new MessageProjection();
  }

  /** Runs for every message of a rebuild, so it reads no more of it than it must. */
  #message(event: EventHead, ordinal: number): void {
    const { id, by } = event;
    const replyTo = event.string("reply_to") ?? "";
    if (replyTo !== "") {
      const generation = event.string("sender_generation") ?? "";
      const author = authorOf(by, event.string("source_user_id"));
      this.#askedBy(replyTo);
      this.#closed(replyTo, this.obligations.replied(replyTo, author, generation));
    }
    const { mode, destination, instance, audience } = addressOf(event.data);
    if (destination !== "") {
      // Messages to other instances belong to the outbox.
      if (instance === "") this.#halfDone.set(id, ordinal);
      if (mode !== "request_reply") return;
      const there = audienceOf(event.data.dst_to, event.data.dst_to_generations);
      const owing = there.map(
        ({ recipient, generation }) =>
          [
            instance === "" ? `${destination}::${recipient}` : remoteAuthor(instance, recipient),
            generation,
          ] as const,
      );
      this.#asked(event, ordinal, owing);
      return;
    }
    for (const { recipient, generation, name } of audience) {
      if (recipient === "user") {
        if (by !== "user") this.#reading.push(ordinal, id);
        continue;
      }
      const queue = this.#openQueue(recipient, generation, name);
      if (queue === undefined) continue;
      if (mode === "mail") {
        queue.addMail(ordinal, id);
        this.#mailTouched = true;
      } else {
        queue.addDirect(ordinal, id);
        if (mode === "request_reply") this.#requestsTouched = true;
      }
      this.#touched.add(recipient);
    }
    if (mode === "request_reply") {
      const owing = audience.map(({ recipient, generation }) => [recipient, generation] as const);
      this.#asked(event, ordinal, owing);
    }
  }

  #asked(
    event: EventHead,
    ordinal: number,
    owing: readonly (readonly [recipient: string, generation: string])[],
  ): void {
    const author = authorOf(event.by, event.string("source_user_id"));
    const generation = event.string("sender_generation") ?? "";
    this.obligations.add(event.id, ordinal, event.ts, { author, generation }, owing);
    if (generation !== "") this.#touched.add(author);
  }

  #mailRead(event: EventHead): void {
    const id = event.string("event_id") ?? "";
    const { recipient, name } = concernedBy(event);
    if (recipient !== "user") {
      this.#queues.get(name)?.read(id);
      this.#touched.add(recipient);
      return;
    }
    if (this.#reading.readThrough(id)) this.#countsTouched = true;
  }

  #delivery(event: EventHead): void {
    const { recipient, name } = concernedBy(event);
    const queue = this.#queues.get(name);
    if (queue === undefined) return;
    const source = event.string("source_event_id") ?? "";
    const state = event.string("state");
    if (state === "claimed") queue.claim(source, event.string("batch_id") ?? "");
    else if (state === "queued") queue.enqueued(source);
    else if (state !== "failed") queue.settle(source);
    else if (event.string("reason") === HANDED_BACK) queue.handBack(source);
    else if (event.string("reason") === ENDED_UNREAD) queue.endedUnread(source);
    else queue.settle(source);
    this.#touched.add(recipient);
  }

  #deliveryRequest(data: Data, ordinal: number): void {
    const source = data.source_ordinal;
    if (typeof source !== "number" || !Number.isInteger(source) || source < 0 || source >= ordinal) return;
    for (const [actor, generation] of Object.entries(record(data.actor_generations))) {
      this.queue(actor, string(generation))?.requeue(string(data.source_event_id), source);
      this.#touched.add(actor);
    }
  }

  #cancelled(data: Data): void {
    const source = string(data.source_event_id);
    this.#askedBy(source);
    this.#closed(source, this.obligations.cancelled(source, strings(data.recipients)));
  }

  #notify(event: EventHead, ordinal: number): void {
    const { data } = event;
    const actor = string(data.target_actor_id);
    const about = string(data.related_event_id);
    if (actor === "") {
      // It is for the person, who hasn't seen it.
      this.#reading.push(ordinal, event.id);
      return;
    }
    const queue = this.#openQueue(actor, string(record(data.context).actor_generation));
    if (queue === undefined) return;
    if (data.kind === "mail_notice") queue.addMailNotice(ordinal, event.id, about);
    else if (data.kind === "reply_notice") {
      if (this.obligations.get(about)?.owed.has(actor) !== true) return;
      this.obligations.noticed(about, actor);
      queue.addReplyNotice(ordinal, event.id, about);
    } else if (data.kind === RESUME_NOTICE) {
      if (this.obligations.get(about)?.owed.has(actor) !== true) return;
      queue.addReplyNotice(ordinal, event.id, about);
    } else queue.addDirect(ordinal, event.id);
    this.#touched.add(actor);
  }

  #actorRemoved(actor: string): void {
    for (const [name, queue] of this.#queues) {
      if (queue.actor_id !== actor) continue;
      this.#queues.delete(name);
      this.#ended.set(name, queue.cursorOrdinal);
    }
    this.#touched.add(actor);
  }

  /** Something changes for the one who asked with this message. */
  #askedBy(source: string): void {
    const asker = this.obligations.get(source)?.asker;
    if (asker !== undefined && asker.generation !== "") this.#touched.add(asker.author);
  }

  #closed(source: string, recipients: readonly string[]): void {
    for (const recipient of recipients) {
      for (const queue of this.#queues.values()) {
        if (queue.actor_id === recipient) queue.obligationEnded(source);
      }
      this.#touched.add(recipient);
    }
  }

  /** The queue, created with the first event for it. Undefined when that generation has ended. */
  #openQueue(actorId: string, generation: string, name = key(actorId, generation)): ActorQueue | undefined {
    let queue = this.#queues.get(name);
    if (queue === undefined && generation !== "" && !this.#ended.has(name)) {
      queue = new ActorQueue(actorId, generation);
      this.#queues.set(name, queue);
    }
    return queue;
  }
}

interface Addressee {
  recipient: string;
  generation: string;
  /** Of the queue. */
  name: string;
}

interface Address {
  mode: unknown;
  /** Group that the message goes to; empty when it is for this one. */
  destination: string;
  /** Instance of that Group; empty for this Home. */
  instance: string;
  audience: readonly Addressee[];
}

function audienceOf(to: unknown, written: unknown): Addressee[] {
  const generations = record(written);
  return strings(to).map((recipient) => {
    const generation = string(generations[recipient]);
    return { recipient, generation, name: key(recipient, generation) };
  });
}

function key(actorId: string, generation: string): string {
  return `${actorId}/${generation}`;
}
