/** What begins to wait for the person, and how they are told (docs/interface.md#notifications). */
import * as z from "zod";
import { LIMITS } from "../limits.ts";
import { ActorId, EventId, GroupId, list } from "../model.ts";
import { operation } from "./contract.ts";
import { NOTIFICATION_KINDS } from "./notification-kinds.ts";

export const NotificationKind = z.enum(NOTIFICATION_KINDS);

/** Names one wait; the same in every window. */
export const NeedsYouKey = z.string().regex(/^n_[0-9a-f]{24}$/, "isn't the key of something that waits");

/** Something that waits for the person. */
export const NeedsYouItem = z.strictObject({
  key: NeedsYouKey,
  kind: NotificationKind,
  group_id: GroupId,
  group_title: z.string(),
  /** The Actor of this Group that waits or asks; null for anyone else. */
  actor: z.strictObject({ id: ActorId, title: z.string() }).nullable(),
  /** Why an Actor waits, in words; empty for the other kinds. */
  reason: z.string(),
  /** The request's message. */
  event_id: EventId.nullable(),
  since: z.string(),
});
export type NeedsYouItem = z.infer<typeof NeedsYouItem>;

const Kinds = list(NotificationKind, NOTIFICATION_KINDS.length);
const PushId = z.string().regex(/^p_[0-9a-f]{12}$/, "isn't the id of a push subscription");

/** Base64url of `bytes` bytes, without padding. */
function bytes(count: number) {
  const characters = Math.ceil((count * 4) / 3);
  return z
    .string()
    .max(characters)
    .regex(new RegExp(`^[A-Za-z0-9_-]{${characters}}$`, "u"), `isn't ${count} bytes in base64url`);
}

/** A browser that is told by its push service, as its person sees it. */
export const PushSubscription = z.strictObject({
  id: PushId,
  /** The browser's name, as its session has it. */
  name: z.string(),
  /** Host of its push service. */
  service: z.string(),
  kinds: z.array(NotificationKind),
  created_at: z.string(),
  /** Of the browser that asks. */
  current: z.boolean(),
  sent: z.int(),
  failed: z.int(),
  last_sent_at: z.string().nullable(),
  last_failure: z.strictObject({ at: z.string(), reason: z.string() }).nullable(),
});
export type PushSubscription = z.infer<typeof PushSubscription>;

export const notificationOperations = [
  operation({
    name: "notification_claim",
    title: "Claim a notification",
    summary:
      "Says whether this window is the first of the person's windows to announce something that waits, so that it is announced only once.",
    input: z.strictObject({ key: NeedsYouKey }),
    output: z.strictObject({ claimed: z.boolean() }),
    callers: ["user", "member"],
    lock: "none",
    effect: "write",
    decision: false,
    idempotent: false,
  }),
  operation({
    name: "push_prepare",
    title: "Prepare Web Push",
    summary:
      "Shows the public key that browsers subscribe with. The first call creates the key; its private half stays in the Home.",
    input: z.strictObject({}),
    output: z.strictObject({ public_key: z.string() }),
    callers: ["user", "member"],
    lock: "none",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "push_list",
    title: "List push subscriptions",
    summary:
      "Lists the person's browsers that are told by Web Push, and how many notifications were sent and failed.",
    input: z.strictObject({}),
    output: z.strictObject({ subscriptions: z.array(PushSubscription) }),
    callers: ["user", "member"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "push_subscribe",
    title: "Subscribe to Web Push",
    summary:
      "Tells a signed-in browser by its push service what begins to wait. Only endpoints of known push services are accepted. The same endpoint again changes its kinds.",
    input: z.strictObject({
      endpoint: z.string().max(LIMITS.push.endpointCharacters),
      keys: z.strictObject({ p256dh: bytes(65), auth: bytes(16) }),
      kinds: Kinds,
    }),
    output: z.strictObject({ id: PushId }),
    callers: ["user", "member"],
    lock: "none",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "push_unsubscribe",
    title: "End a push subscription",
    summary: "Sends nothing more to that browser.",
    input: z.strictObject({ push_id: PushId }),
    output: z.strictObject({ removed: z.literal(true) }),
    callers: ["user", "member"],
    lock: "none",
    effect: "destroy",
    decision: false,
    idempotent: false,
  }),
  operation({
    name: "push_test",
    title: "Send a test notification",
    summary: "Sends a notification to that browser now and says whether its push service took it.",
    input: z.strictObject({ push_id: PushId }),
    output: z.strictObject({ sent: z.boolean(), reason: z.string() }),
    callers: ["user", "member"],
    lock: "none",
    effect: "write",
    decision: false,
    idempotent: false,
  }),
] as const;
