/**
 * A network in one process: listeners by address, links as pairs whose keys are what each side
 * says, bytes that arrive in a later turn.
 */
import { Buffer } from "node:buffer";
import type {
  BindAddress,
  BoundListener,
  IncomingLink,
  Link,
  LinkHandler,
  Links,
} from "../../../daemon/peers/direct/link.ts";

type Accept = (link: IncomingLink) => void;

const keyOf = ({ host, port }: BindAddress): string => `${host}:${port}`;

/** One end of a connection. */
class MemoryLink implements Link {
  readonly peer_key: string;
  other: MemoryLink | null = null;
  #handler: LinkHandler | null = null;
  #arrived: Uint8Array[] = [];
  #end: { reason: string | null } | null = null;
  /** Bytes that this end was given to send, in all. */
  sent = 0;
  /** While true nothing that is sent arrives or counts as taken. */
  stalled = false;
  /** While true what is sent counts as taken and arrives nowhere. */
  lost = false;

  constructor(peerKey: string) {
    this.peer_key = peerKey;
  }

  receive(handler: LinkHandler): void {
    this.#handler = handler;
    for (const bytes of this.#arrived.splice(0)) handler.data(bytes);
    if (this.#end !== null) this.arriveEnd(this.#end.reason);
  }

  send(bytes: Uint8Array, sent: () => void): void {
    this.sent += bytes.length;
    if (this.stalled) return;
    const copy = Buffer.from(bytes);
    setImmediate(() => {
      if (!this.lost) this.other?.arrive(copy);
      sent();
    });
  }

  /** Called when this end is closed. */
  readonly closed: (() => void)[] = [];

  close(): void {
    this.#handler = null;
    for (const told of this.closed.splice(0)) told();
    if (!this.lost) setImmediate(() => this.other?.arriveEnd(null));
  }

  arrive(bytes: Uint8Array): void {
    if (this.#handler === null) this.#arrived.push(bytes);
    else this.#handler.data(bytes);
  }

  arriveEnd(reason: string | null): void {
    this.#end ??= { reason };
    const handler = this.#handler;
    this.#handler = null;
    handler?.ended(reason);
  }
}

export class MemoryNetwork {
  readonly #listeners = new Map<string, { accept: Accept; public_key: string }>();
  /** Every end that was made, with who dialled. */
  readonly ends: MemoryLink[] = [];
  dials = 0;
  /** Addresses that refuse to be bound, with Node's code. */
  readonly unbindable = new Map<string, string>();
  /** Everything is out of reach while true. */
  cut = false;

  /** The network as the instance with this key sees it. `from` is its address. */
  linksOf(publicKey: string, from = "192.0.2.1"): Links {
    return {
      listen: async (at, accept): Promise<BoundListener> => {
        const key = keyOf(at);
        const code = this.#listeners.has(key) ? "EADDRINUSE" : this.unbindable.get(key);
        if (code !== undefined) throw Object.assign(new Error(code), { code });
        this.#listeners.set(key, { accept, public_key: publicKey });
        return { close: async () => void this.#listeners.delete(key) };
      },
      connect: async (at, peerKey, signal) => {
        this.dials += 1;
        const listener = this.#listeners.get(keyOf(at));
        if (listener === undefined || this.cut) throw new Error(`Nothing is listening on ${keyOf(at)}.`);
        if (listener.public_key !== peerKey) throw new Error("The other side has another key.");
        signal.throwIfAborted();
        return this.pair(listener, publicKey, from);
      },
    };
  }

  isBound(at: string): boolean {
    return this.#listeners.has(at);
  }

  /** Ends every connection with an error at both ends. */
  breakAll(): void {
    for (const end of this.ends.splice(0)) end.arriveEnd("The connection was reset.");
  }

  pair(listener: { accept: Accept; public_key: string }, dialler: string, from: string): MemoryLink {
    const here = new MemoryLink(listener.public_key);
    const there = new MemoryLink(dialler);
    here.other = there;
    there.other = here;
    this.ends.push(here, there);
    listener.accept({
      address: from,
      secure: () => Promise.resolve(there),
      destroy: () => there.close(),
      whenClosed: (told) => there.closed.push(told),
    });
    return here;
  }
}
