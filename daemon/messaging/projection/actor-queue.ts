/**
 * What waits for one Actor in one generation: unread Mail, direct messages and notices. A part of
 * the projection, driven only by events.
 */
import { Backlog } from "./backlog.ts";
import type { SavedQueue } from "./saved-projection.ts";

/** A direct message or notice that was delivered and isn't acknowledged. */
export interface Claim {
  ordinal: number;
  batch_id: string;
  /** It was delivered before. */
  redelivered: boolean;
  /** It waits in the runtime's own input queue; nothing has read it yet. */
  queued: boolean;
}

/** A notice that is still of use, with the event it is about. */
interface Notice {
  ordinal: number;
  about: string;
  /** Ordinal of the Mail it is about; null for reply notices, which end with the obligation. */
  mail: number | null;
}

/** A message that was returned to the queue. */
export interface Returned {
  ordinal: number;
  redelivered: boolean;
}

export class ActorQueue {
  readonly actor_id: string;
  readonly generation: string;
  #mail = new Backlog();
  #pending = new Backlog();
  readonly #returned = new Map<string, Returned>();
  readonly #claimed = new Map<string, Claim>();
  readonly #notices = new Map<string, Notice>();
  #cursor: string | null = null;
  #cursorOrdinal = -1;
  #mailNoticed = -1;

  constructor(actorId: string, generation: string) {
    this.actor_id = actorId;
    this.generation = generation;
  }

  /** Unread Mail, in ledger order. */
  get mail(): Pick<Backlog, "count" | "at" | "countThrough"> {
    return this.#mail;
  }
  /** Direct messages and notices that were never delivered, in ledger order. */
  get pending(): Pick<Backlog, "count" | "at" | "has"> {
    return this.#pending;
  }
  /** Those that came back, by event id. */
  get returned(): ReadonlyMap<string, Returned> {
    return this.#returned;
  }
  /** Delivered but unacknowledged ones, by event id. */
  get claimed(): ReadonlyMap<string, Claim> {
    return this.#claimed;
  }
  /** The last Mail that was read. */
  get cursor(): string | null {
    return this.#cursor;
  }
  get cursorOrdinal(): number {
    return this.#cursorOrdinal;
  }
  /** Mail up to this ordinal has its notice. */
  get mailNoticed(): number {
    return this.#mailNoticed;
  }
  /** Whether a notice about this request waits for the Actor. */
  isToldOf(request: string): boolean {
    for (const { about, mail } of this.#notices.values()) if (mail === null && about === request) return true;
    return false;
  }
  /** Direct messages and notices that the Actor hasn't acknowledged. */
  get unacknowledged(): number {
    return this.#pending.count + this.#returned.size + this.#claimed.size;
  }

  addMail(ordinal: number, id: string): void {
    this.#mail.push(ordinal, id);
  }

  addDirect(ordinal: number, id: string): void {
    this.#pending.push(ordinal, id);
  }

  /** Adds a notice about unread Mail, unless the Mail has been read in the meantime. */
  addMailNotice(ordinal: number, id: string, about: string): void {
    const place = this.#mail.find(about);
    if (place < 0) return;
    const mail = this.#mail.at(place);
    this.#mailNoticed = Math.max(this.#mailNoticed, mail);
    this.#notices.set(id, { ordinal, about, mail });
    this.#pending.push(ordinal, id);
  }

  addReplyNotice(ordinal: number, id: string, about: string): void {
    this.#notices.set(id, { ordinal, about, mail: null });
    this.#pending.push(ordinal, id);
  }

  /**
   * Moves the cursor; an id that doesn't wait changes nothing, so that the cursor only goes
   * forward.
   */
  read(id: string): void {
    const place = this.#mail.find(id);
    if (place < 0) return;
    this.#cursor = id;
    this.#cursorOrdinal = this.#mail.at(place);
    this.#mail.drop(place + 1);
    for (const [notice, { mail }] of this.#notices) {
      if (mail !== null && mail <= this.#cursorOrdinal) this.#forget(notice);
    }
  }

  /** The Actor no longer owes a reply to this message. */
  obligationEnded(source: string): void {
    for (const [notice, { about, mail }] of this.#notices) {
      if (mail === null && about === source) this.#forget(notice);
    }
  }

  claim(id: string, batchId: string): void {
    const taken = this.#take(id);
    if (taken === undefined) return;
    this.#claimed.set(id, {
      ordinal: taken.ordinal,
      redelivered: taken.redelivered,
      batch_id: batchId,
      queued: false,
    });
  }

