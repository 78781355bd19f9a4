/**
 * The receiving half of the peer protocol (docs/protocol.md#answers, docs/protocol.md#replies,
 * docs/protocol.md#cancellation, docs/protocol.md#authority; docs/protocol.md#peer-operations): an
 * authentic request becomes a signed answer, whichever transport brought it. What isn't authentic
 * is refused without a signature.
 */

import type { Clock } from "../../../platform/clock.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import { Refusal } from "../../../shared/errors.ts";
import { BlobBytes } from "../../../shared/wire/v1/blob-bytes.ts";
import {
  type ConnectPeerAuthorization,
  type ConnectPeerOperation,
  type ConnectPeerResponse,
  groupsOf,
} from "../../../shared/wire/v1/peer.ts";
import { responseStatement } from "../../../shared/wire/v1/signing.ts";
import type { OpenGroup } from "../../groups/group.ts";
import type { GroupRegistry } from "../../groups/registry.ts";
import type { InstanceIdentity } from "../../home/identity.ts";
import type { Chats, GroupChat } from "../../messaging/group-chat.ts";
import type { Authorities } from "../authorities.ts";
import type { Grant } from "../authority.ts";
import type {
  AdmittedRequest,
  AdmittingReceiver,
  BrokenRequest,
  PeerArrival,
  PeerRequest,
} from "../transport.ts";
import { contentOf, coversRefused, requestDigest } from "../wire/digests.ts";
import { PeerRefusal, peerRefusalOf } from "../wire/peer-refusal.ts";
import { signStatement } from "../wire/statements.ts";
import { ReceiverBounds } from "./receiver-bounds.ts";
import { cancel } from "./receiver-cancel.ts";
import { catalogPage } from "./receiver-catalog.ts";
import { deliver } from "./receiver-deliver.ts";
import { ReceiverGroups } from "./receiver-groups.ts";
import { checkDigest, ReceiverProof } from "./receiver-proof.ts";
import type { ReceiverQuota } from "./receiver-quota.ts";
import { type Admission, mayBeForgotten, receiptOf, receivedMessage } from "./receiver-receipt.ts";

export interface ReceiverDependencies {
  clock: Clock;
  log: Log;
  identity: Pick<InstanceIdentity, "instance_id" | "sign">;
  registry: Pick<GroupRegistry, "find" | "get" | "list">;
  chats: Chats;
  authorities: Pick<Authorities, "forBinding" | "forNewWork" | "inForce" | "heard" | "pinOf">;
  quota: Pick<ReceiverQuota, "spend">;
}

type OperationOf<Op extends ConnectPeerOperation["op"]> = Extract<ConnectPeerOperation, { op: Op }>;

