import { LIMITS } from "./limits.ts";

/** What a slot can show (docs/presentations.md#kinds). A list without schemas, for every port. */
export const PRESENTATION_KINDS = ["markdown", "html", "image", "pdf", "csv", "url"] as const;
export type PresentationKind = (typeof PRESENTATION_KINDS)[number];

/** `kind` of a message's reference to a slot: `{kind, slot, event_id?, title?}`. */
export const PRESENTATION_REFERENCE = "presentation_ref";

export function isSlot(slot: unknown): slot is number {
  return Number.isInteger(slot) && Number(slot) >= 1 && Number(slot) <= LIMITS.presentation.slots;
}
