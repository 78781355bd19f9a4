/**
 * Selections: a Group that its instance signed for its member, who brings it to the pages
 * (docs/protocol.md#signatures).
 */
import type { Clock } from "../../platform/clock.ts";
import { VerifyingKeys } from "../../platform/keys.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { parsedJsonBytes } from "../../shared/strict-json.ts";
import { fromBase64, fromBase64Url } from "../../shared/wire/v1/base64.ts";
import { ConnectGroupTicket } from "../../shared/wire/v1/proofs.ts";
import { ticketStatement } from "../../shared/wire/v1/signing.ts";
import { untimelyTicket } from "../../shared/wire/v1/timely.ts";
import { activeInstances } from "../directory/instances.ts";
import type { VersionGate } from "../directory/version-gate.ts";
import type { Store } from "../store/store.ts";

/** A ticket that holds, and where its instance can be asked. */
export interface Selection {
  ticket: ConnectGroupTicket;
  public_key: string;
  public_origin: string | null;
  /** Whether the service takes the instance's version of the product now. */
  isListed: boolean;
}

export interface TicketDependencies {
  store: Store;
  clock: Clock;
  gate: VersionGate;
  /** Canonical origin of this service, which every ticket signs. */
  origin: string;
}

const { connect } = LIMITS;

export class Tickets {
  readonly #deps: TicketDependencies;
  readonly #keys = new VerifyingKeys();

  constructor(deps: TicketDependencies) {
    this.#deps = deps;
  }

  /**
   * The selection of a ticket as a page's address has it. Throws `permission_denied` for another
   * member's, and `connect_group_denied` for one that can't be used.
   */
  async read(encoded: string, member: string): Promise<Selection> {
    const ticket = ticketOf(encoded);
    if (ticket === null) throw unusable("The address of this page is incomplete.");
    if (ticket.account_origin !== this.#deps.origin)
      throw unusable("It was made for another account service.");
    if (ticket.account_id !== member) {
      throw new Refusal("permission_denied", {
        specifics: "This Group was selected by the member of another account.",
        remedy: "Sign in as that member, or select a Group of one of your own instances.",
      });
    }
    return this.check(ticket);
  }

  /** The selection of a ticket, if it still holds. Throws `connect_group_denied`. */
  async check(ticket: ConnectGroupTicket): Promise<Selection> {
    const { store, clock, gate } = this.#deps;
    const untimely = untimelyTicket(ticket, clock.now());
    if (untimely !== null) throw unusable(`The selection ${untimely}.`);
    const row = await activeInstances(store.db)
      .where("connect_instances.device_id", "=", ticket.device_id)
      .where("connect_instances.instance_id", "=", ticket.instance_id)
      .where("connect_instances.member_id", "=", ticket.account_id)
      .executeTakeFirst();
    if (row === undefined) throw unusable("The instance of the selection is no longer in its account.");
    const key = this.#keys.of(row.public_key);
    if (!key.verify(ticketStatement.material(ticket), fromBase64(ticket.signature)!))
      throw unusable("The selection isn't signed by its instance.");
    const { public_key: publicKey, public_origin: publicOrigin, client_version: version } = row;
    return { ticket, public_key: publicKey, public_origin: publicOrigin, isListed: gate.lists(version) };
  }
}

/** The ticket in base64url JSON; null if it isn't one. */
function ticketOf(encoded: string): ConnectGroupTicket | null {
  const bytes = fromBase64Url(encoded);
  if (bytes === null || bytes.length > connect.groupTicketBytes) return null;
  return parsedJsonBytes(ConnectGroupTicket, bytes);
}

function unusable(specifics: string): Refusal {
  return new Refusal("connect_group_denied", {
    specifics,
    remedy: "Select the Group again on its instance.",
  });
}
