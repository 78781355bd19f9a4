/** The live channels: for each connection at most one, the newest. */

import type { Clock } from "../../../platform/clock.ts";
import type { ErrorCode } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { PeerOutcome, PeerReceiver, PeerRequest, PeerRoute, PeerTransport } from "../transport.ts";
import { DirectChannel } from "./channel.ts";
import type { PeerClocks } from "./clocks.ts";
import { CLOSED, type FramedLink } from "./framed-link.ts";

const CLOCK_DIFFERS: ErrorCode = "connect_clock_differs";
/** What happens when clocks are too far apart, and what helps. */
export const CLOCKS_WAIT = `Messages are refused until the two clocks agree to within ${LIMITS.connect.skewSeconds} seconds.`;

interface Entry {
  channel: DirectChannel;
  instance_id: string;
}

export class Channels implements PeerTransport {
  readonly #clock: Clock;
  readonly #clocks: PeerClocks;
  readonly #receiver: PeerReceiver;
  readonly #open = new Map<string, Entry>();
  readonly #reachable = new Set<(instanceId: string) => void>();
  readonly #changes = new Set<(id: string, reason: string | null) => void>();

  constructor(clock: Clock, receiver: PeerReceiver, clocks: PeerClocks) {
    this.#clock = clock;
    this.#clocks = clocks;
    this.#receiver = receiver;
  }

  has(id: string): boolean {
    return this.#open.has(id);
  }

  ids(): string[] {
    return [...this.#open.keys()];
  }

  /** Called when a channel came up or ended; `reason` says why it ended, if people should know. */
  onChange(listener: (id: string, reason: string | null) => void): void {
    this.#changes.add(listener);
  }

  onReachable(listener: (instanceId: string) => void): () => void {
    this.#reachable.add(listener);
    return () => this.#reachable.delete(listener);
  }

  /**
   * Makes `link` the channel of an approved connection; an earlier one, perhaps half-open, ends.
   * Null on success. Otherwise why not: there are too many, or the link has ended already.
   */
  take(id: string, instanceId: string, link: FramedLink): string | null {
    const earlier = this.#open.get(id);
    if (earlier === undefined && this.#open.size >= LIMITS.direct.channels) {
      return "Too many Direct connections are online.";
    }
    if (!link.isOpen) return link.endReason;
    earlier?.channel.close("The peer connected again.");
    // What the peer sent with its answer may end the channel as soon as it begins.
    let problem: string | null = null;
    const arrival = { via: "direct" as const, connection_id: id, instance_id: instanceId };
    const channel = new DirectChannel({
      link,
      clock: this.#clock,
      receive: (request) => {
        this.#clocks.heard(id, request.proof.issued_at);
        return this.#receiver.receive(request, arrival);
      },
      refuse: (broken) => {
        this.#clocks.heard(id, broken.proof.issued_at);
        return this.#receiver.refuse(broken, arrival);
      },
      ended: (reason) => {
        problem = reason ?? CLOSED;
        if (this.#open.get(id)?.channel !== channel) return;
        this.#open.delete(id);
        this.#tell(id, reason);
      },
    });
    this.#open.set(id, { channel, instance_id: instanceId });
    channel.start();
    if (this.#open.get(id)?.channel !== channel) return problem;
    this.#tell(id, null);
    for (const listener of this.#reachable) listener(instanceId);
    return null;
  }

  async request(
    route: PeerRoute,
    request: PeerRequest,
    deadline: number,
    signal: AbortSignal,
  ): Promise<PeerOutcome> {
    const id = route.via === "direct" ? route.connection_id : "";
    const entry = this.#open.get(id);
    if (entry === undefined || entry.instance_id !== route.instance_id) {
      return { kind: "refused", reason: "The Direct connection is offline." };
    }
    const outcome = await entry.channel.request(request, deadline, signal);
    if (outcome.kind === "answered") this.#clocks.agreed(id);
    if (outcome.kind !== "denied" || outcome.code !== CLOCK_DIFFERS) return outcome;
    this.#clocks.told(id, outcome.details.now);
    const problem = this.#clocks.problem(id);
    return problem === null ? outcome : { kind: "uncertain", reason: `${problem} ${CLOCKS_WAIT}` };
  }

  /** Ends the channel of a connection, if there is one. */
  close(id: string, reason: string): void {
    const entry = this.#open.get(id);
    if (entry === undefined) return;
    this.#open.delete(id);
    entry.channel.close(reason);
    this.#tell(id, null);
  }

  #tell(id: string, reason: string | null): void {
    for (const listener of this.#changes) listener(id, reason);
  }
}
