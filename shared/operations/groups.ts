/** Groups and scopes. */

import * as z from "zod";
import { hidesText } from "../foreign-text.ts";
import { LedgerDamage } from "../ledger-damage.ts";
import { LIMITS } from "../limits.ts";
import { EventId, Group, GroupId, GroupSettings, GroupState, newLabel, ScopeKey, text } from "../model.ts";
import { operation } from "./contract.ts";

/**
 * What a list shows of a Group. Counts are the daemon's
 * (docs/interface.md#attention-is-counted-once).
 */
export const GroupSummary = z.strictObject({
  group_id: GroupId,
  title: z.string(),
  topic: z.string(),
  state: GroupState,
  created_at: z.string(),
  updated_at: z.string(),
  actors: z.int(),
  /** Messages to the person that came after the last one they opened. */
  unread: z.int(),
  /** The first of them; null when there is none. */
  first_unread: EventId.nullable(),
  /** What needs the person: unread messages that ask for their reply, and open requests to them. */
  attention: z.int(),
  last_event: z.strictObject({ id: z.string(), ts: z.string() }).nullable(),
  /** Why nothing new is recorded; absent while the history is whole. */
  damage: LedgerDamage.optional(),
});
export type GroupSummary = z.infer<typeof GroupSummary>;

const Title = newLabel(LIMITS.group.titleBytes)
  .transform((title) => title.trim())
  .pipe(z.string().min(1));
/** A sentence of the person's own, on one line. */
const Topic = text(LIMITS.group.topicBytes).refine(
  (topic) => !hidesText(topic),
  "contains a line break or a character that can't be seen",
);
const Path = z
  .string()
  .min(1)
  .max(LIMITS.folder.pathCharacters)
  .refine((path) => !path.includes("\u0000"), "contains a NUL");

export const groupOperations = [
  operation({
    name: "group_list",
    title: "List Groups",
    summary:
      "Lists the Groups that the caller may see, most recently active first, with unread and attention counts.",
    input: z.strictObject({}),
    output: z.strictObject({ groups: z.array(GroupSummary) }),
    callers: ["user", "member", "actor", "exhibit"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "group_show",
    title: "Show a Group",
    summary: "Shows one Group with its scopes, Actors and settings.",
    input: z.strictObject({ group_id: GroupId }),
    output: Group.extend({ summary: GroupSummary }),
    callers: ["user", "member", "actor", "exhibit"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "group_create",
    title: "Create a Group",
    summary: "Creates an empty Group with a new generation.",
    input: z.strictObject({ title: Title, topic: Topic.default("") }),
    output: Group,
    callers: ["user"],
    lock: "home_write",
    effect: "write",
    decision: false,
    idempotent: false,
  }),
  operation({
    name: "group_update",
    title: "Change a Group",
    summary: "Changes the title, topic, active scope or settings. Anything not given stays the same.",
    input: z.strictObject({
      group_id: GroupId,
      title: Title.optional(),
      topic: Topic.optional(),
      active_scope_key: ScopeKey.optional(),
      // A default would set fields that aren't given.
      settings: GroupSettings.extend({ start_actors: z.boolean() }).partial().optional(),
    }),
    output: Group,
    callers: ["user"],
    lock: "group_write",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "group_set_state",
    title: "Set a Group's state",
    summary:
      "Sets the state to active, idle, paused or stopped. A paused or stopped Group delivers nothing to Actors, but events are still appended.",
    input: z.strictObject({ group_id: GroupId, state: GroupState }),
    output: Group,
    callers: ["user"],
    lock: "group_write",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "group_start",
    title: "Start a Group",
    summary: "Makes the Group active so that its Actors receive messages again.",
    input: z.strictObject({ group_id: GroupId }),
    output: Group,
    callers: ["user"],
    lock: "group_write",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "group_stop",
    title: "Stop a Group",
    summary: "Delivers nothing to the Group's Actors until it is started again.",
    input: z.strictObject({ group_id: GroupId }),
    output: Group,
    callers: ["user"],
    lock: "group_write",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "attach",
    title: "Attach a project directory",
    summary:
      "Binds a directory to a Group. If you name no Group, uses the one already bound to that project, or else creates one.",
    input: z.strictObject({ path: Path, group_id: GroupId.optional() }),
    output: z.strictObject({ group_id: GroupId, scope_key: ScopeKey, created: z.boolean() }),
    callers: ["user"],
    lock: "home_write",
    effect: "write",
    decision: true,
    idempotent: true,
  }),
  operation({
    name: "folder_list",
    title: "List folders",
    summary:
      "Lists the folders in a folder of the daemon's machine, so that one can be chosen to attach: without links, by default without hidden ones, and at first in the person's own folder.",
    input: z.strictObject({ path: Path.optional(), hidden: z.boolean().default(false) }),
    output: z.strictObject({
      /** Without links. */
      path: z.string(),
      /** Null at the top. */
      parent: z.string().nullable(),
      /** Their names. */
      folders: z.array(z.string()),
      /** There are others. */
      more: z.boolean(),
    }),
    callers: ["user"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "group_reset",
    title: "Reset a Group",
    summary: "Clears the Group's history and files and gives it a new generation. Actors and settings stay.",
    input: z.strictObject({ group_id: GroupId, confirm: z.string().max(64) }),
    output: Group,
    callers: ["user"],
    lock: "home_write",
    effect: "destroy",
    decision: true,
    idempotent: false,
  }),
  operation({
    name: "group_delete",
    title: "Delete a Group",
    summary: "Removes the Group with its history, files and Actors.",
    input: z.strictObject({ group_id: GroupId, confirm: z.string().max(64) }),
    output: z.strictObject({ group_id: GroupId, deleted: z.literal(true) }),
    callers: ["user"],
    lock: "home_write",
    effect: "destroy",
    decision: true,
    idempotent: false,
  }),
] as const;

export const transferOperations = [
  operation({
    name: "group_export",
    title: "Export a Group",
    summary: "Writes the Group's ledger, Actors and files, without secrets, to one new file on this machine.",
    input: z.strictObject({ group_id: GroupId, path: Path }),
    output: z.strictObject({
      path: z.string(),
      bytes: z.int(),
      events: z.int(),
      blobs: z.int(),
      /** Attached files that are missing or damaged, a sentence each; absent for none. */
      left_out: z.array(z.string()).optional(),
    }),
    callers: ["user"],
    lock: "group_read",
    effect: "read",
    decision: false,
    idempotent: false,
  }),
  operation({
    name: "group_import",
    title: "Import a Group",
    summary:
      "Creates a Group from an export. The Group is stopped, it and its Actors have new generations, and start_actors is off. Everything in the file is history: it can be read, but nothing is delivered, owed, answered or withdrawn because of it.",
    input: z.strictObject({ path: Path, title: Title.optional() }),
    output: z.strictObject({ group: Group, events: z.int(), blobs: z.int() }),
    callers: ["user"],
    lock: "home_write",
    effect: "write",
    decision: true,
    idempotent: false,
  }),
] as const;
