/**
 * `GET G/runtime-activity/stream`: accepted hook events as server-sent events, pushed as they are
 * committed (shared/operations/activity.ts).
 */

import { queryFields, queryOf, wrongField } from "../../../platform/http/query.ts";
import type { RuntimeActivityEvent } from "../../../shared/activity/event.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { eventText } from "./event-text.ts";
import { groupReader } from "./ledger-stream.ts";
import { SseStream } from "./sse-stream.ts";
import type { StreamClient, StreamHub } from "./stream-hub.ts";

/** What streams need of the activity service. */
export interface ActivityFeed {
  /** Throws group_not_found or group_unavailable. */
  follow(
    groupId: string,
    listener: { events(events: readonly RuntimeActivityEvent[]): void; gone(): void },
  ): () => void;
  /** What a snapshot shows now. Throws runtime_activity_unavailable, too. */
  view(groupId: string): readonly RuntimeActivityEvent[];
}

/**
 * With `replay=true` the current view comes first, otherwise only what is accepted from now on
 * (ACT-030, ACT-031). If the store is damaged later, the stream waits. If the view can't be read at
 * the start, the request is refused. A client that reads too slowly is disconnected and can come
 * back for a fresh view.
 */
export function serveActivityStream(
  feed: ActivityFeed,
  hub: StreamHub,
  exchange: Exchange,
  isAllowed: () => boolean,
): void {
  const { caller, groupId } = groupReader(exchange);
  const view = replayOf(exchange) ? feed.view(groupId) : [];

  let stream: SseStream | null = null;
  const client: StreamClient = {
    caller,
    isAllowed,
    heartbeat: () => stream?.heartbeat(),
    cut: () => stream?.cut(),
    goodbye: () => stream?.end(),
  };
  const unfollow = feed.follow(groupId, {
    events(events) {
      if (stream?.write(Buffer.from(textOf(events))) !== false) return;
      stream.end();
      close();
    },
    gone() {
      stream?.end();
      close();
    },
  });
  const close = (): void => {
    unfollow();
    hub.remove(client);
  };
  try {
    hub.add(client);
  } catch (error) {
    unfollow();
    throw error;
  }
  stream = new SseStream(exchange, close);
  if (view.length > 0) stream.push(textOf(view));
}

function replayOf(exchange: Exchange): boolean {
  const replay = queryFields(queryOf(exchange.request), ["replay"]).get("replay") ?? "false";
  if (replay !== "true" && replay !== "false") throw wrongField("replay", "must be true or false");
  return replay === "true";
}

/** Encoded separately for each client, because few watch one Group's activity. */
function textOf(events: readonly RuntimeActivityEvent[]): string {
  return events.map((event) => eventText("runtime-activity", event)).join("");
}
