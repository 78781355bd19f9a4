/**
 * Whom may I talk to, under which identity fields and signing domain, and is the grant still there?
 * One interface for the three authorities: same-account membership, account-confirmed external
 * connections, Direct relations (docs/protocol.md#answers, docs/protocol.md#authority).
 *
 * Sender and receiver ask the same questions: a grant lets both sides write to each other, seen
 * from here as `local` and `remote`. An authority only looks up what it has in memory. It starts no
 * refresh, opens nothing and creates no identity.
 */
import type { PeerRoute, PeerTransport } from "./transport.ts";

export type AuthorityKind = "account" | "external" | "direct";

/** An end of a grant. `device_id` is the empty string for Direct (docs/protocol.md#signatures). */
export interface GrantEnd {
  instance_id: string;
  device_id: string;
  /** Base64 of the 32 bytes. The receiver has checked it with `checkPublicKey`. */
  public_key: string;
  client_version: string;
  /**
   * Display name from the authenticated directory or relation, a snapshot; null when there is none.
   */
  name: string | null;
  /** Advertised Web origin; null without a configured route and for Direct. */
  public_origin: string | null;
}

/** The one pair of Group generations that an external or a Direct grant is for. */
export interface GrantPair {
  local_group_id: string;
  local_generation: string;
  remote_group_id: string;
  remote_generation: string;
  /** Snapshot, for people. */
  remote_title: string;
}

/** A grant that is in force now. */
export interface Grant {
  authority: AuthorityKind;
  /** Chooses the signing domain together with `authority`; null only for the same account. */
  connection_id: string | null;
  /**
   * Empty strings for Direct. For an external connection the account that initiated it, in either
   * direction (rule 16).
   */
  account_origin: string;
  account_id: string;
  local: GrantEnd;
  remote: GrantEnd;
  /** Null for the same account, where any Group may write to any other. */
  pair: GrantPair | null;
  /** Null if no route to the peer is known right now. That is unavailability, not revocation. */
  route: PeerRoute | null;
  transport: PeerTransport;
}

/**
 * - `granted`: use it now.
 * - `unavailable`: can't be confirmed at present (expired directory, unreachable issuer, pending
 *   approval). Queued work waits. New work may be accepted only once the authority answers
 *   `granted`.
 * - `gone`: authoritatively revoked, deleted, expired or replaced, and never coming back under this
 *   identity. Queued work ends (OUT-026, OUT-027, OUT-031). `remedy` says what a person can do for
 *   new work.
 */
export type GrantState =
  | { state: "granted"; grant: Grant }
  | { state: "unavailable"; reason: string }
  | { state: "gone"; reason: string; remedy?: string };

export function unavailable(reason: string): GrantState {
  return { state: "unavailable", reason };
}

export function gone(reason: string): GrantState {
  return { state: "gone", reason };
}

/**
 * Two Groups as a sender or receiver here names them. Group ids may be empty for daemon-level
 * discovery in the same account.
 */
export interface PairQuery {
  local_group_id: string;
  /**
   * The local Group's resource generation now; an authority of pairs compares it with the granted
   * one.
   */
  local_generation: string;
  remote_instance_id: string;
  remote_group_id: string;
}

/** A connection as people see it, whether it may be used now or not. */
export interface KnownConnection {
  /** The other device within the account, else the connection's id. */
  id: string;
  /** Null: every local Group may use it. */
  local_group_id: string | null;
  /**
   * Null while nobody has used an invitation. `group_id` and `title` are null for all its Groups.
   */
  remote: {
    instance_id: string;
    name: string | null;
    group_id: string | null;
    title: string | null;
    public_origin: string | null;
  } | null;
  /** `unconfirmed`: the account service hasn't confirmed it lately, so it isn't used. */
  standing: { state: "active"; grant: Grant } | { state: "unconfirmed" | "pending" | "ended" };
  /** Since when this instance knows it. */
  since: string | null;
  /** When the account service last heard from the other instance. */
  account_contact_at: string | null;
}

export interface ConnectAuthority {
  readonly kind: AuthorityKind;
  /**
   * For new work. Null when this authority holds nothing for the pair, so the next one may be
   * asked. Anything else, `gone` included, pins the route to this authority (rule 17). If a pair
   * has several records, the one in force counts.
   */
  forPair(query: PairQuery): GrantState | null;
  /**
   * Since when a record of this authority has kept every other kind of connection from exactly this
   * pair, in milliseconds since 1970; null if none does. Only Direct pins (rule 17).
   */
  pinnedSince(query: PairQuery): number | null;
  /**
   * For queued work and incoming requests, which name their connection. `gone` when it isn't, or is
   * no longer, a grant for exactly this pair and these devices. `connection_id` is null for the
   * same account; `devices` are the ids that the work or proof carries (empty strings for Direct).
   */
  forConnection(
    connectionId: string | null,
    query: PairQuery,
    devices: { local: string; remote: string },
  ): GrantState;
  /**
   * Grants in force that this local Group may discover, in a stable order, whether or not the peer
   * is online. For pairs: those whose local Group is this one in this generation. `local_group_id`
   * null: all of them, for the catalog's refresh.
   */
  discover(local: { group_id: string; generation: string } | null): Grant[];
  /** Every connection that people may see, in a stable order. */
  known(): KnownConnection[];
  /**
   * Whether the authority can answer, for `connect_catalog` (docs/protocol.md#daemon-files). Times
   * are ISO 8601.
   */
  condition(): AuthorityCondition;
  /** Called whenever grants may have changed. Returns a function that stops listening. */
  onChange(listener: () => void): () => void;
}

export interface AuthorityCondition {
  status: "ready" | "unavailable" | "not_linked";
  /** Why an optional account cache can't be read (CAT-014). */
  error: string | null;
  checked_at: string | null;
  expires_at: string | null;
}
