/**
 * What all streams have in common: one follower per Group that encodes an append once for all, one
 * clock for heartbeats and access checks, and changes of Groups and Actors collected for a moment.
 * None of it runs while there is no client.
 */

import type { Clock, Timer } from "../../../platform/clock.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { Caller } from "../../../shared/operations/caller.ts";
import type { GroupSummary } from "../../../shared/operations/groups.ts";
import type { NeedsYouItem } from "../../../shared/operations/notifications.ts";
import { batchOf } from "./event-text.ts";
import type { Batch, FollowedLedger } from "./ledger-subscription.ts";

export interface StreamSources {
  clock: Clock;
  log: Log;
  /** Ids of the open Groups. */
  groupIds(): readonly string[];
  /** Throws `group_not_found` or `group_unavailable`. */
  ledgerOf(groupId: string): FollowedLedger;
  /** It is being deleted, reset or opened again. */
  isChanging(groupId: string): boolean;
  /** Null when the Group is gone. */
  summary(groupId: string): Promise<GroupSummary | null>;
  /** What waits for the person, as far as the caller may know. */
  needsYou(caller: Caller): readonly NeedsYouItem[];
}

/** An open stream: SSE or WebSocket. */
export interface StreamClient {
  readonly caller: Caller;
  /** Whether the credential still is what it was when the stream began. */
  isAllowed(): boolean;
  heartbeat(): void;
  /** Ends at once, without anything further. */
  cut(): void;
  /** A Group's summary changed; null when the Group is gone. */
  group?(groupId: string, summary: GroupSummary | null): void;
  /** Actors of a Group changed. */
  actors?(groupId: string): void;
  /** What waits for the person changed. */
  needsYou?(): void;
  /** The daemon stops. */
  goodbye(): void;
}

/** Told about every batch of a Group's ledger, and once when that ledger is no more. */
export interface Listener {
  batch(batch: Batch): void;
  gone(): void;
}

interface Feed {
  readonly ledger: FollowedLedger;
  readonly listeners: Set<Listener>;
  readonly unfollow: () => void;
}

/** Changes of summaries and Actors are gathered this long. */
const GATHER_MS = 50;

export class StreamHub {
  readonly #sources: StreamSources;
  readonly #clients = new Set<StreamClient>();
  /**
   * Told to close since the last heartbeat, and before it. A client that hasn't closed after a full
   * one is cut off.
   */
  #leaving = new Set<StreamClient>();
  #overdue = new Set<StreamClient>();
  readonly #feeds = new Map<string, Feed>();
  readonly #changedGroups = new Set<string>();
  readonly #changedActors = new Set<string>();
  #heartbeat: Timer | null = null;
  #gathering = false;
  #closed = false;

  constructor(sources: StreamSources) {
    this.#sources = sources;
  }

  get sources(): StreamSources {
    return this.#sources;
  }

  get size(): number {
    return this.#clients.size;
  }

  /** Throws `overloaded` when there are as many as allowed. */
  add(client: StreamClient): void {
    if (this.#closed) throw new Refusal("shutting_down");
    if (this.#clients.size >= LIMITS.stream.clients) {
      throw new Refusal("overloaded", { details: { streams: LIMITS.stream.clients } });
    }
    this.#clients.add(client);
    if (this.#heartbeat === null) this.#arm();
  }

  /** The client's connection has ended. */
  remove(client: StreamClient): void {
    this.#clients.delete(client);
    this.#leaving.delete(client);
    this.#overdue.delete(client);
    if (this.#isWatching) return;
    this.#heartbeat?.cancel();
    this.#heartbeat = null;
  }

  /** The client was told to go and gets nothing further. */
  dismiss(client: StreamClient): void {
    if (this.#clients.delete(client)) this.#leaving.add(client);
  }

  /**
   * Follows a Group's ledger until the returned function is called. Throws `group_not_found` or
   * `group_unavailable`.
   */
  follow(groupId: string, listener: Listener): () => void {
    const feed = this.#feeds.get(groupId) ?? this.#openFeed(groupId);
    feed.listeners.add(listener);
    return () => {
      feed.listeners.delete(listener);
      if (feed.listeners.size === 0) this.#closeFeed(groupId, feed);
    };
  }

  /** A Group was added, changed or removed. */
  groupChanged(groupId: string): void {
    if (this.#clients.size === 0) return;
    this.#changedGroups.add(groupId);
    this.#gather();
  }

  actorsChanged(groupId: string): void {
    if (this.#clients.size === 0) return;
    this.#changedActors.add(groupId);
    this.#gather();
  }

  /** Told at once: people wait for it. */
  needsYouChanged(): void {
    for (const client of this.#clients) client.needsYou?.();
  }

  /** The Group's ledger is no more: deleted, or replaced by a reset. */
  ledgerGone(groupId: string): void {
    const feed = this.#feeds.get(groupId);
    if (feed === undefined) return;
    this.#closeFeed(groupId, feed);
    for (const listener of feed.listeners) listener.gone();
  }

  /**
   * Cuts every stream whose credential has changed or ended. Every 15 s, and at once when a
   * credential ends.
   */
  recheck(): void {
    for (const client of this.#clients) if (!client.isAllowed()) client.cut();
  }

  close(): void {
    this.#closed = true;
    for (const client of this.#clients) client.goodbye();
  }

  #openFeed(groupId: string): Feed {
    const ledger = this.#sources.ledgerOf(groupId);
    const listeners = new Set<Listener>();
    const unfollow = ledger.follow((placed) => {
      if (placed.length === 0) return;
      const batch = batchOf(placed);
      for (const listener of listeners) listener.batch(batch);
    });
    const feed = { ledger, listeners, unfollow };
    this.#feeds.set(groupId, feed);
    return feed;
  }

  #closeFeed(groupId: string, feed: Feed): void {
    if (this.#feeds.get(groupId) !== feed) return;
    this.#feeds.delete(groupId);
    feed.unfollow();
  }

  get #isWatching(): boolean {
    return this.#clients.size + this.#leaving.size + this.#overdue.size > 0;
  }

  #arm(): void {
    this.#heartbeat = this.#sources.clock.after(
      LIMITS.stream.heartbeatSeconds * 1000,
      () => {
        for (const client of this.#overdue) client.cut();
        this.#overdue = this.#leaving;
        this.#leaving = new Set();
        this.recheck();
        for (const client of this.#clients) client.heartbeat();
        if (this.#isWatching) this.#arm();
        else this.#heartbeat = null;
      },
      { background: true },
    );
  }

  #gather(): void {
    if (this.#gathering) return;
    this.#gathering = true;
    this.#sources.clock.after(GATHER_MS, () => void this.#tellChanges(), { background: true });
  }

  async #tellChanges(): Promise<void> {
    this.#gathering = false;
    const groups = [...this.#changedGroups];
    const actors = [...this.#changedActors];
    this.#changedGroups.clear();
    this.#changedActors.clear();
    for (const groupId of actors) for (const client of this.#clients) client.actors?.(groupId);
    for (const groupId of groups) {
      // A Group that is being reset isn't gone. What has become of it is told then.
      if (this.#sources.isChanging(groupId)) {
        this.groupChanged(groupId);
        continue;
      }
      try {
        const summary = await this.#sources.summary(groupId);
        for (const client of this.#clients) client.group?.(groupId, summary);
      } catch (error) {
        this.#sources.log.warn("stream summary", { group: groupId, ...errorFields(error) });
      }
    }
  }
}
