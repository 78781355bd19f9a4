/** `GET G/ledger/stream`: one Group's events as server-sent events (shared/streams.ts). */
import { EventId, GroupId } from "../../shared/model.ts";
import { Refusal } from "../../shared/errors.ts";
import { foreignGroup, mayEnter } from "../operations/dispatcher.ts";
import { ledgerText, RELOAD } from "./event-text.ts";
import { readerOfExchange, type Exchange } from "./exchange.ts";
import { LedgerSubscription } from "./ledger-subscription.ts";
import { queryOf } from "./operation-routes.ts";
import { SseStream } from "./sse-stream.ts";
import type { StreamClient, StreamHub } from "./stream-hub.ts";

/** Whether the credential that a request came with still gives the same access. */
export type AccessCheck = (exchange: Exchange) => () => boolean;

/** The event to resume after: `Last-Event-ID`, which a browser sends by itself, before `?after=`. */
export function resumeAfter(exchange: Exchange): string | null {
  const query = new URLSearchParams(queryOf(exchange));
  for (const name of query.keys()) {
    if (name !== "after")
      throw new Refusal("invalid_args", { details: { field: name.slice(0, 64).toWellFormed() } });
  }
  const header = exchange.request.headers["last-event-id"];
  const text = typeof header === "string" && header !== "" ? header : query.get("after");
  if (text === null) return null;
  const parsed = EventId.safeParse(text);
  if (!parsed.success) throw new Refusal("invalid_args", { details: { field: "after" } });
  return parsed.data;
}

export function checkAccepts(exchange: Exchange): void {
  const accept = exchange.request.headers.accept ?? "*/*";
  if (!/text\/event-stream|text\/\*|\*\/\*/.test(accept)) {
    throw new Refusal("not_acceptable", { details: { type: "text/event-stream" } });
  }
}

export function serveLedgerStream(hub: StreamHub, exchange: Exchange, isAllowed: () => boolean): void {
  const caller = readerOfExchange(exchange);
  const groupId = GroupId.safeParse(exchange.params["group_id"]).data;
  if (groupId === undefined) throw new Refusal("invalid_args", { details: { field: "group_id" } });
  if (!mayEnter(caller, groupId)) throw foreignGroup(groupId);
  checkAccepts(exchange);
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
  const close = (): void => {
    subscription.end();
    unfollow();
    hub.remove(client);
  };
  const tooSlow = (before: string | null): void => {
    stream?.resume(before);
    close();
  };
  const subscription = new LedgerSubscription(ledger, {
    isFull: () => stream?.isFull(() => subscription.pump()) ?? true,
    past: (event) => stream?.push(ledgerText(event.id, JSON.stringify(event))),
    live(batch) {
      if (stream?.write(batch.sse()) !== false) return;
      tooSlow(batch.first === 0 ? null : ledger.read(batch.first - 1).id);
    },
    reload() {
      stream?.end(RELOAD);
      close();
    },
  });
  hub.add(client);
  stream = new SseStream(exchange, close);
  unfollow = hub.follow(groupId, {
    batch: (batch) => subscription.offer(batch),
    gone() {
      stream?.end(RELOAD);
      close();
    },
  });
  subscription.start(after);
}
