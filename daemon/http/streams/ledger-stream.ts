/** `GET G/ledger/stream`: one Group's events as server-sent events (shared/streams.ts). */

import { queryFields, queryOf, wrongField } from "../../../platform/http/query.ts";
import { Refusal } from "../../../shared/errors.ts";
import type { LedgerEvent } from "../../../shared/events.ts";
import { EventId, GroupId } from "../../../shared/model.ts";
import type { Caller } from "../../../shared/operations/caller.ts";
import { foreignGroup, mayEnter } from "../../operations/dispatcher.ts";
import { type Exchange, readerOfExchange } from "../exchange/exchange.ts";
import { ledgerText, RELOAD } from "./event-text.ts";
import {
  type Batch,
  type FollowedLedger,
  type LedgerSink,
  LedgerSubscription,
} from "./ledger-subscription.ts";
import { SseStream } from "./sse-stream.ts";
import type { Listener, StreamClient, StreamHub } from "./stream-hub.ts";

/**
 * The event to resume after: `Last-Event-ID`, which a browser sends automatically, before
 * `?after=`.
 */
export function resumeAfter(exchange: Exchange): string | null {
  const query = queryFields(queryOf(exchange.request), ["after"]);
  const header = exchange.request.headers["last-event-id"];
  const text = typeof header === "string" && header !== "" ? header : query.get("after");
  if (text === undefined) return null;
  const parsed = EventId.safeParse(text);
  if (!parsed.success) throw wrongField("after", "isn't an event id (32 hex digits)");
  return parsed.data;
}

/** A stream is only for GET (Express would serve HEAD too), and for clients that accept events. */
export function checkAccepts(exchange: Exchange): void {
  if (exchange.request.method !== "GET")
    throw new Refusal("method_not_allowed", { details: { allow: ["GET"] } });
  const accept = exchange.request.headers.accept ?? "*/*";
  if (!/text\/event-stream|text\/\*|\*\/\*/.test(accept)) {
    throw new Refusal("not_acceptable", { details: { type: "text/event-stream" } });
  }
}

/**
 * Who reads a stream of which Group. Throws for a caller that may not, and for a client that
 * doesn't take event streams.
 */
export function groupReader(exchange: Exchange): { caller: Caller; groupId: string } {
  const caller = readerOfExchange(exchange);
  const groupId = GroupId.safeParse(exchange.params["group_id"]).data;
  if (groupId === undefined) throw wrongField("group_id", "isn't a Group id (g_ followed by 12 hex digits)");
  if (!mayEnter(caller, groupId)) throw foreignGroup(groupId);
  checkAccepts(exchange);
  return { caller, groupId };
}

export function serveLedgerStream(hub: StreamHub, exchange: Exchange, isAllowed: () => boolean): void {
  const { caller, groupId } = groupReader(exchange);
  const after = resumeAfter(exchange);
  const client = new LedgerClient(hub, groupId, caller, isAllowed);
  client.serve(exchange, after);
}

/**
 * A client of one Group's stream. An append goes through a thousand of them, so each is only one
 * object.
 */
class LedgerClient implements StreamClient, Listener, LedgerSink {
  readonly caller: Caller;
  readonly isAllowed: () => boolean;
  readonly #hub: StreamHub;
  readonly #groupId: string;
  readonly #ledger: FollowedLedger;
  readonly #subscription: LedgerSubscription;
  #stream: SseStream | null = null;
  #unfollow = (): void => {};

  constructor(hub: StreamHub, groupId: string, caller: Caller, isAllowed: () => boolean) {
    this.caller = caller;
    this.isAllowed = isAllowed;
    this.#hub = hub;
    this.#groupId = groupId;
    this.#ledger = hub.sources.ledgerOf(groupId);
    this.#subscription = new LedgerSubscription(this.#ledger, this);
  }

  /** Starts after this event, or with new events. Throws `overloaded`. */
  serve(exchange: Exchange, after: string | null): void {
    this.#hub.add(this);
    this.#stream = new SseStream(exchange, () => {
      this.#stop();
      this.#hub.remove(this);
    });
    this.#unfollow = this.#hub.follow(this.#groupId, this);
    this.#subscription.start(after);
  }

  heartbeat(): void {
    this.#stream?.heartbeat();
  }

  cut(): void {
    this.#stream?.cut();
  }

  goodbye(): void {
    this.#stream?.end();
  }

  batch(batch: Batch): void {
    this.#subscription.offer(batch);
  }

  gone(): void {
    this.reload();
  }

  isFull(): boolean {
    return this.#stream?.isFull(() => this.#subscription.pump()) ?? true;
  }

  past(event: LedgerEvent): void {
    this.#stream?.push(ledgerText(event.id, JSON.stringify(event)));
  }

  live(batch: Batch): void {
    const stream = this.#stream;
    if (stream === null || stream.write(batch.sse())) return;
    stream.resume(batch.first === 0 ? null : this.#ledger.idOf(batch.first - 1));
    this.#stop();
  }

  reload(): void {
    this.#stream?.end(RELOAD);
    this.#stop();
  }

  #stop(): void {
    this.#subscription.end();
    this.#unfollow();
    this.#hub.dismiss(this);
  }
}
