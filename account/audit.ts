/** The list of what happened to an account, which its member reads. */
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import { LIMITS } from "../shared/limits.ts";
import type { Queries } from "./store/store.ts";

/** What is recorded, with the words that the page shows. */
export const AUDIT_WORDS = {
  member_joined: "Account created",
  signed_in_passkey: "Signed in with a passkey",
  signed_in_recovery: "Signed in with a recovery code",
  signed_in_issuer: "Signed in through the identity provider",
  signed_in_development: "Signed in with the development login",
  signed_out_elsewhere: "Signed out in all other browsers",
  issuer_linked: "Identity provider linked",
  issuer_unlinked: "Identity provider unlinked",
  passkey_added: "Passkey added",
  passkey_removed: "Passkey removed",
  recovery_codes_made: "New recovery codes made",
  invitation_made: "Invitation link made",
  device_approved: "Device approved",
  device_denied: "Device denied",
  device_joined: "Device joined",
  device_named: "Device renamed",
  device_retired: "Device retired",
  device_removed: "Device removed",
  group_invited: "Member invited to connect a Group",
  invitation_cancelled: "Invitation to connect a Group cancelled",
  invitation_rejected: "Invitation to connect a Group rejected",
  group_connected: "Group connected",
  group_disconnected: "Group disconnected",
  connections_ended: "All connections ended by the administrator",
  member_disabled: "Account disabled by the administrator",
} as const;

export type AuditEvent = keyof typeof AUDIT_WORDS;

export interface AuditEntry {
  event: AuditEvent;
  member: string | null;
  device?: string | null;
  address?: string | null;
}

export class Audit {
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Adds an entry, in the transaction of the change that it is about. */
  async record(db: Queries, { event, member, device = null, address = null }: AuditEntry): Promise<void> {
    await db
      .insertInto("audit")
      .values({
        id: this.#random.uuid(),
        member_id: member,
        at: this.#clock.now(),
        event,
        device_id: device,
        address,
      })
      .execute();
  }

  /**
   * The same for what a device's credential can do as often as it likes: only the newest such entry
   * of the device stays, so that it can't push anything out of the list.
   */
  async recordNewest(db: Queries, entry: AuditEntry & { device: string }): Promise<void> {
    await db
      .deleteFrom("audit")
      .where("member_id", "=", entry.member)
      .where("device_id", "=", entry.device)
      .where("event", "=", entry.event)
      .execute();
    await this.record(db, entry);
  }

  /** A member's newest entries. */
  async of(db: Queries, memberId: string) {
    return db
      .selectFrom("audit")
      .leftJoin("devices", "devices.id", "audit.device_id")
      .select(["audit.at", "audit.event", "audit.address", "devices.display_name", "devices.hostname"])
      .where("audit.member_id", "=", memberId)
      .orderBy("audit.at", "desc")
      .orderBy("audit.id")
      .limit(LIMITS.account.auditShown)
      .execute();
  }
}
