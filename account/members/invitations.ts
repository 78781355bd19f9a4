/** One-time links by which new members come in. */
import type { ExpressionBuilder } from "kysely";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import { LIMITS } from "../../shared/limits.ts";
import { digestOf, newToken } from "../secrets.ts";
import type { Schema } from "../store/schema.ts";
import type { Queries } from "../store/store.ts";

const INVITATION_MS = LIMITS.account.invitationHours * 3600 * 1000;

interface Invited {
  clock: Clock;
  random: Random;
  isAdmin: boolean;
  /** The administrator who invites; null for the operator. */
  by: string | null;
  /** Whether it is only for the first member. */
  isFirst?: boolean;
}

/** Makes an invitation and answers its token, which is stored only as a digest. */
export async function invite(
  db: Queries,
  { clock, random, isAdmin, by, isFirst = false }: Invited,
): Promise<string> {
  const token = newToken(random);
  const now = clock.now();
  await db
    .insertInto("invitations")
    .values({
      digest: digestOf(token),
      is_admin: isAdmin ? 1 : 0,
      made_by: by,
      is_first: isFirst ? 1 : 0,
      created_at: now,
      expires_at: now + INVITATION_MS,
      used_at: null,
    })
    .execute();
  return token;
}

/** The link. Its secret is behind the hash sign, which browsers send to no server. */
export function invitationLink(origin: string, token: string): string {
  return `${origin}/join#${token}`;
}

/** Whether an invitation would let somebody in. */
export async function isInvitation(db: Queries, token: string, now: number): Promise<boolean> {
  const row = await db
    .selectFrom("invitations")
    .select("digest")
    .where((eb) => isValid(eb, token, now))
    .executeTakeFirst();
  return row !== undefined;
}

/** Uses an invitation up. Answers what it makes of the new member, or null if it isn't valid. */
export async function useInvitation(
  db: Queries,
  token: string,
  now: number,
): Promise<{ isAdmin: boolean } | null> {
  const row = await db
    .updateTable("invitations")
    .set({ used_at: now })
    .where((eb) => isValid(eb, token, now))
    .returning("is_admin")
    .executeTakeFirst();
  return row === undefined ? null : { isAdmin: row.is_admin === 1 };
}

function isValid(eb: ExpressionBuilder<Schema, "invitations">, token: string, now: number) {
  return eb.and([
    eb("digest", "=", digestOf(token)),
    eb("used_at", "is", null),
    eb("expires_at", ">", now),
    // Every start before the first member prints such a link.
    eb.or([
      eb(eb.fn.coalesce("is_first", eb.lit(0)), "=", 0),
      eb.not(eb.exists(eb.selectFrom("members").select("id"))),
    ]),
    // Somebody who was disabled lets nobody in.
    eb.or([
      eb("made_by", "is", null),
      eb("made_by", "in", eb.selectFrom("members").select("id").where("disabled_at", "is", null)),
    ]),
  ]);
}
