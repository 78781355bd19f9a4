/**
 * `damage.json` beside a damaged ledger: what was found and how many events there were, so that a
 * later start knows it too, and what a person has decided.
 */
import * as z from "zod";
import { readWhole, replaceFile } from "../../../platform/durable.ts";
import type { LedgerDamage } from "../../../shared/ledger-damage.ts";
import { pathOf, type Storage } from "../files/storage.ts";

export const DAMAGE_NOTE = "damage.json";

const Aside = z.strictObject({
  /** The segment that its whole lines become; null for none. */
  number: z.int().nullable(),
  name: z.string(),
  /** Its name from now on. */
  kept: z.string(),
  /** How far it counts. */
  bytes: z.int(),
});

const Decision = z.strictObject({
  by: z.string(),
  /** The event that records it. */
  event_id: z.string(),
  missing_events: z.int(),
  missing: z.array(z.strictObject({ first: z.int(), last: z.int() })),
  aside: z.array(Aside),
  /** Numbers of segments that are missing. */
  gaps: z.array(z.int()),
});
/** To go on without what is missing: which files are put aside for it. */
export type Decision = z.infer<typeof Decision>;

const Note = z.object({
  v: z.literal(1),
  group_id: z.string(),
  events: z.int(),
  problems: z.array(z.string()),
  decision: Decision.nullable(),
});
export type DamageNote = z.infer<typeof Note>;

/** Null when there is none, or when it isn't one of this Group. */
export function readDamageNote(storage: Storage, groupId: string): DamageNote | null {
  if (storage.files.stat(pathOf(storage, DAMAGE_NOTE))?.kind !== "file") return null;
  const text = readWhole(storage.files, pathOf(storage, DAMAGE_NOTE))?.toString("utf8") ?? "";
  try {
    const note = Note.parse(JSON.parse(text));
    return note.group_id === groupId ? note : null;
  } catch {
    return null;
  }
}

/** `events` is how many there were at least. */
export async function writeDamageNote(
  storage: Storage,
  groupId: string,
  damage: Pick<LedgerDamage, "problems">,
  events: number,
  decision: Decision | null,
): Promise<void> {
  const { problems } = damage;
  const note: DamageNote = { v: 1, group_id: groupId, events, problems, decision };
  const text = `${JSON.stringify(note, null, 1)}\n`;
  await replaceFile(storage.files, pathOf(storage, DAMAGE_NOTE), Buffer.from(text));
}
