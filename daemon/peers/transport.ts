/**
 * How a request gets to a peer and how one arrives: what the Direct channel and the HTTPS peer path
 * implement (docs/protocol.md#authority). A transport carries bytes; it grants nothing, signs
 * nothing and verifies no signature of a request or response.
 */
import type {
  ConnectPeerAuthorization,
  ConnectPeerOperation,
  ConnectPeerResponse,
} from "../../shared/wire/v1/peer.ts";

/**
 * One signed request. `proof.operation_sha256` covers `operation` as serialised in declared order.
 */
export interface PeerRequest {
  proof: ConnectPeerAuthorization;
  operation: ConnectPeerOperation;
}

/**
 * A request whose operation, as it arrived, breaks a rule of its contents. `problem` is for people
 * at the peer.
 */
export interface BrokenRequest {
  proof: ConnectPeerAuthorization;
  operation: unknown;
  problem: string;
}

/** Where a request goes: what an authority knows about the route to a peer. */
export type PeerRoute =
  /** The channel of this Direct connection. */
  | { via: "direct"; connection_id: string; instance_id: string }
  /** The peer's advertised Web origin; the transport challenges the identity first. */
  | { via: "web"; origin: string; instance_id: string; device_id: string; public_key: string };

/**
 * What became of a request. Only `refused` says that the peer can't have received it, so only then
 * may the sender resend a body without asking for a receipt (rule 7): when in doubt a transport
 * says `uncertain` or `timed_out`.
 * - `answered`: an envelope came back that is well-formed; its signature is the sender's to verify.
 * - `denied`: the peer refused without a signature, in its own words. It may have the body, so this
 *   is as uncertain as no answer.
 * - `refused`: not one byte of the request left this process, or the peer refused it before reading
 *   the body. `reason` is for people.
 * - `uncertain`: bytes left and no valid answer came: the connection broke, or what came isn't an
 *   envelope.
 * - `timed_out`: the deadline passed after bytes left.
 */
export type PeerOutcome =
  | { kind: "answered"; response: ConnectPeerResponse }
  | { kind: "denied"; code: string; message: string; details: Readonly<Record<string, unknown>> }
  | { kind: "refused"; reason: string }
  | { kind: "uncertain"; reason: string }
  | { kind: "timed_out"; reason: string };

export interface PeerTransport {
  /**
   * Sends one request and waits for its answer until `deadline`, in milliseconds of
   * `Clock.monotonic()`. Never rejects. When `signal` aborts (shutdown) it resolves at once, by the
   * same rules. Several requests to one peer may run at the same time.
   */
  request(
    route: PeerRoute,
    request: PeerRequest,
    deadline: number,
    signal: AbortSignal,
  ): Promise<PeerOutcome>;
  /**
   * Calls `listener` with the instance ID whenever a route to a peer opens (a Direct channel came
   * up), so that waiting work needn't wait until its backoff ends. Returns a function that stops
   * listening. A transport that can't know never calls it.
   */
  onReachable(listener: (instanceId: string) => void): () => void;
}

/** How a request reached us. */
export type PeerArrival =
  /** Over the channel of an approved relation, whose TLS peer is this instance. */
  | { via: "direct"; connection_id: string; instance_id: string }
  /** To the HTTP peer endpoint; a Direct proof is refused there (PEER-057). */
  | { via: "web" };

/** A request of which only the proof has arrived: it is the peer's, and its turn has come. */
export interface AdmittedRequest {
  /** Answers it, as `PeerReceiver.receive` does. */
  receive(operation: ConnectPeerOperation): Promise<ConnectPeerResponse>;
  /** Refuses it, as `PeerReceiver.refuse` does. */
  refuse(broken: Omit<BrokenRequest, "proof">): Promise<ConnectPeerResponse | null>;
  /** Ends it, whatever became of it. To be called once. */
  leave(): void;
}

/** The receiving half as transports see it: `daemon/peers/receiving/receiver.ts` implements it. */
export interface PeerReceiver {
  /**
   * Answers one request: authority, proof, lifetime and digest are checked here, whatever a
   * transport has checked before. Business errors come as signed responses. Rejects with a Refusal,
   * which must not be signed and tells nothing of the Home, when the request isn't authentic or the
   * daemon is shutting down.
   */
  receive(request: PeerRequest, arrival: PeerArrival): Promise<ConnectPeerResponse>;
  /**
   * The signed, definite refusal of what breaks a rule of its contents (PEER-058); null when the
   * proof is for something else. Rejects with a Refusal when the proof isn't authentic or the
   * daemon is shutting down.
   */
  refuse(broken: BrokenRequest, arrival: PeerArrival): Promise<ConnectPeerResponse | null>;
}

/** A receiver whose requests come in two steps: a proof, and after it what may be large. */
export interface AdmittingReceiver extends PeerReceiver {
  /**
   * Decides by the proof alone whether the operation may be read at all, and waits for its turn.
   * Rejects as `receive` does.
   */
  admit(proof: ConnectPeerAuthorization, arrival: PeerArrival): Promise<AdmittedRequest>;
}
