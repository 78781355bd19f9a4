/** What a member does with a selection on the pages: everything is checked in one order. */
import type { Clock } from "../../platform/clock.ts";
import { Refusal } from "../../shared/errors.ts";
import { ConnectGroupTicket } from "../../shared/wire/v1/proofs.ts";
import type { Limits } from "../limits.ts";
import type { GroupInvitationsTable } from "../store/schema.ts";
import { type Acting, type Connections, isOpen } from "./connections.ts";
import type { GroupChecks } from "./group-check.ts";
import type { Selection, Tickets } from "./tickets.ts";

export interface SharingDependencies {
  clock: Clock;
  tickets: Tickets;
  checks: GroupChecks;
  connections: Connections;
  limits: Limits;
}

export class Sharing {
  readonly #deps: SharingDependencies;

  constructor(deps: SharingDependencies) {
    this.#deps = deps;
  }

  /** Invites the recipient, once the instance has confirmed the Group. */
  async invite(encoded: string, recipient: string, acting: Acting): Promise<GroupInvitationsTable> {
    const { tickets, checks, connections } = this.#deps;
    await this.#count(acting);
    const selection = await tickets.read(encoded, acting.member);
    await checks.confirm(selection, "own");
    return connections.invite(selection.ticket, recipient, acting);
  }

  /**
   * Accepts an invitation with the selected Group, once both instances have confirmed their Groups.
   * Answers the connection's id.
   */
  async accept(encoded: string, invitation: GroupInvitationsTable, acting: Acting): Promise<string> {
    const { tickets, checks, connections } = this.#deps;
    await this.#count(acting);
    const own = await tickets.read(encoded, acting.member);
    // One that is over needs no instance: what the store says is the answer.
    const other = await this.#offered(invitation);
    await Promise.all([
      checks.confirm(own, "own"),
      other === null
        ? null
        : checks.confirm(other, "other").catch((error: unknown) => this.#lost(error, invitation)),
    ]);
    return connections.accept(invitation.id, own.ticket, acting);
  }

  async closeInvitation(id: string, state: "cancelled" | "rejected", acting: Acting): Promise<void> {
    await this.#count(acting);
    await this.#deps.connections.closeInvitation(id, state, acting);
  }

  async end(id: string, acting: Acting): Promise<void> {
    await this.#count(acting);
    await this.#deps.connections.end(id, acting);
  }

  async #count({ member }: Acting): Promise<void> {
    await this.#deps.limits.count("sharing", member);
  }

  async #offered(invitation: GroupInvitationsTable): Promise<Selection | null> {
    if (!isOpen(invitation, this.#deps.clock.now())) return null;
    const ticket = ConnectGroupTicket.parse(JSON.parse(invitation.ticket));
    return this.#deps.tickets.check(ticket).catch((error: unknown) => this.#lost(error, invitation));
  }

  /** The inviter's Group is gone for good: nobody can accept the invitation any more. */
  async #lost(error: unknown, { id }: GroupInvitationsTable): Promise<never> {
    if (!(error instanceof Refusal) || error.code !== "connect_group_denied") throw error;
    await this.#deps.connections.dropInvitation(id);
    throw new Refusal("connect_group_denied", {
      specifics: "The other member's Group is gone or has been replaced.",
      remedy: "Ask them for a fresh invitation.",
    });
  }
}
