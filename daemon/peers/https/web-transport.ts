/**
 * Requests to other instances over their advertised Web origins (docs/protocol.md#authority): the
 * target proves its identity first, then gets the request. No redirect is followed, and no
 * credential goes along.
 */
import type { Clock } from "../../../platform/clock.ts";
import type { HttpClient, HttpOutcome } from "../../../platform/http/client.ts";
import { VerifyingKeys } from "../../../platform/keys.ts";
import type { Random } from "../../../platform/random.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { API_PREFIX, HEADERS } from "../../../shared/names.ts";
import { parsedJsonBytes } from "../../../shared/strict-json.ts";
import { toBase64Url } from "../../../shared/wire/v1/base64.ts";
import { ConnectPeerAnswer, type ConnectPeerOperation } from "../../../shared/wire/v1/peer.ts";
import { ConnectIdentityProof } from "../../../shared/wire/v1/proofs.ts";
import { identityStatement } from "../../../shared/wire/v1/signing.ts";
import { untimelyIdentity } from "../../../shared/wire/v1/timely.ts";
import type { PeerOutcome, PeerRequest, PeerRoute, PeerTransport } from "../transport.ts";
import { jsonParts } from "../wire/json-parts.ts";
import { isSignedBy } from "../wire/statements.ts";

interface Dependencies {
  clock: Clock;
  random: Random;
  http: HttpClient;
}

type WebRoute = Extract<PeerRoute, { via: "web" }>;

const { connect } = LIMITS;
const NOTHING = Buffer.alloc(0);

export class WebTransport implements PeerTransport {
  readonly #deps: Dependencies;
  readonly #keys = new VerifyingKeys();

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  async request(
    route: PeerRoute,
    request: PeerRequest,
    deadline: number,
    signal: AbortSignal,
  ): Promise<PeerOutcome> {
    if (route.via !== "web") return refused("That connection has another way.");
    try {
      const { stranger } = await this.challenge(route, deadline, signal);
      if (stranger !== null) return refused(stranger);
      return await this.#post(route, request, deadline, signal);
    } catch {
      // A file that can't be read: the request isn't built before anything is known of it.
      return { kind: "uncertain", reason: "The request couldn't be written." };
    }
  }

  /** Over HTTPS nobody tells when a peer comes back. */
  onReachable(): () => void {
    return () => {};
  }

  /**
   * Asks whoever answers at the route's origin for its identity. `stranger` says why it isn't the
   * instance of the route, null if it is. Never rejects.
   */
  async challenge(
    route: WebRoute,
    deadline: number,
    signal: AbortSignal,
  ): Promise<{ stranger: string | null }> {
    const { clock, random, http } = this.#deps;
    const { origin, instance_id: instanceId, device_id: deviceId } = route;
    const nonce = random.uuid();
    const outcome = await http.request({
      method: "GET",
      url: `${origin}${API_PREFIX}/connect/identity?nonce=${nonce}`,
      headers: {},
      body: null,
      limit: connect.identityAnswerBytes,
      milliseconds: Math.min(connect.identityAnswerSeconds * 1000, this.#left(deadline)),
      signal,
    });
    if (outcome.kind === "failed") return { stranger: `${origin}: ${outcome.reason}` };
    const proof = parsedJsonBytes(ConnectIdentityProof, outcome.body);
    if (outcome.status !== 200 || proof === null) {
      return { stranger: `${origin}: What answers there isn't an instance (status ${outcome.status}).` };
    }
    const problem =
      proof.nonce !== nonce
        ? "It answers another question."
        : proof.instance_id !== instanceId
          ? "Another instance answers there."
          : proof.device_id !== deviceId
            ? "It is linked to the account in another way by now."
            : proof.public_origin !== origin
              ? "It says that it is reached elsewhere."
              : isSignedBy(identityStatement, route, proof, this.#keys)
                ? untimely(proof, clock.now())
                : "Its proof isn't signed with the instance's key.";
    return { stranger: problem === null ? null : `${origin}: ${problem}` };
  }

  async #post(
    { origin }: WebRoute,
    { proof, operation }: PeerRequest,
    deadline: number,
    signal: AbortSignal,
  ): Promise<PeerOutcome> {
    const milliseconds = this.#left(deadline);
    if (milliseconds <= 0) return refused(`${origin}: It took too long to prove its identity.`);
    const header = toBase64Url(Buffer.from(JSON.stringify(proof)));
    const body = jsonParts(operation, operation.op === "deliver" ? operation.blobs : [], NOTHING);
    try {
      if (body.bytes > connect.bodyBytes) return refused("The request is too large.");
      const outcome = await this.#deps.http.request({
        method: "POST",
        url: `${origin}${API_PREFIX}/connect/peer`,
        headers: { "content-type": "application/json", [HEADERS.connectProof]: header },
        body,
        limit: answerLimit(operation),
        milliseconds,
        signal,
      });
      return peerOutcome(outcome, origin);
    } finally {
      body.parts.return();
    }
  }

  #left(deadline: number): number {
    return Math.max(0, deadline - this.#deps.clock.monotonic());
  }
}

function answerLimit({ op }: ConnectPeerOperation): number {
  return op === "catalog" ? connect.catalogAnswerBytes : connect.answerBytes;
}

function peerOutcome(outcome: HttpOutcome, origin: string): PeerOutcome {
  if (outcome.kind === "failed") {
    const reason = `${origin}: ${outcome.reason}`;
    if (!outcome.escaped) return refused(reason);
    return { kind: outcome.why === "timeout" ? "timed_out" : "uncertain", reason };
  }
  const answer = parsedJsonBytes(ConnectPeerAnswer, outcome.body);
  if (answer === null) {
    const reason = `${origin}: The answer isn't an instance's (status ${outcome.status}).`;
    return { kind: "uncertain", reason };
  }
  if (answer.ok) return { kind: "answered", response: answer.result.response };
  return { kind: "denied", ...answer.error };
}

function refused(reason: string): PeerOutcome {
  return { kind: "refused", reason };
}

function untimely(proof: ConnectIdentityProof, now: number): string | null {
  const why = untimelyIdentity(proof, now);
  return why === null ? null : `Its proof ${why}. Check the clocks of both machines.`;
}
