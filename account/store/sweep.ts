/**
 * Removes what has no more use: expired grants, sessions, links and counts, old entries of the
 * audit, and connections that ended long ago.
 */
import { LIMITS } from "../../shared/limits.ts";
import type { Db } from "./store.ts";

const DAY_MS = 24 * 3600 * 1000;

export async function sweep(db: Db, now: number): Promise<void> {
  await db.deleteFrom("device_grants").where("expires_at", "<=", now).execute();
  await db.deleteFrom("sessions").where("expires_at", "<=", now).execute();
  await db.deleteFrom("used_challenges").where("expires_at", "<=", now).execute();
  await db.deleteFrom("invitations").where("expires_at", "<=", now).execute();
  await db.deleteFrom("rate_limits").where("expire", "<=", now).execute();
  const kept = now - LIMITS.account.groups.keptDays * DAY_MS;
  await db.deleteFrom("group_connections").where("closed_at", "<=", kept).execute();
  await db
    .deleteFrom("group_invitations")
    .where((eb) => eb.or([eb("closed_at", "<=", kept), eb("expires_at", "<=", kept)]))
    .execute();
  await db
    .deleteFrom("audit")
    .where("at", "<=", now - LIMITS.account.auditDays * DAY_MS)
    .execute();
}
