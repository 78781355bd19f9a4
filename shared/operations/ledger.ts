/** Reads and maintains a Group's ledger. */
import * as z from "zod";
import { LedgerEventSchema } from "../events.ts";
import { LedgerDamage } from "../ledger-damage.ts";
import { LIMITS } from "../limits.ts";
import { ActorId, EventId, GroupId, Limit, MessageMode } from "../model.ts";
import { operation } from "./contract.ts";
import { MessageStatus } from "./messages.ts";

const Kinds = z.array(z.string().min(1).max(64)).max(32).optional();
/** Ids of events among these that the disk no longer holds; absent when there are none. */
const unreadable = z.array(EventId).optional();
const Page = z.strictObject({ events: z.array(LedgerEventSchema), has_more: z.boolean(), unreadable });
const annotate = { with_obligation_status: z.boolean().default(false) };
const readers = ["user", "member", "exhibit"] as const;

export const ledgerOperations = [
  operation({
    name: "ledger_tail",
    title: "Show the newest events",
    summary:
      "Lists events before or after a given one, or at either end of the history (by default the newest), oldest first.",
    input: z.strictObject({
      group_id: GroupId,
      before: EventId.optional(),
      after: EventId.optional(),
      from: z.enum(["newest", "oldest"]).optional(),
      limit: Limit.default(LIMITS.page.default),
      kinds: Kinds,
      ...annotate,
    }),
    output: Page,
    callers: readers,
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "ledger_window",
    title: "Show events around one",
    summary: "Shows an event with those before and after it.",
    input: z.strictObject({
      group_id: GroupId,
      event_id: EventId,
      before: z.int().min(0).max(LIMITS.page.max).default(25),
      after: z.int().min(0).max(LIMITS.page.max).default(25),
      kinds: Kinds,
      ...annotate,
    }),
    output: z.strictObject({
      events: z.array(LedgerEventSchema),
      has_older: z.boolean(),
      has_newer: z.boolean(),
      unreadable,
    }),
    callers: readers,
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "ledger_thread",
    title: "Show a thread",
    summary:
      "Shows the message that began a conversation and all replies to it and to each other, oldest first. Of a very long one, the beginning.",
    input: z.strictObject({ group_id: GroupId, event_id: EventId }),
    output: Page,
    callers: readers,
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "ledger_search",
    title: "Search messages",
    summary:
      "Finds messages that contain the words, or pass the filters, or both. The first page has the newest matches. Each page is oldest first. In a large Group a page may be short or empty: continue_before says where to continue.",
    input: z.strictObject({
      group_id: GroupId,
      query: z.string().trim().max(512).default(""),
      /** Who wrote it or is among its recipients: an Actor or `user`. */
      actor: ActorId.optional(),
      message_mode: MessageMode.optional(),
      files: z.boolean().default(false),
      /** Still awaits a reply. */
      open: z.boolean().default(false),
      before: EventId.optional(),
      limit: Limit.default(LIMITS.page.default),
      kinds: Kinds,
      ...annotate,
    }),
    output: Page.extend({ continue_before: EventId.nullable() }),
    callers: readers,
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "ledger_since",
    title: "Find the first event since a time",
    summary: "Says which event is the first at or after a time, or none.",
    input: z.strictObject({ group_id: GroupId, ts: z.iso.datetime().max(40), kinds: Kinds }),
    output: z.strictObject({ event_id: EventId.nullable() }),
    callers: ["user", "member"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "ledger_find",
    title: "Find events by the beginning of their id",
    summary: "Lists up to ten event ids that begin with these digits, oldest first.",
    input: z.strictObject({
      group_id: GroupId,
      prefix: z.string().regex(/^[0-9a-f]{4,32}$/, "isn't the beginning of an event id (4 to 32 hex digits)"),
    }),
    output: z.strictObject({ event_ids: z.array(EventId).max(LIMITS.eventPrefix.found) }),
    callers: ["user", "member", "actor"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "ledger_statuses",
    title: "Show message statuses",
    summary: "Shows the delivery, read and reply states of up to 1,000 messages, per recipient.",
    input: z.strictObject({
      group_id: GroupId,
      event_ids: z.array(EventId).min(1).max(LIMITS.statuses.events),
    }),
    output: z.strictObject({ statuses: z.record(EventId, MessageStatus) }),
    callers: ["user", "member", "actor", "exhibit"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "ledger_compact",
    title: "Seal the active file",
    summary: "Seals the active ledger file as a numbered segment. Nothing is lost.",
    input: z.strictObject({ group_id: GroupId }),
    output: z.strictObject({ sealed: z.string().nullable(), segments: z.int() }),
    callers: ["user"],
    lock: "group_read",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "ledger_verify",
    title: "Verify the ledger",
    summary:
      "Reads everything, compares the index and projections with a rebuild from scratch, and checks every attached file.",
    input: z.strictObject({ group_id: GroupId }),
    output: z.strictObject({ events: z.int(), segments: z.int(), problems: z.array(z.string()) }),
    callers: ["user"],
    lock: "group_read",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "ledger_reopen",
    title: "Open a Group's ledger again",
    summary:
      "Reads the ledger again from the disk, after its files were put back. If it is whole, messages are recorded again.",
    input: z.strictObject({ group_id: GroupId }),
    output: z.strictObject({ damage: LedgerDamage.nullable() }),
    callers: ["user"],
    lock: "home_write",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "ledger_continue",
    title: "Go on with a damaged history",
    summary:
      "Goes on without what a damaged ledger has lost. The damaged files are kept beside it, and an event says what is missing and who decided.",
    input: z.strictObject({ group_id: GroupId, confirm: z.string().max(64) }),
    output: z.strictObject({ damage: LedgerDamage.nullable() }),
    callers: ["user"],
    lock: "home_write",
    effect: "write",
    decision: true,
    idempotent: true,
  }),
] as const;
