/**
 * Places at the listener for connections that haven't become channels (docs/protocol.md#direct): a
 * few for strangers, a few for networks that a channel came from before, a few for each key of a
 * relation. A place is taken until the socket is closed, whatever was sent over it. A newcomer that
 * finds all places taken gets a random one. If it got the oldest, a stranger who renews connections
 * as fast as they end would push out exactly those that are making progress.
 */
import { isIPv6 } from "node:net";
import type { Random } from "../../../platform/random.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { IncomingLink } from "./link.ts";

export interface PendingConnection {
  readonly network: string;
  /** Ends it at once. */
  readonly end: () => void;
  /** The proven key, once it is known to belong to a relation. */
  key: string | null;
  /** It was answered, and only its socket isn't closed yet. */
  isAnswered: boolean;
}

export class PendingConnections {
  readonly #random: Pick<Random, "bytes">;
  readonly #pending = new Set<PendingConnection>();
  /** Networks that channels came from; the latest last. */
  readonly #familiar = new Set<string>();

  constructor(random: Pick<Random, "bytes">) {
    this.#random = random;
  }

  /** A place for a new connection. Another connection may end to make room. */
  admit(incoming: IncomingLink, end: () => void): PendingConnection {
    const pending: PendingConnection = {
      network: networkOf(incoming.address),
      end,
      key: null,
      isAnswered: false,
    };
    const { unadmitted, unadmittedPerAddress } = LIMITS.direct;
    this.#makeRoom(unadmittedPerAddress, (one) => one.key === null && one.network === pending.network);
    if (!this.#familiar.has(pending.network)) this.#makeRoom(unadmitted, (one) => this.#isStranger(one));
    this.#pending.add(pending);
    incoming.whenClosed(() => this.#pending.delete(pending));
    return pending;
  }

  /** It has proven a key of a relation: strangers don't count against it from now on. */
  recognize(pending: PendingConnection, key: string): void {
    this.#makeRoom(LIMITS.direct.unadmittedPerKey, (one) => one.key === key);
    pending.key = key;
  }

  /** It has become a channel. */
  leave(pending: PendingConnection): void {
    this.#pending.delete(pending);
    this.#familiar.delete(pending.network);
    this.#familiar.add(pending.network);
    const [oldest] = this.#familiar;
    if (this.#familiar.size > LIMITS.direct.channels && oldest !== undefined) this.#familiar.delete(oldest);
  }

  /** Ends them all. */
  endAll(): void {
    for (const { end } of this.#pending) end();
  }

  #isStranger({ key, network }: PendingConnection): boolean {
    return key === null && !this.#familiar.has(network);
  }

  /** One of the `places` that `shares` names. Those that were answered go first. */
  #makeRoom(places: number, shares: (pending: PendingConnection) => boolean): void {
    const sharing = [...this.#pending].filter(shares);
    if (sharing.length < places) return;
    const goes = sharing.find(({ isAnswered }) => isAnswered) ?? sharing[this.#chance() % sharing.length];
    if (goes === undefined) return;
    this.#pending.delete(goes);
    goes.end();
  }

  #chance(): number {
    return Buffer.from(this.#random.bytes(4)).readUInt32BE(0);
  }
}

const GROUPS = 8;
/**
 * A household or a rented machine has all IPv6 addresses under this prefix, so they count as one.
 */
const NETWORK_GROUPS = 4;

/** The address that counts: all of IPv4, the first 64 bits of IPv6. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = "", tail] = address.replace(/%.*$/u, "").split("::");
  const groups = (part: string): string[] => (part === "" ? [] : part.split(":"));
  const [before, behind] = [groups(head), groups(tail ?? "")];
  const zeros = tail === undefined ? 0 : GROUPS - before.length - behind.length;
  return [...before, ...Array<string>(Math.max(0, zeros)).fill("0"), ...behind]
    .slice(0, NETWORK_GROUPS)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}
