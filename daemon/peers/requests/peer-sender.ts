/**
 * One signed request to a peer and its verified answer (docs/protocol.md#signatures,
 * docs/protocol.md#peer-operations).
 */

import type { Clock } from "../../../platform/clock.ts";
import { VerifyingKeys } from "../../../platform/keys.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import type { Random } from "../../../platform/random.ts";
import type { ErrorCode } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { ConnectPeerOperation, ConnectPeerResponse } from "../../../shared/wire/v1/peer.ts";
import { requestStatement, responseStatement } from "../../../shared/wire/v1/signing.ts";
import { validity } from "../../../shared/wire/v1/timely.ts";
import type { Authorities } from "../authorities.ts";
import type { Grant } from "../authority.ts";
import { operationDigest, requestDigest } from "../wire/digests.ts";
import { isSignedBy, type Signer, signStatement } from "../wire/statements.ts";
import { said } from "./peer-words.ts";

/**
 * What is known after a request:
 * - `result` and `error` are the target's own signed answer. The message of an error quotes it, for
 *   people.
 * - `not_sent`: the target can't have received it.
 * - `unknown`: it may have received it. `reason` is for people. An answer that isn't signed by the
 *   target, or belongs to another request, counts as no answer (rule 7). So does a refusal without
 *   a signature, though its words may help.
 */
export type Answer =
  | { kind: "result"; result: unknown }
  | { kind: "error"; code: string; message: string }
  | { kind: "not_sent"; reason: string }
  | { kind: "unknown"; reason: string };

interface Dependencies {
  clock: Clock;
  random: Random;
  log: Log;
  identity: Signer;
  /** Notes whether the peer knows this instance. */
  contacts: Pick<Authorities, "answered" | "denied">;
}

interface Circumstances {
  /** Of the files that go with it. */
  bytes?: number;
  /** Called before the request leaves and when its answer has arrived. */
  isStillGranted: () => boolean;
  operation_sha256?: string;
  /** `Clock.monotonic()` at which the wait for the answer ends, if that is sooner than usual. */
  until?: number;
}

/** Allows a slow line this much more time for each of these bytes of a Direct request. */
const BYTES_PER_SECOND = 256 * 1024;

const DENIED: ErrorCode = "connect_peer_denied";

export class PeerSender {
  readonly #deps: Dependencies;
  readonly #keys = new VerifyingKeys();

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /**
   * Never rejects. `signal` ends the wait at shutdown. `operation_sha256` is the operation's digest
   * if known.
   */
  async ask(
    grant: Grant,
    operation: ConnectPeerOperation,
    signal: AbortSignal,
    {
      bytes = 0,
      isStillGranted,
      operation_sha256: operationSha256,
      until = Number.POSITIVE_INFINITY,
    }: Circumstances,
  ): Promise<Answer> {
    const { route, transport } = grant;
    if (route === null) return { kind: "not_sent", reason: "The other instance can't be reached right now." };
    const { clock, log } = this.#deps;
    try {
      const digest = operationSha256 ?? (await operationDigest(operation));
      if (signal.aborted) return { kind: "not_sent", reason: "The daemon is shutting down." };
      // Waiting for the digest of files or for the disk may have taken a while.
      if (!isStillGranted()) {
        return { kind: "not_sent", reason: "The connection ended before the request left." };
      }
      const proof = this.#prove(grant, digest);
      const seconds = LIMITS.connect.requestSeconds;
      const slow = route.via === "direct" ? bytes / BYTES_PER_SECOND : 0;
      const wait = Math.min(seconds + slow, LIMITS.connect.proofSeconds) * 1000;
      const deadline = Math.min(clock.monotonic() + wait, until);
      const outcome = await transport.request(route, { proof, operation }, deadline, signal);
      if (outcome.kind === "refused") return { kind: "not_sent", reason: outcome.reason };
      if (outcome.kind === "denied") {
        if (outcome.code === DENIED) this.#deps.contacts.denied(grant);
        return { kind: "unknown", reason: said(grant, outcome.message) };
      }
      if (outcome.kind !== "answered") return { kind: "unknown", reason: outcome.reason };
      const { response } = outcome;
      const problem = this.#problemOf(response, grant, proof);
      if (problem !== null) return { kind: "unknown", reason: problem };
      this.#deps.contacts.answered(grant, clock.now());
      if (!isStillGranted()) {
        return { kind: "unknown", reason: "The connection ended before the answer came." };
      }
      const { result } = response;
      if (result.ok) return { kind: "result", result: result.result };
      return { kind: "error", code: result.error.code, message: said(grant, result.error.message) };
    } catch (error) {
      log.error("peer_request", { op: operation.op, ...errorFields(error) });
      return { kind: "unknown", reason: "The request couldn't be created." };
    }
  }

  #prove(grant: Grant, operationSha256: string) {
    const { clock, random, identity } = this.#deps;
    const isDirect = grant.authority === "direct";
    return signStatement(requestStatement, identity, {
      ...(grant.connection_id === null ? {} : { connection_id: grant.connection_id }),
      ...(isDirect ? {} : { account_origin: grant.account_origin, account_id: grant.account_id }),
      source_instance_id: grant.local.instance_id,
      ...(isDirect ? {} : { source_device_id: grant.local.device_id }),
      target_instance_id: grant.remote.instance_id,
      ...(isDirect ? {} : { target_device_id: grant.remote.device_id }),
      request_id: random.uuid(),
      ...validity(clock.now(), LIMITS.connect.proofSeconds),
      operation_sha256: operationSha256,
    });
  }

  /** What is wrong with an answer; null when it is the target's, to this request. */
  #problemOf(
    response: ConnectPeerResponse,
    { remote }: Grant,
    proof: Parameters<typeof requestDigest>[0],
  ): string | null {
    if (response.request_id !== proof.request_id || response.request_sha256 !== requestDigest(proof)) {
      return "The answer is for another request.";
    }
    if (!isSignedBy(responseStatement, remote, response, this.#keys)) {
      return "The answer isn't signed by the other instance.";
    }
    return null;
  }
}
