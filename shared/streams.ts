/**
 * What streams carry.
 *
 * - `GET G/ledger/stream` (SSE): `event: ledger`, `id: <event id>`, `data: <LedgerEvent>`. It
 *   resumes after `Last-Event-ID` or `?after=<event id>` without gap or duplicate. Without either
 *   it starts with new events. A client that reads too slowly gets `event: resume` with `{after}`
 *   and is closed. `event: reload` means that the id isn't known (reset or another Group): read a
 *   fresh page.
 * - `GET /events/stream` (SSE): the same for every Group that the caller may see, plus `event:
 *   group` with a GroupSummary, `event: group_gone`, and `event: actors` with `{group_id}` when
 *   Actors of a Group changed.
 * - `GET /events/ws` (WebSocket): many subscriptions over one connection, with the messages below.
 */
import * as z from "zod";
import type { LedgerEvent } from "./events.ts";
import { EventId, GroupId } from "./model.ts";
import type { GroupSummary } from "./operations/groups.ts";
import type { NeedsYouItem } from "./operations/notifications.ts";

const SubscriptionId = z.string().min(1).max(64);

const Subscribe = z.discriminatedUnion("channel", [
  /**
   * Summaries of all Groups that the caller may see: first all, then each change, and whether a
   * Group's Actors changed.
   */
  z.strictObject({ type: z.literal("subscribe"), id: SubscriptionId, channel: z.literal("groups") }),
  /** Everything that waits for the person, first and after each change. For people only. */
  z.strictObject({ type: z.literal("subscribe"), id: SubscriptionId, channel: z.literal("needs_you") }),
  /** One Group's events after `after`, or else new ones. */
  z.strictObject({
    type: z.literal("subscribe"),
    id: SubscriptionId,
    channel: z.literal("ledger"),
    group_id: GroupId,
    after: EventId.optional(),
  }),
]);

/** Messages from the client. */
export const StreamRequest = z.discriminatedUnion("type", [
  Subscribe,
  z.strictObject({ type: z.literal("unsubscribe"), id: SubscriptionId }),
  z.strictObject({ type: z.literal("ping") }),
]);
export type StreamRequest = z.infer<typeof StreamRequest>;

/** Messages to the client; `id` is the subscription's. */
export type StreamMessage =
  | { type: "subscribed"; id: string }
  | { type: "unsubscribed"; id: string }
  | { type: "event"; id: string; event: LedgerEvent }
  | { type: "group"; id: string; group: GroupSummary }
  | { type: "group_gone"; id: string; group_id: string }
  /** Actors changed (added, edited, state): read `actor_list` again. */
  | { type: "actors"; id: string; group_id: string }
  /** Everything that waits for the person now. */
  | { type: "needs_you"; id: string; items: readonly NeedsYouItem[] }
  /**
   * The client reads too slowly, so the subscription ended. Subscribe again after this event (null:
   * read a fresh page).
   */
  | { type: "resume"; id: string; after: string | null }
  /**
   * The event to resume after isn't known here: read a fresh page, then subscribe after its last
   * event.
   */
  | { type: "reload"; id: string }
  | {
      type: "error";
      id: string | null;
      error: { code: string; message: string; details: Record<string, unknown> };
    }
  | { type: "pong" };
