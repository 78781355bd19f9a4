/**
 * Connections between Groups of two members, and the invitations that they begin with
 * (docs/connections.md). Changes lock their members first, so that bounds and states hold whatever
 * runs at the same time.
 */
import { createHash } from "node:crypto";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { ConnectGroupTicket } from "../../shared/wire/v1/proofs.ts";
import { milliseconds } from "../../shared/wire/v1/time.ts";
import type { Audit } from "../audit.ts";
import { closeConnections } from "../store/closing.ts";
import {
  GROUP_CONNECTION_COLUMNS,
  GROUP_INVITATION_COLUMNS,
  type GroupConnectionsTable,
  type GroupInvitationsTable,
} from "../store/schema.ts";
import type { Queries, Store } from "../store/store.ts";

/** The member who acts, and from where. */
export interface Acting {
  member: string;
  address: string;
}

/** An invitation is over at its expiry, although nothing writes that down. */
export function isOpen({ state, expires_at: expiresAt }: GroupInvitationsTable, now: number): boolean {
  return state === "pending" && expiresAt > now;
}

export interface ConnectionDependencies {
  store: Store;
  clock: Clock;
  random: Random;
  audit: Audit;
}

const { groups } = LIMITS.account;
/** Open invitations by others that the page shows. */
export const INCOMING_SHOWN = 2 * groups.outstanding;

export class Connections {
  readonly #deps: ConnectionDependencies;

  constructor(deps: ConnectionDependencies) {
    this.#deps = deps;
  }

