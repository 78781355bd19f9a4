/** `GET G/ledger/stream`: one Group's events as server-sent events (shared/streams.ts). */

import { Refusal } from "../../shared/errors.ts";
import { EventId, GroupId } from "../../shared/model.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import { foreignGroup, mayEnter } from "../operations/dispatcher.ts";
import { ledgerText, RELOAD } from "./event-text.ts";
import { type Exchange, readerOfExchange } from "./exchange.ts";
import { LedgerSubscription } from "./ledger-subscription.ts";
import { queryOf } from "./operation-routes.ts";
import { queryFields, wrongField } from "./query.ts";
import { SseStream } from "./sse-stream.ts";
import type { StreamClient, StreamHub } from "./stream-hub.ts";

/** The event to resume after: `Last-Event-ID`, which a browser sends by itself, before `?after=`. */
export function resumeAfter(exchange: Exchange): string | null {
  const query = queryFields(queryOf(exchange), ["after"]);
  const header = exchange.request.headers["last-event-id"];
  const text = typeof header === "string" && header !== "" ? header : query.get("after");
  if (text === undefined) return null;
  const parsed = EventId.safeParse(text);
  if (!parsed.success) throw wrongField("after", "isn't an event id (32 hex digits)");
  return parsed.data;
}

/** A stream is for GET alone (Express would serve HEAD alike), and for whoever takes events. */
export function checkAccepts(exchange: Exchange): void {
  if (exchange.request.method !== "GET")
    throw new Refusal("method_not_allowed", { details: { allow: ["GET"] } });
  const accept = exchange.request.headers.accept ?? "*/*";
  if (!/text\/event-stream|text\/\*|\*\/\*/.test(accept)) {
    throw new Refusal("not_acceptable", { details: { type: "text/event-stream" } });
  }
}

/** Who reads a stream of which Group. Throws for whoever may not, and for a client that doesn't take event streams. */
export function groupReader(exchange: Exchange): { caller: Caller; groupId: string } {
  const caller = readerOfExchange(exchange);
  const groupId = GroupId.safeParse(exchange.params["group_id"]).data;
  if (groupId === undefined) throw wrongField("group_id", "isn't a Group id (g_ and 12 hex digits)");
  if (!mayEnter(caller, groupId)) throw foreignGroup(groupId);
  checkAccepts(exchange);
  return { caller, groupId };
}

export function serveLedgerStream(hub: StreamHub, exchange: Exchange, isAllowed: () => boolean): void {
  const { caller, groupId } = groupReader(exchange);
  const after = resumeAfter(exchange);
  const ledger = hub.sources.ledgerOf(groupId);

  let stream: SseStream | null = null;
  let unfollow = (): void => {};
  const client: StreamClient = {
    caller,
    isAllowed,
    heartbeat: () => stream?.heartbeat(),
    cut: () => stream?.cut(),
    goodbye: () => stream?.end(),
  };
  const stop = (): void => {
    subscription.end();
    unfollow();
    hub.dismiss(client);
  };
  const subscription = new LedgerSubscription(ledger, {
    isFull: () => stream?.isFull(() => subscription.pump()) ?? true,
    past: (event) => stream?.push(ledgerText(event.id, JSON.stringify(event))),
    live(batch) {
      if (stream?.write(batch.sse()) !== false) return;
      stream.resume(batch.first === 0 ? null : ledger.read(batch.first - 1).id);
      stop();
    },
    reload() {
      stream?.end(RELOAD);
      stop();
    },
  });
  hub.add(client);
  stream = new SseStream(exchange, () => {
    stop();
    hub.remove(client);
  });
  unfollow = hub.follow(groupId, {
    batch: (batch) => subscription.offer(batch),
    gone() {
      stream?.end(RELOAD);
      stop();
    },
  });
  subscription.start(after);
}
