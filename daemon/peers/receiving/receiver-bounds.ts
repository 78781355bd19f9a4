/**
 * What a peer may cost (docs/protocol.md#replay): every request id once within 90 s, two requests
 * at a time, a few more waiting. Every operation is idempotent, so this only limits cost: when the
 * memory is full, it forgets the oldest id.
 */

import type { Clock } from "../../../platform/clock.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { uuidKey } from "../../../shared/wire/v1/uuid.ts";

interface Peer {
  /** Request id to the monotonic time it came; oldest first. */
  seen: Map<string, number>;
  working: number;
  waiting: (() => void)[];
}

const { bodiesPerPeer, seenIds, seenSeconds } = LIMITS.connect;
/** As many as a channel may have in flight beyond those being processed. */
const WAITING_MAX = LIMITS.direct.requests;

export class ReceiverBounds {
  readonly #clock: Clock;
  readonly #peers = new Map<string, Peer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The peers remembered. Each is forgotten with its last id. */
  get peers(): number {
    return this.#peers.size;
  }

  /**
   * Admits a request of an authenticated peer when its turn comes. Resolves with a function that
   * ends it, to be called once. Throws connect_replayed for an id that was seen before, or
   * overloaded.
   */
  async enter(instanceId: string, requestId: string): Promise<() => void> {
    this.#forget();
    const peer: Peer = this.#peers.get(instanceId) ?? { seen: new Map(), working: 0, waiting: [] };
    const id = uuidKey(requestId);
    if (peer.seen.has(id)) throw new Refusal("connect_replayed");
    if (peer.working >= bodiesPerPeer && peer.waiting.length >= WAITING_MAX) throw new Refusal("overloaded");
    this.#peers.set(instanceId, peer);
    if (peer.seen.size >= seenIds) peer.seen.delete(peer.seen.keys().next().value!);
    peer.seen.set(id, this.#clock.monotonic());
    if (peer.working >= bodiesPerPeer) await new Promise<void>((turn) => peer.waiting.push(turn));
    else peer.working += 1;
    return () => {
      const next = peer.waiting.shift();
      if (next === undefined) peer.working -= 1;
      else next();
    };
  }

  #forget(): void {
    const oldest = this.#clock.monotonic() - seenSeconds * 1000;
    for (const [instanceId, peer] of this.#peers) {
      for (const [id, at] of peer.seen) {
        if (at > oldest) break;
        peer.seen.delete(id);
      }
      if (peer.seen.size === 0 && peer.working === 0) this.#peers.delete(instanceId);
    }
  }
}
