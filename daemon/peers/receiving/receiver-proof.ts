/**
 * Whether a request is authentic: everything that is checked before a peer gets a signed answer
 * (docs/protocol.md#answers, docs/protocol.md#authority).
 */

import { type VerifyingKey, VerifyingKeys } from "../../../platform/keys.ts";
import { Refusal } from "../../../shared/errors.ts";
import { bindingProblem } from "../../../shared/wire/v1/binding.ts";
import { isDirect } from "../../../shared/wire/v1/fields.ts";
import {
  type ConnectPeerAuthorization,
  type ConnectPeerOperation,
  groupsOf,
} from "../../../shared/wire/v1/peer.ts";
import { requestStatement } from "../../../shared/wire/v1/signing.ts";
import { milliseconds } from "../../../shared/wire/v1/time.ts";
import { untimelyRequest } from "../../../shared/wire/v1/timely.ts";
import type { Authorities } from "../authorities.ts";
import type { Grant } from "../authority.ts";
import type { PeerArrival, PeerRequest } from "../transport.ts";
import { operationDigest } from "../wire/digests.ts";
import { verifyStatement } from "../wire/statements.ts";

type Grants = Pick<Authorities, "forBinding" | "forNewWork" | "inForce">;

export class ReceiverProof {
  readonly #instanceId: string;
  readonly #authorities: Grants;
  readonly #keys = new VerifyingKeys();

  constructor(instanceId: string, authorities: Grants) {
    this.#instanceId = instanceId;
    this.#authorities = authorities;
  }

  /**
   * The grant that the request's signer has now. `checkDigest` checks the operation's digest.
   * Throws connect_peer_denied, which gives the peer no reason. The reason is `why`, for the log.
   */
  check({ proof, operation }: PeerRequest, arrival: PeerArrival, now: number): Grant {
    this.#checkProof(proof, arrival, now);
    const problem = bindingProblem(proof, operation);
    if (problem !== null) throw denied(problem);
    const grant = this.grantOf(proof, operation);
    if (grant === null) throw denied("has no grant");
    this.#checkSigner(proof, grant);
    return grant;
  }

  /**
   * As `check`, before the operation has arrived: whether anything signed by this peer may arrive
   * at all. Says nothing about Groups.
   */
  checkHeader(proof: ConnectPeerAuthorization, arrival: PeerArrival, now: number): void {
    this.#checkProof(proof, arrival, now);
    const grants = this.#authorities.inForce(proof.connection_id ?? null);
    const grant = grants.find((one) => isSigner(one, proof));
    if (grant === undefined) throw denied("has no grant");
    this.#checkSigner(proof, grant);
  }

  #checkProof(proof: ConnectPeerAuthorization, arrival: PeerArrival, now: number): void {
    if (proof.target_instance_id !== this.#instanceId) throw denied("is for another instance");
    const { connection_id: connectionId } = proof;
    if (arrival.via === "web" && isDirect(connectionId)) throw denied("is for Direct, but came over the Web");
    if (
      arrival.via === "direct" &&
      (connectionId !== arrival.connection_id || proof.source_instance_id !== arrival.instance_id)
    ) {
      throw denied("doesn't belong to its channel");
    }
    const untimely = untimelyRequest(proof, now);
    if (untimely !== null) throw isByClock(proof) ? otherTime(untimely, now) : denied(untimely);
  }

  #checkSigner(proof: ConnectPeerAuthorization, grant: Grant): void {
    if (!isSigner(grant, proof) || grant.local.instance_id !== this.#instanceId)
      throw denied("doesn't belong to its grant");
    const key = this.#key(grant.remote.public_key);
    if (key?.instance_id !== proof.source_instance_id) throw denied("has no usable key");
    if (!verifyStatement(requestStatement, key, proof)) throw denied("has a wrong signature");
  }

  /** The grant that is in force for the request at this moment, or null. */
  grantOf(proof: ConnectPeerAuthorization, operation: ConnectPeerOperation): Grant | null {
    const { source, target } = groupsOf(operation);
    const binding = {
      connection_id: proof.connection_id ?? null,
      local_group_id: target ?? "",
      remote_group_id: source,
      remote_instance_id: proof.source_instance_id,
      local_device_id: proof.target_device_id ?? "",
      remote_device_id: proof.source_device_id ?? "",
    };
    // What became of an earlier message may be asked as before.
    const state =
      operation.op === "receipt"
        ? this.#authorities.forBinding(binding)
        : this.#authorities.forNewWork(binding, writtenAt(operation));
    if (state.state !== "granted") return null;
    const { pair } = state.grant;
    if (pair !== null && (pair.local_group_id !== target || pair.remote_group_id !== source)) return null;
    return state.grant;
  }

  #key(publicKey: string): VerifyingKey | null {
    try {
      return this.#keys.of(publicKey);
    } catch {
      return null;
    }
  }
}

/** Throws connect_peer_denied unless the proof covers this operation. */
export async function checkDigest({ proof, operation }: PeerRequest, json?: string): Promise<void> {
  if ((await operationDigest(operation, json)) !== proof.operation_sha256)
    throw denied("covers another operation");
}

/** When the work in it was written, in milliseconds since 1970; undefined for a catalog. */
function writtenAt(operation: ConnectPeerOperation): number | undefined {
  if (operation.op === "deliver") return milliseconds(operation.message.created_at);
  return operation.op === "cancel" ? milliseconds(operation.cancellation.created_at) : undefined;
}

function isSigner(
  { remote, local, account_origin: accountOrigin, account_id: accountId, connection_id: connectionId }: Grant,
  proof: ConnectPeerAuthorization,
) {
  return (
    remote.instance_id === proof.source_instance_id &&
    remote.device_id === (proof.source_device_id ?? "") &&
    local.device_id === (proof.target_device_id ?? "") &&
    accountOrigin === (proof.account_origin ?? "") &&
    accountId === (proof.account_id ?? "") &&
    connectionId === (proof.connection_id ?? null)
  );
}

/**
 * By this clock it is too early or too late for the request. Nothing else is wrong with its times.
 */
function isByClock(proof: ConnectPeerAuthorization): boolean {
  return untimelyRequest(proof, milliseconds(proof.issued_at)) === null;
}

/** What this clock shows is no secret, and without it the people there couldn't find the cause. */
function otherTime(why: string, now: number): Refusal {
  const details = { now: new Date(now).toISOString() };
  return new Refusal("connect_clock_differs", { cause: why, details });
}

/**
 * The peer, which may be anyone, learns only the catalogue's sentence. The cause is for the log.
 */
function denied(why: string): Refusal {
  return new Refusal("connect_peer_denied", { cause: why });
}
