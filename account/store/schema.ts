/**
 * The tables of the account service, one schema for both databases. Times are milliseconds since
 * 1970, ids are texts, booleans are 0 or 1. Whatever proves something (tokens, codes, cookies) is
 * stored only as a digest.
 */

/** 0 or 1, because binding a boolean to libsql ends the process. */
export type Flag = 0 | 1;

/** A person with an account. */
export interface MembersTable {
  id: string;
  /** Shown to the member and, as `account_label`, on the member's own instances. */
  name: string;
  is_admin: Flag;
  created_at: number;
  /** A disabled member can't sign in, and the member's devices are retired. */
  disabled_at: number | null;
}

/** How another issuer knows a member: OpenID Connect, or the development login. */
export interface IdentitiesTable {
  issuer: string;
  subject: string;
  member_id: string;
  created_at: number;
}

export interface PasskeysTable {
  credential_id: string;
  member_id: string;
  /** COSE key as base64url. */
  public_key: string;
  counter: number;
  /** JSON array of the browser's hints for finding the authenticator. */
  transports: string;
  created_at: number;
  used_at: number | null;
}

export interface RecoveryCodesTable {
  digest: string;
  member_id: string;
  created_at: number;
  used_at: number | null;
}

/** A link by which a new member comes in. */
export interface InvitationsTable {
  digest: string;
  is_admin: Flag;
  /** The administrator who made it; null for the operator. */
  made_by: string | null;
  /** 1 for the first member's, which nobody can use after that. */
  is_first: Flag | null;
  created_at: number;
  expires_at: number;
  used_at: number | null;
}

export interface SessionsTable {
  digest: string;
  member_id: string;
  created_at: number;
  expires_at: number;
}

/** Challenges that were answered. None is answered twice. */
export interface UsedChallengesTable {
  digest: string;
  expires_at: number;
}

/** A device's membership. One device binds at most one instance. */
export interface DevicesTable {
  id: string;
  member_id: string;
  token_digest: string;
  /** The routing label. Only its end is ever shown. */
  hostname: string;
  display_name: string | null;
  created_at: number;
  retired_at: number | null;
}

/** A device that asks to be let in (RFC 8628). */
export interface DeviceGrantsTable {
  device_code_digest: string;
  user_code_digest: string;
  /** What the device says about itself. Shown as claimed. */
  claimed_hostname: string | null;
  claimed_version: string | null;
  /** Where the request came from. */
  address: string;
  created_at: number;
  expires_at: number;
  /** Milliseconds between two polls. Grows when the device is too fast. */
  poll_interval: number;
  polled_at: number | null;
  /** How often a member opened the confirmation page. */
  opened: number;
  /** Set by the decision: `approved` or `denied`. */
  decision: string | null;
  member_id: string | null;
}

/** An instance that is bound to a device. */
export interface ConnectInstancesTable {
  device_id: string;
  instance_id: string;
  member_id: string;
  public_key: string;
  client_version: string;
  public_origin: string | null;
  /** `issued_at` of the proof. An older proof changes nothing. */
  proof_at: number;
  registered_at: number;
  /** Set with the device's. Then another device may bind the instance. */
  retired_at: number | null;
}

/** What became of an invitation. One that is still pending may have expired. */
export type InvitationState = "pending" | "accepted" | "cancelled" | "rejected" | "gone" | "operator";

/** A member's invitation to connect a Group, for one other member. */
export interface GroupInvitationsTable {
  id: string;
  source_member: string;
  source_device: string;
  source_instance: string;
  source_group: string;
  source_generation: string;
  /** Names as they were selected. */
  source_name: string;
  source_title: string;
  /** The signed selection, for asking its instance again. */
  ticket: string;
  recipient_member: string;
  created_at: number;
  expires_at: number;
  state: InvitationState;
  closed_at: number | null;
  connection_id: string | null;
}

/**
 * Why a connection ended: a member ended it, a device was retired, a Group is gone, or the operator
 * ended all of them.
 */
export type ConnectionEnd = "ended" | "retired" | "group_gone" | "operator";

/** A connection between two Groups of different members. */
export interface GroupConnectionsTable {
  id: string;
  /** Digest of both exact ends, the same from either side. */
  pair: string;
  source_member: string;
  source_device: string;
  source_instance: string;
  source_group: string;
  source_generation: string;
  source_name: string;
  source_title: string;
  target_member: string;
  target_device: string;
  target_instance: string;
  target_group: string;
  target_generation: string;
  target_name: string;
  target_title: string;
  created_at: number;
  closed_at: number | null;
  end_reason: ConnectionEnd | null;
  /** The member who ended it. */
  ended_by: string | null;
}

/** The selected Group of the member who invites. */
const SOURCE_COLUMNS = [
  "source_member",
  "source_device",
  "source_instance",
  "source_group",
  "source_generation",
  "source_name",
  "source_title",
] as const;

/**
 * A newer version of the service may add columns while this one runs. PostgreSQL refuses a prepared
 * `select *` from then on.
 */
export const GROUP_INVITATION_COLUMNS = [
  "id",
  ...SOURCE_COLUMNS,
  "ticket",
  "recipient_member",
  "created_at",
  "expires_at",
  "state",
  "closed_at",
  "connection_id",
] as const satisfies readonly (keyof GroupInvitationsTable)[];

export const GROUP_CONNECTION_COLUMNS = [
  "id",
  "pair",
  ...SOURCE_COLUMNS,
  "target_member",
  "target_device",
  "target_instance",
  "target_group",
  "target_generation",
  "target_name",
  "target_title",
  "created_at",
  "closed_at",
  "end_reason",
  "ended_by",
] as const satisfies readonly (keyof GroupConnectionsTable)[];

export interface AuditTable {
  id: string;
  member_id: string | null;
  at: number;
  event: string;
  device_id: string | null;
  address: string | null;
}

/** Written by rate-limiter-flexible, which names the columns. */
interface RateLimitsTable {
  key: string;
  points: number;
  expire: number | null;
}

interface SettingsTable {
  name: string;
  value: string;
}

export interface Schema {
  members: MembersTable;
  identities: IdentitiesTable;
  passkeys: PasskeysTable;
  recovery_codes: RecoveryCodesTable;
  invitations: InvitationsTable;
  sessions: SessionsTable;
  used_challenges: UsedChallengesTable;
  devices: DevicesTable;
  device_grants: DeviceGrantsTable;
  connect_instances: ConnectInstancesTable;
  group_invitations: GroupInvitationsTable;
  group_connections: GroupConnectionsTable;
  audit: AuditTable;
  rate_limits: RateLimitsTable;
  settings: SettingsTable;
}
