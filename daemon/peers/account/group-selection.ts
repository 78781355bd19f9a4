/**
 * Selecting one of this instance's Groups for a connection to another account: the signed ticket
 * that the person takes to the account service, and the answer when the service asks whether the
 * Group is still that one (docs/protocol.md#signatures).
 */
import { createHash } from "node:crypto";
import * as z from "zod";
import type { Clock } from "../../../platform/clock.ts";
import { VerifyingKey } from "../../../platform/keys.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { toBase64Url } from "../../../shared/wire/v1/base64.ts";
import { Uuid } from "../../../shared/wire/v1/fields.ts";
import { type ConnectGroupCheck, ConnectGroupTicket } from "../../../shared/wire/v1/proofs.ts";
import { groupCheckStatement, ticketStatement } from "../../../shared/wire/v1/signing.ts";
import { untimelyTicket, validity } from "../../../shared/wire/v1/timely.ts";
import type { GroupRegistry } from "../../groups/registry.ts";
import { type Signer, signStatement, verifyStatement } from "../wire/statements.ts";
import type { AccountDirectory } from "./account-directory.ts";
import type { Membership } from "./membership.ts";

interface Dependencies {
  clock: Clock;
  identity: Signer & { instance_id: string; public_key: string };
  membership: Membership;
  directory: Pick<AccountDirectory, "current" | "trouble">;
  registry: Pick<GroupRegistry, "find" | "get" | "knows">;
}

const { connect } = LIMITS;
const Question = z.strictObject({ ticket: ConnectGroupTicket, nonce: Uuid });

export class GroupSelection {
  readonly #deps: Dependencies;
  readonly #key: VerifyingKey;

  constructor(deps: Dependencies) {
    this.#deps = deps;
    this.#key = VerifyingKey.admit(deps.identity.public_key);
  }

  /**
   * The page on which a person goes on with the selected Group. Shares nothing. Throws
   * group_not_found, group_unavailable, conflict without a binding, connect_unavailable.
   */
  select(groupId: string, invitation: string | undefined): string {
    const { clock, identity, membership, directory, registry } = this.#deps;
    const { group_id: id, title, generation } = registry.get(groupId).record;
    const { binding } = membership;
    if (binding === null) {
      const specifics = "This instance isn't linked to an account.";
      throw new Refusal("conflict", { specifics, remedy: "Link it with 'svc link'." });
    }
    const { current } = directory;
    const self = current?.instances.find((entry) => entry.instance_id === identity.instance_id);
    if (current === null || self === undefined) {
      const specifics = directory.trouble ?? "The account service hasn't confirmed this instance yet.";
      throw new Refusal("connect_unavailable", { specifics });
    }
    const ticket = signStatement(ticketStatement, identity, {
      account_origin: binding.account_origin,
      account_id: current.account_id,
      instance_id: identity.instance_id,
      instance_name: self.display_name,
      device_id: binding.device_id,
      group_id: id,
      group_generation: generation,
      title: shortTitle(title),
      ...validity(clock.now(), connect.ticketSeconds),
    });
    const selected = `ticket=${toBase64Url(Buffer.from(JSON.stringify(ticket)))}`;
    const invited = invitation === undefined ? "" : `&invitation=${invitation}`;
    return `${binding.account_origin}/connect/select?${selected}${invited}`;
  }

  /**
   * Whether the ticket's Group is still the selected one. Throws invalid_request,
   * connect_group_denied, connect_group_unavailable. What isn't this instance's own valid ticket is
   * refused before any Group is looked at (EXT-072).
   */
  check(body: unknown): ConnectGroupCheck {
    const question = Question.safeParse(body);
    if (!question.success)
      throw new Refusal("invalid_request", { specifics: "The body isn't a ticket with a nonce." });
    const { clock, identity, membership, registry } = this.#deps;
    const { ticket, nonce } = question.data;
    if (membership.problem !== null) throw new Refusal("connect_group_unavailable");
    const { binding } = membership;
    const isOwn =
      binding?.account_origin === ticket.account_origin &&
      binding.device_id === ticket.device_id &&
      identity.instance_id === ticket.instance_id &&
      untimelyTicket(ticket, clock.now()) === null &&
      verifyStatement(ticketStatement, this.#key, ticket);
    if (!isOwn) throw new Refusal("connect_group_denied");
    const group = registry.find(ticket.group_id);
    if (group === undefined) {
      throw new Refusal(
        registry.knows(ticket.group_id) ? "connect_group_unavailable" : "connect_group_denied",
      );
    }
    if (group.record.generation !== ticket.group_generation) throw new Refusal("connect_group_denied");
    return signStatement(groupCheckStatement, identity, {
      ticket_sha256: createHash("sha256").update(ticketStatement.material(ticket)).digest("hex"),
      nonce,
      title: shortTitle(group.record.title),
      expires_at: new Date(clock.now() + connect.groupCheckSeconds * 1000).toISOString(),
    });
  }
}

/** As much of a title as there is room for. It is a label. */
function shortTitle(title: string): string {
  const characters = Array.from(title);
  while (Buffer.byteLength(JSON.stringify(characters.join(""))) > connect.groupTitleBytes)
    characters.length = Math.floor(characters.length * 0.9);
  return characters.join("");
}