  /**
   * Invites another member to connect a Group with the selected one. The same selection for the
   * same member is the same invitation. Throws `invalid_args`, `conflict`, `connect_group_denied`.
   */
  async invite(
    ticket: ConnectGroupTicket,
    recipient: string,
    { member, address }: Acting,
  ): Promise<GroupInvitationsTable> {
    const { store, clock, audit } = this.#deps;
    if (recipient === member)
      throw wrongRecipient("This is your own member id. Your own instances find each other without this.");
    return store.transaction(async (db) => {
      const now = clock.now();
      if (!(await this.#lock(db, [member, recipient])).has(recipient))
        throw wrongRecipient("There is no member with this id.");
      const id = invitationId(ticket, recipient);
      const known = await invitationOf(db, id);
      if (known !== undefined) {
        if (isOpen(known, now)) return known;
        throw used();
      }
      await this.#checkDevices(db, [ticket.device_id]);
      if ((await outstanding(db, member, now)) >= groups.outstanding)
        throw tooMany("You have as many invitations and connections as one member can have.", OWN_TOO_MANY);
      const invitation: GroupInvitationsTable = {
        id,
        source_member: member,
        source_device: ticket.device_id,
        source_instance: ticket.instance_id,
        source_group: ticket.group_id,
        source_generation: ticket.group_generation,
        source_name: label(ticket.instance_name),
        source_title: label(ticket.title),
        ticket: JSON.stringify(ticket),
        recipient_member: recipient,
        created_at: now,
        expires_at: milliseconds(ticket.expires_at),
        state: "pending",
        closed_at: null,
        connection_id: null,
      };
      await db.insertInto("group_invitations").values(invitation).execute();
      await audit.record(db, { event: "group_invited", member, device: ticket.device_id, address });
      return invitation;
    });
  }

  /** An invitation of this member, by or for them; null if there is none. */
  async invitation(id: string, member: string): Promise<GroupInvitationsTable | null> {
    const found = await invitationOf(this.#deps.store.db, id);
    return found?.source_member === member || found?.recipient_member === member ? found : null;
  }

  /**
   * Connects the selected Group with the one of the invitation. The same pair has at most one
   * active connection, whoever invited and however often. Answers its id. Throws `not_found`,
   * `conflict`, `connect_group_denied`.
   */
  async accept(id: string, ticket: ConnectGroupTicket, { member, address }: Acting): Promise<string> {
    const { store, clock, random, audit } = this.#deps;
    const offered = await this.invitation(id, member);
    if (offered?.recipient_member !== member) throw unknownInvitation();
    return store.transaction(async (db) => {
      const now = clock.now();
      const inviter = offered.source_member;
      await this.#lock(db, [member, inviter]);
      const invitation = (await invitationOf(db, id))!;
      const pair = pairOf(invitation, ticket);
      const active = await db
        .selectFrom("group_connections")
        .select("id")
        .where("pair", "=", pair)
        .where("closed_at", "is", null)
        .executeTakeFirst();
      // The same answer once more, for whoever sends the same form twice.
      if (invitation.state === "accepted" && active?.id === invitation.connection_id) return active.id;
      if (!isOpen(invitation, now)) throw over();
      await this.#checkDevices(db, [invitation.source_device, ticket.device_id]);
      const connection = active?.id ?? random.uuid();
      if (active === undefined) {
        await checkActive(db, member, () =>
          tooMany("You have as many connections as one member can have.", OWN_TOO_MANY),
        );
        await checkActive(db, inviter, () =>
          tooMany("The other member has as many connections as one member can have.", OTHERS_TOO_MANY),
        );
        await db
          .insertInto("group_connections")
          .values(connectionOf(connection, pair, invitation, ticket, now))
          .execute();
        await audit.record(db, { event: "group_connected", member, device: ticket.device_id, address });
        await audit.record(db, {
          event: "group_connected",
          member: inviter,
          device: invitation.source_device,
        });
      }
      await db
        .updateTable("group_invitations")
        .set({ state: "accepted", closed_at: now, connection_id: connection })
        .where("id", "=", id)
        .execute();
      return connection;
    });
  }

  /**
   * Closes an invitation: the inviter cancels, the recipient rejects. Doing it twice changes
   * nothing. Throws `not_found`.
   */
  async closeInvitation(
    id: string,
    state: "cancelled" | "rejected",
    { member, address }: Acting,
  ): Promise<void> {
    const { store, clock, audit } = this.#deps;
    const column = state === "cancelled" ? "source_member" : "recipient_member";
    await store.transaction(async (db) => {
      const found = await invitationOf(db, id);
      if (found?.[column] !== member) throw unknownInvitation();
      await this.#lock(db, [found.source_member, found.recipient_member]);
      const closed = await db
        .updateTable("group_invitations")
        .set({ state, closed_at: clock.now() })
        .where("id", "=", id)
        .where("state", "=", "pending")
        .returning("id")
        .executeTakeFirst();
      if (closed !== undefined) await audit.record(db, { event: `invitation_${state}`, member, address });
    });
  }

  /** Closes an invitation whose own Group turned out to be gone. */
  async dropInvitation(id: string): Promise<void> {
    await this.#deps.store.db
      .updateTable("group_invitations")
      .set({ state: "gone", closed_at: this.#deps.clock.now() })
      .where("id", "=", id)
      .where("state", "=", "pending")
      .execute();
  }

  /** A connection of this member; null if there is none. */
  async connection(id: string, member: string): Promise<GroupConnectionsTable | null> {
    const row = await this.#deps.store.db
      .selectFrom("group_connections")
      .select(GROUP_CONNECTION_COLUMNS)
      .where("id", "=", id)
      .where((eb) => eb.or([eb("source_member", "=", member), eb("target_member", "=", member)]))
      .executeTakeFirst();
    return row ?? null;
  }

  /**
   * Ends a connection. Either member may; doing it twice changes nothing. What this member still
   * offers the other for the same Group is taken back, or the other could connect it again alone.
   * Throws `not_found`.
   */
  async end(id: string, { member, address }: Acting): Promise<void> {
    const { store, clock, audit } = this.#deps;
    const known = await this.connection(id, member);
    if (known === null) throw new Refusal("not_found", { specifics: "There is no such connection." });
    const isSource = known.source_member === member;
    const other = isSource ? known.target_member : known.source_member;
    await store.transaction(async (db) => {
      await this.#lock(db, [member, other]);
      const now = clock.now();
      const closed = await closeConnections(db, [id], { member }, { now, reason: "ended", by: member });
      const cancelled = await db
        .updateTable("group_invitations")
        .set({ state: "cancelled", closed_at: now })
        .where("source_member", "=", member)
        .where("source_instance", "=", isSource ? known.source_instance : known.target_instance)
        .where("source_group", "=", isSource ? known.source_group : known.target_group)
        .where("recipient_member", "=", other)
        .where("state", "=", "pending")
        // A later one means that they want to connect again.
        .where("created_at", "<=", (eb) =>
          eb.selectFrom("group_connections").select("closed_at").where("id", "=", id),
        )
        .returning("source_device as device")
        .execute();
      for (const { device } of cancelled)
        await audit.record(db, { event: "invitation_cancelled", member, device, address });
      if (closed.length === 0) return;
      await audit.record(db, { event: "group_disconnected", member, address });
      await audit.record(db, { event: "group_disconnected", member: other });
    });
  }

  /** What the member's page shows. */
  async of(member: string): Promise<{
    outgoing: GroupInvitationsTable[];
    /** The latest. */
    incoming: GroupInvitationsTable[];
    connections: GroupConnectionsTable[];
    closed: { invitations: GroupInvitationsTable[]; connections: GroupConnectionsTable[] };
  }> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    const invitations = store.db
      .selectFrom("group_invitations")
      .select(GROUP_INVITATION_COLUMNS)
      .orderBy("created_at", "desc")
      .orderBy("id");
    // Each side by itself: invitations by others take no room from the member's own.
    const openInvitations = (
      side: "source_member" | "recipient_member",
      most: number,
    ): Promise<GroupInvitationsTable[]> =>
      invitations
        .where(side, "=", member)
        .where("state", "=", "pending")
        .where("expires_at", ">", now)
        .limit(most)
        .execute();
    const connections = store.db.selectFrom("group_connections").select(GROUP_CONNECTION_COLUMNS);
    // Each side by itself: an index of its own has the last ones first, so older ones cost nothing.
    const closedInvitations = (
      side: "source_member" | "recipient_member",
    ): Promise<GroupInvitationsTable[]> =>
      invitations
        .where(side, "=", member)
        .where("state", "!=", "accepted")
        .where((eb) => eb.or([eb("state", "!=", "pending"), eb("expires_at", "<=", now)]))
        .limit(groups.closedShown)
        .execute();
    const closedConnections = (side: "source_member" | "target_member"): Promise<GroupConnectionsTable[]> =>
      connections
        .where(side, "=", member)
        .where("closed_at", "is not", null)
        .orderBy("closed_at", "desc")
        .orderBy("id")
        .limit(groups.closedShown)
        .execute();
    return {
      outgoing: await openInvitations("source_member", groups.outstanding),
      incoming: await openInvitations("recipient_member", INCOMING_SHOWN),
      connections: await connections
        .where((eb) => eb.or([eb("source_member", "=", member), eb("target_member", "=", member)]))
        .where("closed_at", "is", null)
        .orderBy("created_at", "desc")
        .orderBy("id")
        .execute(),
      closed: {
        invitations: latest(
          [...(await closedInvitations("source_member")), ...(await closedInvitations("recipient_member"))],
          ({ created_at: createdAt }) => createdAt,
        ),
        connections: latest(
          [...(await closedConnections("source_member")), ...(await closedConnections("target_member"))],
          ({ closed_at: closedAt }) => closedAt!,
        ),
      },
    };
  }

  /** The active members among these. Whatever else changes their connections waits. */
  async #lock(db: Queries, members: readonly string[]): Promise<Set<string>> {
    const rows = await db
      .selectFrom("members")
      .select("id")
      .where("id", "in", members)
      .where("disabled_at", "is", null)
      .orderBy("id")
      // Rows that refer to the member may be written meanwhile.
      .$if(this.#deps.store.kind === "postgres", (query) => query.forNoKeyUpdate())
      .execute();
    return new Set(rows.map(({ id }) => id));
  }

  /** A retirement at the same time comes wholly before, or ends what is made here. */
  async #checkDevices(db: Queries, ids: readonly string[]): Promise<void> {
    const rows = await db
      .selectFrom("devices")
      .select("id")
      .where("id", "in", ids)
      .where("retired_at", "is", null)
      .orderBy("id")
      .$if(this.#deps.store.kind === "postgres", (query) => query.forShare())
      .execute();
    if (rows.length === ids.length) return;
    throw new Refusal("connect_group_denied", {
      specifics: "An instance of this connection is no longer in its account.",
    });
  }
}

async function invitationOf(db: Queries, id: string): Promise<GroupInvitationsTable | undefined> {
  return db
    .selectFrom("group_invitations")
    .select(GROUP_INVITATION_COLUMNS)
    .where("id", "=", id)
    .executeTakeFirst();
}

/** What a member began and what isn't over. */
async function outstanding(db: Queries, member: string, now: number): Promise<number> {
  const invited = await db
    .selectFrom("group_invitations")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("source_member", "=", member)
    .where("state", "=", "pending")
    .where("expires_at", ">", now)
    .executeTakeFirstOrThrow();
  const connected = await db
    .selectFrom("group_connections")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("source_member", "=", member)
    .where("closed_at", "is", null)
    .executeTakeFirstOrThrow();
  return invited.count + connected.count;
}

async function checkActive(db: Queries, member: string, refusal: () => Refusal): Promise<void> {
  const { count } = await db
    .selectFrom("group_connections")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where((eb) => eb.or([eb("source_member", "=", member), eb("target_member", "=", member)]))
    .where("closed_at", "is", null)
    .executeTakeFirstOrThrow();
  if (count >= groups.active) throw refusal();
}

/** As many as the page shows, by this time. */
function latest<Row>(rows: Row[], at: (row: Row) => number): Row[] {
  return rows.sort((one, other) => at(other) - at(one)).slice(0, groups.closedShown);
}

/** A UUID that the ticket's signature and the recipient determine (EXT-011). */
function invitationId({ signature }: ConnectGroupTicket, recipient: string): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([signature, recipient]))
    .digest();
  // RFC 9562, version 8: a UUID of our own making.
  digest[6] = (digest[6]! & 0x0f) | 0x80;
  digest[8] = (digest[8]! & 0x3f) | 0x80;
  return digest.toString("hex", 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/u, "$1-$2-$3-$4-$5");
}

/** The exact pair of ends, whichever of them invited. */
function pairOf(invitation: GroupInvitationsTable, ticket: ConnectGroupTicket): string {
  const ends = [
    [
      invitation.source_member,
      invitation.source_device,
      invitation.source_instance,
      invitation.source_group,
      invitation.source_generation,
    ],
    [ticket.account_id, ticket.device_id, ticket.instance_id, ticket.group_id, ticket.group_generation],
  ].map((end) => JSON.stringify(end));
  return createHash("sha256").update(JSON.stringify(ends.sort())).digest("hex");
}

function connectionOf(
  id: string,
  pair: string,
  invitation: GroupInvitationsTable,
  ticket: ConnectGroupTicket,
  now: number,
): GroupConnectionsTable {
  return {
    id,
    pair,
    source_member: invitation.source_member,
    source_device: invitation.source_device,
    source_instance: invitation.source_instance,
    source_group: invitation.source_group,
    source_generation: invitation.source_generation,
    source_name: invitation.source_name,
    source_title: invitation.source_title,
    target_member: ticket.account_id,
    target_device: ticket.device_id,
    target_instance: ticket.instance_id,
    target_group: ticket.group_id,
    target_generation: ticket.group_generation,
    target_name: label(ticket.instance_name),
    target_title: label(ticket.title),
    created_at: now,
    closed_at: null,
    end_reason: null,
    ended_by: null,
  };
}

/** A name or title as it was selected, as long as pages and answers have room for. */
function label(text: string): string {
  return text.length <= groups.labelUnits ? text : `${text.slice(0, groups.labelUnits - 1).toWellFormed()}…`;
}

function wrongRecipient(specifics: string): Refusal {
  return new Refusal("invalid_args", {
    specifics,
    remedy: "Ask the other member for the member id that their own 'Connections' page shows.",
    details: { field: "recipient" },
  });
}

const OWN_TOO_MANY = "End one that isn't needed any more, then try again.";
const OTHERS_TOO_MANY = "Ask them to end one that isn't needed any more, then try again.";

function tooMany(specifics: string, remedy: string): Refusal {
  return new Refusal("conflict", { specifics, remedy });
}

function used(): Refusal {
  return new Refusal("connect_group_denied", {
    specifics: "This selection has been used for an invitation of this member before.",
    remedy: "Select the Group again for a new one.",
  });
}

function over(): Refusal {
  return new Refusal("connect_group_denied", {
    specifics: "This invitation was withdrawn, was answered before, or has expired.",
    remedy: "Ask the other member for a fresh one.",
  });
}

function unknownInvitation(): Refusal {
  return new Refusal("not_found", {
    specifics: "There is no such invitation for this account.",
    remedy: "Check that you are signed in as the member who was invited.",
  });
}