export class Receiver implements AdmittingReceiver {
  readonly #deps: ReceiverDependencies;
  readonly #proof: ReceiverProof;
  readonly #bounds: ReceiverBounds;
  readonly #groups: ReceiverGroups;
  readonly #working = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(deps: ReceiverDependencies) {
    this.#deps = deps;
    this.#proof = new ReceiverProof(deps.identity.instance_id, deps.authorities);
    this.#bounds = new ReceiverBounds(deps.clock);
    this.#groups = new ReceiverGroups(deps.registry, deps.chats, deps.clock);
  }

  /**
   * Throws Refusal connect_peer_denied, connect_replayed, overloaded or shutting_down, which are
   * never signed.
   */
  receive(request: PeerRequest, arrival: PeerArrival): Promise<ConnectPeerResponse> {
    return this.#tracked(this.#receive(request, arrival));
  }

  /** Throws as `receive` does. */
  refuse(broken: BrokenRequest, arrival: PeerArrival): Promise<ConnectPeerResponse | null> {
    return this.#tracked(this.#inTurn(broken.proof, () => this.#refuse(broken, arrival)));
  }

  /**
   * As `receive`, for a request that came over the Web to another process. Throws invalid_args as
   * well, when the operation isn't for the Group that the other process names.
   */
  async receiveFor(groupId: string, request: PeerRequest): Promise<ConnectPeerResponse> {
    if (groupId !== (groupsOf(request.operation).target ?? "")) {
      const specifics = "'group_id' isn't the operation's Group.";
      throw new Refusal("invalid_args", { specifics, details: { field: "group_id" } });
    }
    return this.receive(request, { via: "web" });
  }

  /**
   * Decides by the proof alone, and waits for the peer's turn. Throws Refusal connect_peer_denied,
   * connect_replayed, overloaded or shutting_down.
   */
  async admit(proof: ConnectPeerAuthorization, arrival: PeerArrival): Promise<AdmittedRequest> {
    this.#checkOpen();
    this.#authenticate(arrival, "unread", () =>
      this.#proof.checkHeader(proof, arrival, this.#deps.clock.now()),
    );
    const leave = await this.#bounds.enter(proof.source_instance_id, proof.request_id);
    return {
      receive: (operation) => this.#tracked(this.#admitted({ proof, operation }, arrival)),
      refuse: (broken) => this.#tracked(this.#refuse({ proof, ...broken }, arrival)),
      leave,
    };
  }

  /** Refuses later requests. Resolves when running ones have their answers. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#working);
  }

  async #receive(request: PeerRequest, arrival: PeerArrival): Promise<ConnectPeerResponse> {
    const { proof, operation } = request;
    this.#checkOpen();
    this.#authenticate(arrival, operation.op, () => this.#check(request, arrival));
    return this.#inTurn(proof, () => this.#answer(request));
  }

  /** Throws connect_replayed or overloaded. */
  async #inTurn<Result>(proof: ConnectPeerAuthorization, step: () => Promise<Result>): Promise<Result> {
    const leave = await this.#bounds.enter(proof.source_instance_id, proof.request_id);
    try {
      return await step();
    } finally {
      leave();
    }
  }

  async #refuse(
    { proof, operation, problem }: BrokenRequest,
    arrival: PeerArrival,
  ): Promise<ConnectPeerResponse | null> {
    this.#checkOpen();
    const { clock, log } = this.#deps;
    this.#authenticate(arrival, "broken", () => this.#proof.checkHeader(proof, arrival, clock.now()));
    if (!(await coversRefused(proof.operation_sha256, operation))) return null;
    log.warn("peer_refused", { via: arrival.via, why: problem });
    const { code, message } = new PeerRefusal("connect_message_invalid", problem);
    return this.#sign(proof, { ok: false, error: { code, message } });
  }

  /** What was in force when it was admitted may have ended while the operation arrived. */
  async #admitted(request: PeerRequest, arrival: PeerArrival): Promise<ConnectPeerResponse> {
    this.#checkOpen();
    this.#authenticate(arrival, request.operation.op, () => this.#check(request, arrival));
    return this.#answer(request);
  }

  async #answer(request: PeerRequest): Promise<ConnectPeerResponse> {
    const { proof, operation } = request;
    try {
      const done = this.#run(request);
      const written = writtenGroup(operation);
      // From now on a receipt query waits for it, however long the digest of its files takes.
      if (written !== null) this.#groups.admit(written, done);
      return this.#sign(proof, { ok: true, result: await done });
    } catch (error) {
      // Only what happens after the digest is checked is a business error.
      if (error instanceof Refusal && error.code === "connect_peer_denied") throw error;
      const refusal = this.#refusalOf(error, operation);
      return this.#sign(proof, { ok: false, error: { code: refusal.code, message: refusal.message } });
    }
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new Refusal("shutting_down");
  }

  #tracked<Result>(done: Promise<Result>): Promise<Result> {
    this.#working.add(done);
    const ended = (): void => void this.#working.delete(done);
    done.then(ended, ended);
    return done;
  }

  #check(request: PeerRequest, arrival: PeerArrival): void {
    const { clock, authorities } = this.#deps;
    const now = clock.now();
    authorities.heard(this.#proof.check(request, arrival, now), now);
  }

  #authenticate(arrival: PeerArrival, operation: string, check: () => void): void {
    try {
      check();
    } catch (error) {
      if (error instanceof Refusal) {
        const why = typeof error.cause === "string" ? error.cause : error.code;
        this.#deps.log.warn("peer_denied", { via: arrival.via, operation, why });
      }
      throw error;
    }
  }

  /** Writes a message or cancellation as JSON once, for its proof and its receipt. */
  async #run(request: PeerRequest): Promise<unknown> {
    const { proof, operation } = request;
    switch (operation.op) {
      case "catalog":
        await checkDigest(request);
        return this.#catalog(proof, operation, this.#stillGranted(proof, operation));
      case "receipt":
        await checkDigest(request);
        return this.#receipt(proof, operation);
      case "deliver": {
        const { blobs } = operation;
        const message = contentOf(operation.message);
        await checkDigest(request, message.json);
        const bytes = blobs.reduce(
          (sum, { base64 }) => sum + sizeOf(base64),
          Buffer.byteLength(message.json),
        );
        return this.#write(proof, operation, message.value.target.group_id, (chat, admission) =>
          deliver(chat, { message, blobs }, admission, () => this.#spend(proof, bytes)),
        );
      }
      case "cancel": {
        const cancellation = contentOf(operation.cancellation);
        await checkDigest(request, cancellation.json);
        const spend = (): void => this.#spend(proof, Buffer.byteLength(cancellation.json));
        return this.#write(proof, operation, cancellation.value.target.group_id, (chat, admission) =>
          cancel(chat, cancellation, admission(), spend),
        );
      }
    }
  }

  #spend(
    { connection_id: connectionId, source_instance_id: sourceInstanceId }: ConnectPeerAuthorization,
    bytes: number,
  ): void {
    this.#deps.quota.spend(connectionId ?? sourceInstanceId, bytes);
  }

  /**
   * Over a pair only its own Group. Within the account the one that is named, or all but those that
   * the asking Group reaches only directly (PEER-016, PEER-017, DRC-094).
   */
  #catalog(
    { source_instance_id: instanceId }: ConnectPeerAuthorization,
    { source_group_id: sourceGroupId, target_group_id: targetGroupId, after }: OperationOf<"catalog">,
    grant: Grant,
  ): unknown {
    const named = grant.pair?.local_group_id ?? targetGroupId;
    if (named !== null) return catalogPage([this.#groups.read(named).group], after);
    const isOffered = ({ group_id: groupId }: OpenGroup): boolean =>
      this.#deps.authorities.pinOf({
        connection_id: grant.connection_id,
        local_group_id: groupId,
        remote_group_id: sourceGroupId,
        remote_instance_id: instanceId,
      }) === null;
    return catalogPage(this.#groups.ordered().filter(isOffered), after);
  }

  async #receipt(proof: ConnectPeerAuthorization, operation: OperationOf<"receipt">): Promise<unknown> {
    const {
      delivery_id: deliveryId,
      message_sha256: messageSha256,
      source_group_id: sourceGroupId,
      target_group_id: targetGroupId,
    } = operation;
    await this.#groups.settled(targetGroupId);
    const grant = this.#stillGranted(proof, operation);
    const chat = this.#groups.read(targetGroupId);
    const event = receivedMessage(chat, proof.source_instance_id, deliveryId);
    if (event === null) {
      // It may be among the events that are missing.
      chat.ledger.checkWritable();
      // PEER-042.
      const now = this.#deps.clock.now();
      if (mayBeForgotten(chat, { grant, now }, now)) {
        throw new PeerRefusal("connect_peer_denied", "What had arrived in the Group was forgotten since.");
      }
      return { receipt: null };
    }
    const { connect_message: message, connect_message_sha256: sha256, src_group_id: groupId } = event.data;
    const isSame = sha256 === messageSha256 && groupId === sourceGroupId;
    if (!isSame || message?.connection_id !== proof.connection_id) {
      throw new PeerRefusal("connect_content_conflict");
    }
    return { receipt: receiptOf(event, { delivery_id: deliveryId, sha256: messageSha256 }) };
  }

  /** Runs under the exclusive lock. `step` checks what is in force then. */
  #write<Result>(
    proof: ConnectPeerAuthorization,
    operation: ConnectPeerOperation,
    groupId: string,
    step: (chat: GroupChat, admission: () => Admission) => Promise<Result>,
  ): Promise<Result> {
    return this.#groups.write(groupId, (chat) =>
      step(chat, () => ({ grant: this.#stillGranted(proof, operation), now: this.#deps.clock.now() })),
    );
  }

  /**
   * A grant may have ended while the request waited: a live channel doesn't keep it authorized
   * (DRC-060).
   */
  #stillGranted(proof: ConnectPeerAuthorization, operation: ConnectPeerOperation): Grant {
    const grant = this.#proof.grantOf(proof, operation);
    if (grant === null) throw new PeerRefusal("connect_peer_denied");
    return grant;
  }

  #refusalOf(error: unknown, operation: ConnectPeerOperation): PeerRefusal {
    const refusal = peerRefusalOf(error);
    if (refusal === null) {
      this.#deps.log.error("receive", { operation: operation.op, ...errorFields(error) });
      return new PeerRefusal("io_error");
    }
    if (refusal.code === "io_error") {
      this.#deps.log.warn("receive", { operation: operation.op, ...errorFields(error) });
    }
    return refusal;
  }

  #sign(proof: ConnectPeerAuthorization, result: ConnectPeerResponse["result"]): ConnectPeerResponse {
    return signStatement(responseStatement, this.#deps.identity, {
      request_id: proof.request_id,
      request_sha256: requestDigest(proof),
      result,
    });
  }
}

/** The Group that an operation writes into; null if it only reads. */
function writtenGroup(operation: ConnectPeerOperation): string | null {
  if (operation.op === "deliver") return operation.message.target.group_id;
  return operation.op === "cancel" ? operation.cancellation.target.group_id : null;
}

/** Bytes of a file that came as they are or as base64. */
function sizeOf(base64: BlobBytes | string): number {
  return base64 instanceof BlobBytes ? base64.bytes : base64.length;
}
