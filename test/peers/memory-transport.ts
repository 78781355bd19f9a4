/** The way between two sides, in memory: what went over it, and what becomes of it. */

import type { InstanceIdentity } from "../../daemon/home/identity.ts";
import type {
  PeerOutcome,
  PeerReceiver,
  PeerRequest,
  PeerRoute,
  PeerTransport,
} from "../../daemon/peers/transport.ts";
import { requestDigest } from "../../daemon/peers/wire/digests.ts";
import { signStatement } from "../../daemon/peers/wire/statements.ts";
import { Refusal } from "../../shared/errors.ts";
import {
  ConnectPeerEnvelope,
  type ConnectPeerOperation,
  ConnectPeerResponse,
} from "../../shared/wire/v1/peer.ts";
import { responseStatement } from "../../shared/wire/v1/signing.ts";
import type { ManualClock } from "../support/manual-clock.ts";

export type Seen = {
  op: ConnectPeerOperation["op"];
  bytes: string;
  request: PeerRequest;
  at: number;
  to: string;
};

/** What the wire does with a request: carries it, loses it or its answer, or answers by itself. */
export type Wire = (
  request: PeerRequest,
  carry: () => Promise<PeerOutcome>,
  to: string,
) => Promise<PeerOutcome> | PeerOutcome;

export const UP: Wire = (_request, carry) => carry();
export const DOWN: Wire = () => ({ kind: "refused", reason: "connection refused" });

/** Both ends' transport. */
export class MemoryTransport implements PeerTransport {
  readonly #clock: ManualClock;
  readonly #receivers: Map<string, () => PeerReceiver>;
  readonly #listeners = new Set<(instanceId: string) => void>();
  readonly seen: Seen[] = [];
  wire: Wire = UP;
  /** Requests under way, by target. */
  readonly open = new Map<string, number>();
  mostOpen = 0;

  constructor(clock: ManualClock, receivers: Map<string, () => PeerReceiver>) {
    this.#clock = clock;
    this.#receivers = receivers;
  }

  async request(
    route: PeerRoute,
    request: PeerRequest,
    deadline: number,
    signal: AbortSignal,
  ): Promise<PeerOutcome> {
    const bytes = JSON.stringify(request);
    const to = route.instance_id;
    this.seen.push({ op: request.operation.op, bytes, request, at: this.#clock.now(), to });
    this.open.set(to, (this.open.get(to) ?? 0) + 1);
    this.mostOpen = Math.max(
      this.mostOpen,
      [...this.open.values()].reduce((sum, count) => sum + count, 0),
    );
    const carry = async (): Promise<PeerOutcome> => {
      const receiver = this.#receivers.get(to);
      if (receiver === undefined) return { kind: "refused", reason: "nobody there" };
      const arrival =
        route.via === "direct"
          ? {
              via: "direct" as const,
              connection_id: route.connection_id,
              instance_id: request.proof.source_instance_id,
            }
          : { via: "web" as const };
      try {
        const response = await receiver().receive(ConnectPeerEnvelope.parse(JSON.parse(bytes)), arrival);
        return {
          kind: "answered",
          response: ConnectPeerResponse.parse(JSON.parse(JSON.stringify(response))),
        };
      } catch (error) {
        if (error instanceof Refusal) return { kind: "denied", ...error.body() };
        return { kind: "uncertain", reason: "it isn't signed" };
      }
    };
    let stop = (): void => {};
    try {
      return await new Promise<PeerOutcome>((resolve) => {
        const late = (): void => resolve({ kind: "timed_out", reason: "it didn't answer in time" });
        const timer = this.#clock.after(deadline - this.#clock.monotonic(), late);
        signal.addEventListener("abort", late);
        stop = () => signal.removeEventListener("abort", late);
        void Promise.resolve(this.wire(request, carry, to)).then((outcome) => {
          timer.cancel();
          resolve(outcome);
        });
      });
    } finally {
      stop();
      this.open.set(to, this.open.get(to)! - 1);
    }
  }

  onReachable(listener: (instanceId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  reachable(instanceId: string): void {
    for (const listener of this.#listeners) listener(instanceId);
  }

  ops(op?: ConnectPeerOperation["op"]): Seen[] {
    return this.seen
      .filter((one) => op === undefined || one.op === op)
      .filter((one) => op !== undefined || one.op !== "catalog");
  }
}

/** An answer as the other side would sign it, or somebody else. */
export function signed(
  signer: InstanceIdentity,
  request: PeerRequest,
  result: ConnectPeerResponse["result"],
): PeerOutcome {
  const response = signStatement(responseStatement, signer, {
    request_id: request.proof.request_id,
    request_sha256: requestDigest(request.proof),
    result,
  });
  return { kind: "answered", response };
}
