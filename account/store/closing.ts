/** Ends connections and invitations, in the transaction of what ends them. */
import type { ConnectionEnd } from "./schema.ts";
import type { Queries } from "./store.ts";

/** Why connections end, when, and which member ended them. */
export interface Ending {
  now: number;
  reason: ConnectionEnd;
  by: string | null;
}

/** Ends what retired devices had, at once with their retirement (EXT-025). */
export async function closeOfDevices(db: Queries, now: number, ids: readonly string[]): Promise<void> {
  await db
    .updateTable("group_connections")
    .set({ closed_at: now, end_reason: "retired" })
    .where("closed_at", "is", null)
    .where((eb) => eb.or([eb("source_device", "in", ids), eb("target_device", "in", ids)]))
    .execute();
  await db
    .updateTable("group_invitations")
    .set({ closed_at: now, state: "gone" })
    .where("state", "=", "pending")
    .where("source_device", "in", ids)
    .execute();
}

/** Ends the invitations that wait for a member who can't sign in any more. */
export async function closeInvitationsTo(db: Queries, now: number, member: string): Promise<void> {
  await db
    .updateTable("group_invitations")
    .set({ closed_at: now, state: "gone" })
    .where("state", "=", "pending")
    .where("recipient_member", "=", member)
    .execute();
}

/** Ends everything between members that isn't over. Answers how many of each it ended. */
export async function closeEverything(
  db: Queries,
  now: number,
): Promise<{ connections: number; invitations: number }> {
  const connections = await db
    .updateTable("group_connections")
    .set({ closed_at: now, end_reason: "operator" })
    .where("closed_at", "is", null)
    .returning("id")
    .execute();
  const invitations = await db
    .updateTable("group_invitations")
    .set({ closed_at: now, state: "operator" })
    .where("state", "=", "pending")
    .where("expires_at", ">", now)
    .returning("id")
    .execute();
  return { connections: connections.length, invitations: invitations.length };
}

/** Ends these connections where the member or device is in them. Answers which ones it ended. */
export async function closeConnections(
  db: Queries,
  ids: readonly string[],
  of: { member: string } | { device: string },
  { now, reason, by }: Ending,
): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await db
    .updateTable("group_connections")
    .set({ closed_at: now, end_reason: reason, ended_by: by })
    .where("id", "in", ids)
    .where("closed_at", "is", null)
    .where((eb) =>
      "member" in of
        ? eb.or([eb("source_member", "=", of.member), eb("target_member", "=", of.member)])
        : eb.or([eb("source_device", "=", of.device), eb("target_device", "=", of.device)]),
    )
    .returning("id")
    .execute();
  return rows.map(({ id }) => id);
}
