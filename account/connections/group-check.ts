/**
 * Asks the instance of a selection whether the Group is still the one that was selected
 * (docs/protocol.md#signatures). Nothing is connected without its fresh, signed word.
 */
import { createHash } from "node:crypto";
import type { Clock } from "../../platform/clock.ts";
import type { HttpClient, HttpOutcome } from "../../platform/http/client.ts";
import { VerifyingKeys } from "../../platform/keys.ts";
import type { Random } from "../../platform/random.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { API_PREFIX } from "../../shared/names.ts";
import { parsedJsonBytes } from "../../shared/strict-json.ts";
import { AccountRefusal } from "../../shared/wire/v1/account.ts";
import { fromBase64 } from "../../shared/wire/v1/base64.ts";
import { ConnectGroupCheck } from "../../shared/wire/v1/proofs.ts";
import { groupCheckStatement, ticketStatement } from "../../shared/wire/v1/signing.ts";
import { untimelyGroupCheck } from "../../shared/wire/v1/timely.ts";
import type { Selection } from "./tickets.ts";

export interface GroupCheckDependencies {
  clock: Clock;
  random: Random;
  http: HttpClient;
  /** Ends every question. */
  signal: AbortSignal;
}

/** Whose instance, to the member who acts. */
const SIDES = { own: "The instance of your Group", other: "The instance of the other Group" };

export class GroupChecks {
  readonly #deps: GroupCheckDependencies;
  readonly #keys = new VerifyingKeys();

  constructor(deps: GroupCheckDependencies) {
    this.#deps = deps;
  }

  /**
   * Throws `connect_group_denied` if the instance itself says so, and `connect_group_unavailable`
   * for everything else: then the same selection may succeed later.
   */
  async confirm(selection: Selection, side: keyof typeof SIDES): Promise<void> {
    const { ticket, public_key: publicKey, public_origin: origin, isListed } = selection;
    const unavailable = (what: string) =>
      new Refusal("connect_group_unavailable", { specifics: `${SIDES[side]} ${what}` });
    if (!isListed) throw unavailable("has a version of svc that this service doesn't take. Update it there.");
    if (origin === null)
      throw unavailable(
        "has no address at which this service can ask it. Set one there with 'svc origin set https://HOST'.",
      );
    const { clock, random, http, signal } = this.#deps;
    const nonce = random.uuid();
    const body = Buffer.from(JSON.stringify({ ticket, nonce }));
    const outcome = await http.request({
      method: "POST",
      url: `${origin}${API_PREFIX}/connect/group-check`,
      headers: { accept: "application/json", "content-type": "application/json" },
      body: { bytes: body.length, parts: [body] },
      limit: LIMITS.connect.groupProofBytes,
      milliseconds: LIMITS.account.groups.checkSeconds * 1000,
      signal,
    });
    if (outcome.kind === "failed") throw unavailable("can't be reached by this service right now.");
    if (isDenial(outcome)) throw new Refusal("connect_group_denied");
    const check = outcome.status === 200 ? parsedJsonBytes(ConnectGroupCheck, outcome.body) : null;
    const digest = createHash("sha256").update(ticketStatement.material(ticket)).digest("hex");
    const holds =
      check !== null &&
      check.nonce === nonce &&
      check.ticket_sha256 === digest &&
      untimelyGroupCheck(check, clock.now()) === null &&
      this.#keys.of(publicKey).verify(groupCheckStatement.material(check), fromBase64(check.signature)!);
    if (!holds) throw unavailable("doesn't confirm the Group right now.");
  }
}

/** The instance's own refusal. A bare 403 of a proxy isn't one (ERR-010). */
function isDenial({ status, body }: Extract<HttpOutcome, { kind: "answered" }>): boolean {
  return status === 403 && parsedJsonBytes(AccountRefusal, body)?.error.code === "connect_group_denied";
}
