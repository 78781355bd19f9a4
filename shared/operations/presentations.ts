/** What Actors show beside the conversation: four slots a Group (docs/presentations.md). */
import * as z from "zod";
import { PresentationKind, PresentationSlot, WebAddress } from "../events.ts";
import { LIMITS } from "../limits.ts";
import { ClientId, EventId, GroupId, newLabel, Sha256, text } from "../model.ts";
import { operation } from "./contract.ts";

/** One version of a slot. */
export const Presentation = z.strictObject({
  slot: PresentationSlot,
  /** Names this version. */
  event_id: EventId,
  ts: z.string(),
  /** `user` or the Actor that published it. */
  by: z.string(),
  title: z.string(),
  kind: PresentationKind,
  /** Of its file; a `url` has none. */
  sha256: Sha256.optional(),
  bytes: z.int().optional(),
  mime_type: z.string().optional(),
  url: z.string().optional(),
  /** Whether the slot shows this version now. */
  current: z.boolean(),
});
export type Presentation = z.infer<typeof Presentation>;

const { presentation: limits } = LIMITS;

export const presentationOperations = [
  operation({
    name: "presentation_publish",
    title: "Show a result",
    summary:
      "Shows a page, a text, a picture, a table or a link in one of the Group's four slots, beside the conversation. It replaces what the slot showed; earlier versions can be stepped back to.",
    input: z.strictObject({
      group_id: GroupId,
      slot: PresentationSlot,
      title: newLabel(limits.titleBytes).refine((title) => title.trim() !== "", "is empty"),
      kind: PresentationKind,
      /** A file in an attached project. */
      path: z.string().min(1).max(limits.pathCharacters).optional(),
      text: text(limits.textBytes).optional(),
      /** A file that was uploaded to the Group. */
      sha256: Sha256.optional(),
      url: WebAddress.optional(),
      client_id: ClientId.optional(),
    }),
    output: z.strictObject({ presentation: Presentation, duplicate: z.boolean() }),
    callers: ["user", "actor"],
    lock: "group_read",
    effect: "write",
    decision: false,
    idempotent: false,
  }),
  operation({
    name: "presentation_clear",
    title: "Empty a slot",
    summary: "Empties a slot. What it showed can still be stepped back to.",
    input: z.strictObject({ group_id: GroupId, slot: PresentationSlot }),
    output: z.strictObject({ slot: PresentationSlot, cleared: z.boolean() }),
    callers: ["user", "actor"],
    lock: "group_read",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "presentation_list",
    title: "List what is shown",
    summary:
      "Lists the Group's four slots and what each of them shows. With a slot, also its versions, newest first.",
    input: z.strictObject({ group_id: GroupId, slot: PresentationSlot.optional() }),
    output: z.strictObject({
      slots: z.array(
        z.strictObject({
          slot: PresentationSlot,
          /** Null while the slot is empty. */
          presentation: Presentation.nullable(),
          /** How many versions can be stepped back through. */
          versions: z.int(),
        }),
      ),
      /** Empty unless a slot is given. */
      versions: z.array(Presentation),
    }),
    callers: ["user", "member", "actor"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
] as const;