  /** The runtime has it in its input queue. */
  enqueued(id: string): void {
    const claim = this.#claimed.get(id);
    if (claim !== undefined) this.#claimed.set(id, { ...claim, queued: true });
  }

  /** Accepted, failed or ambiguous: it no longer waits. */
  settle(id: string): void {
    this.#take(id);
    this.#notices.delete(id);
  }

  /** A claim whose answer was never sent, as if it hadn't been made. */
  handBack(id: string): void {
    const claim = this.#claimed.get(id);
    if (claim === undefined) return;
    this.#claimed.delete(id);
    this.#returned.set(id, { ordinal: claim.ordinal, redelivered: claim.redelivered });
  }

  /** The process that had it ended before it read it. */
  endedUnread(id: string): void {
    const claim = this.#claimed.get(id);
    if (claim === undefined) return;
    this.#claimed.delete(id);
    this.#returned.set(id, { ordinal: claim.ordinal, redelivered: true });
  }

  /** Requested again on purpose. */
  requeue(id: string, ordinal: number): void {
    if (this.#pending.has(ordinal) || this.#returned.has(id)) return;
    this.#claimed.delete(id);
    this.#returned.set(id, { ordinal, redelivered: true });
  }

  /** Takes a direct message from wherever it is, and says whether it was delivered before. */
  #take(id: string): Returned | undefined {
    const returned = this.#returned.get(id);
    if (returned !== undefined) {
      this.#returned.delete(id);
      return returned;
    }
    const claim = this.#claimed.get(id);
    if (claim !== undefined) {
      this.#claimed.delete(id);
      return { ordinal: claim.ordinal, redelivered: true };
    }
    const place = this.#pending.find(id);
    if (place < 0) return undefined;
    const ordinal = this.#pending.at(place);
    this.#pending.remove(place);
    return { ordinal, redelivered: false };
  }

  #forget(notice: string): void {
    this.#take(notice);
    this.#notices.delete(notice);
  }

  encode(): unknown[] {
    return [
      this.actor_id,
      this.generation,
      this.#cursor,
      this.#cursorOrdinal,
      this.#mailNoticed,
      this.#mail.encode(),
      this.#pending.encode(),
      [...this.#returned].map(([id, { ordinal, redelivered }]) => [id, ordinal, redelivered]),
      [...this.#claimed].map(([id, { ordinal, batch_id: batchId, redelivered, queued }]) => [
        id,
        ordinal,
        batchId,
        redelivered,
        queued,
      ]),
      [...this.#notices].map(([id, { ordinal, about, mail }]) => [id, ordinal, about, mail]),
    ];
  }

  /** The inverse of `encode`, from a checkpoint whose bytes were checked. */
  static decode(encoded: SavedQueue): ActorQueue {
    const [
      actorId,
      generation,
      cursor,
      cursorOrdinal,
      mailNoticed,
      mail,
      pending,
      returned,
      claimed,
      notices,
    ] = encoded;
    const queue = new ActorQueue(actorId, generation);
    queue.#cursor = cursor;
    queue.#cursorOrdinal = cursorOrdinal;
    queue.#mailNoticed = mailNoticed;
    queue.#mail = Backlog.decode(mail);
    queue.#pending = Backlog.decode(pending);
    for (const [id, ordinal, redelivered] of returned) queue.#returned.set(id, { ordinal, redelivered });
    for (const [id, ordinal, batchId, redelivered, queued] of claimed) {
      queue.#claimed.set(id, { ordinal, batch_id: batchId, redelivered, queued });
    }
    for (const [id, ordinal, about, mail] of notices) queue.#notices.set(id, { ordinal, about, mail });
    return queue;
  }
}
