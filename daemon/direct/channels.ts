/** The live channels by connection: at most one each, the newest. */
import { LIMITS } from "../../shared/limits.ts";
import type {
  PeerOutcome,
  PeerReceiver,
  PeerRequest,
  PeerRoute,
  PeerTransport,
} from "../connect/transport.ts";
import type { Clock } from "../platform/clock.ts";
import { DirectChannel } from "./channel.ts";
import type { FramedLink } from "./framed-link.ts";

interface Entry {
  channel: DirectChannel;
  instance_id: string;
}

export class Channels implements PeerTransport {
  readonly #clock: Clock;
  readonly #receiver: PeerReceiver;
  readonly #open = new Map<string, Entry>();
  readonly #reachable = new Set<(instance_id: string) => void>();
  readonly #changes = new Set<(id: string, reason: string | null) => void>();

  constructor(clock: Clock, receiver: PeerReceiver) {
    this.#clock = clock;
    this.#receiver = receiver;
  }

  has(id: string): boolean {
    return this.#open.has(id);
  }

  ids(): string[] {
    return [...this.#open.keys()];
  }

  /** Called when a channel came up or ended; `reason` says why it ended, if that is worth telling. */
  onChange(listener: (id: string, reason: string | null) => void): void {
    this.#changes.add(listener);
  }

  onReachable(listener: (instance_id: string) => void): () => void {
    this.#reachable.add(listener);
    return () => this.#reachable.delete(listener);
  }

  /** Makes `link` the channel of an approved connection; an earlier one, perhaps half-open, ends. False when there are too many. */
  take(id: string, instance_id: string, link: FramedLink): boolean {
    const earlier = this.#open.get(id);
    if (earlier === undefined && this.#open.size >= LIMITS.direct.channels) return false;
    if (!link.isOpen) return true;
    earlier?.channel.close("The peer connected anew.");
    const channel = new DirectChannel({
      link,
      clock: this.#clock,
      receive: (request) =>
        this.#receiver.receive(request, { via: "direct", connection_id: id, instance_id }),
      ended: (reason) => {
        if (this.#open.get(id)?.channel !== channel) return;
        this.#open.delete(id);
        this.#tell(id, reason);
      },
    });
    this.#open.set(id, { channel, instance_id });
    channel.start();
    if (this.#open.get(id)?.channel !== channel) return true;
    this.#tell(id, null);
    for (const listener of this.#reachable) listener(instance_id);
    return true;
  }

  request(
    route: PeerRoute,
    request: PeerRequest,
    deadline: number,
    signal: AbortSignal,
  ): Promise<PeerOutcome> {
    const entry = route.via === "direct" ? this.#open.get(route.connection_id) : undefined;
    if (entry === undefined || entry.instance_id !== route.instance_id) {
      return Promise.resolve({ kind: "refused", reason: "The Direct connection is offline." });
    }
    return entry.channel.request(request, deadline, signal);
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
