/**
 * `GET /events/stream`: the events of every Group that the caller may see, and changes of Groups
 * and Actors, as server-sent events. Events of different Groups have no common order on disk, so a
 * resume uses the order in which this process sent them, as far back as it is kept.
 */
import type { LedgerEvent } from "../../../shared/events.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { Ordinal } from "../../ledger/types.ts";
import { mayEnter } from "../../operations/dispatcher.ts";
import { type Exchange, readerOfExchange } from "../exchange/exchange.ts";
import { eventText, ledgerText, RELOAD } from "./event-text.ts";
import { checkAccepts, resumeAfter } from "./ledger-stream.ts";
import type { Batch } from "./ledger-subscription.ts";
import { SseStream } from "./sse-stream.ts";
import type { StreamClient, StreamHub } from "./stream-hub.ts";

interface Reference {
  id: string;
  groupId: string;
  ordinal: Ordinal;
}

interface GlobalClient extends StreamClient {
  batch(groupId: string, batch: Batch): void;
}

/** All Groups followed at once, from the first client of the global stream on. */
export class GlobalStream {
  readonly #hub: StreamHub;
  readonly #followed = new Map<string, () => void>();
  readonly #clients = new Set<GlobalClient>();
  #recent: Reference[] = [];
  #started = false;

  constructor(hub: StreamHub) {
    this.#hub = hub;
  }

  /** A Group was added. Its events belong to the global stream from now on. */
  groupCreated(groupId: string): void {
    if (this.#started) this.#follow(groupId);
  }

  async serve(exchange: Exchange, isAllowed: () => boolean): Promise<void> {
    const caller = readerOfExchange(exchange);
    checkAccepts(exchange);
    const after = resumeAfter(exchange);
    this.#start();
    const hub = this.#hub;
    let stream: SseStream | null = null;
    /** Missed events that haven't been written yet. Live events queue after them. */
    let missed: Reference[] = [];
    let last = after;

    const tooSlow = (): void => {
      stream?.resume(last);
      stop();
    };
    const client: GlobalClient = {
      caller,
      isAllowed,
      heartbeat: () => stream?.heartbeat(),
      cut: () => stream?.cut(),
      goodbye: () => stream?.end(),
      group(groupId, summary) {
        if (!mayEnter(caller, groupId)) return;
        const text =
          summary === null ? eventText("group_gone", { group_id: groupId }) : eventText("group", summary);
        if (stream?.write(text) === false) tooSlow();
      },
      actors(groupId) {
        if (!mayEnter(caller, groupId)) return;
        if (stream?.write(eventText("actors", { group_id: groupId })) === false) tooSlow();
      },
      batch: (groupId, batch) => {
        if (!mayEnter(caller, groupId)) return;
        if (missed.length > 0) {
          for (const { event, ordinal } of batch.placed) missed.push({ id: event.id, groupId, ordinal });
          if (missed.length > LIMITS.stream.resumeEvents) tooSlow();
          return;
        }
        if (stream?.write(batch.sse()) === false) tooSlow();
        else last = batch.placed.at(-1)!.event.id;
      },
    };
    const stop = (): void => {
      missed = [];
      this.#clients.delete(client);
      hub.dismiss(client);
    };
    const pump = (): void => {
      while (missed.length > 0 && stream?.isFull(pump) === false) {
        const reference = missed.shift()!;
        const event = this.#read(reference);
        if (event !== null) stream.push(ledgerText(event.id, JSON.stringify(event)));
        last = reference.id;
      }
    };

    hub.add(client);
    stream = new SseStream(exchange, () => {
      stop();
      hub.remove(client);
    });
    this.#clients.add(client);
    if (after !== null) {
      const index = this.#recent.findLastIndex(({ id }) => id === after);
      if (index === -1) stream.write(RELOAD);
      else missed = this.#recent.slice(index + 1).filter(({ groupId }) => mayEnter(caller, groupId));
    }
    pump();
    for (const groupId of hub.sources.groupIds()) {
      if (!mayEnter(caller, groupId)) continue;
      const summary = await hub.sources.summary(groupId);
      if (summary !== null) client.group?.(groupId, summary);
    }
  }

  #read(reference: Reference): LedgerEvent | null {
    try {
      return this.#hub.sources.ledgerOf(reference.groupId).read(reference.ordinal);
    } catch {
      // The Group is gone, and `group_gone` says so.
      return null;
    }
  }

  #start(): void {
    if (this.#started) return;
    this.#started = true;
    for (const groupId of this.#hub.sources.groupIds()) this.#follow(groupId);
  }

  #follow(groupId: string): void {
    if (this.#followed.has(groupId)) return;
    const unfollow = this.#hub.follow(groupId, {
      batch: (batch) => {
        for (const { event, ordinal } of batch.placed) this.#recent.push({ id: event.id, groupId, ordinal });
        if (this.#recent.length > 2 * LIMITS.stream.resumeEvents) {
          this.#recent = this.#recent.slice(-LIMITS.stream.resumeEvents);
        }
        for (const client of this.#clients) client.batch(groupId, batch);
      },
      gone: () => {
        this.#followed.delete(groupId);
        this.#recent = this.#recent.filter((reference) => reference.groupId !== groupId);
      },
    });
    this.#followed.set(groupId, unfollow);
  }
}
