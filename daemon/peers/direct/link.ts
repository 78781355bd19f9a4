/**
 * A connection whose other end has proven its key, which is what Direct runs over. TLS makes one
 * from a socket. A simulation makes a pair in memory.
 */
export interface Link {
  /** Base64 of the 32 bytes of the peer's Ed25519 key, proven by the handshake. */
  readonly peer_key: string;
  /**
   * Receives what arrives. Call it once, as soon as the link exists. Bytes come in order. `ended`
   * is called once, last, with the reason in words, or null after an orderly close by the peer.
   */
  receive(handler: LinkHandler): void;
  /**
   * Sends bytes in order. `sent` is called when the system has taken them all, and never after the
   * link has ended.
   */
  send(bytes: Uint8Array, sent: () => void): void;
  /**
   * Ends the link. What was sent still goes out if the peer takes it soon. Idempotent. `ended` is
   * no longer called.
   */
  close(): void;
}

export interface LinkHandler {
  data(bytes: Uint8Array): void;
  /** `here` says that this side ended it because of what the peer did. */
  ended(reason: string | null, here?: boolean): void;
}

/** Where a listener binds: an address of this machine and a port. */
export interface BindAddress {
  host: string;
  port: number;
}

/** An accepted connection that hasn't proven anything yet. */
export interface IncomingLink {
  /** The other end's network address, for limits and the log. */
  readonly address: string;
  /** Performs the handshake. Rejects with an Error whose message is for people. */
  secure(): Promise<Link>;
  /** Ends it at once. Idempotent. */
  destroy(): void;
  /** Calls `told` when the socket is closed and holds nothing. */
  whenClosed(told: () => void): void;
}

export interface BoundListener {
  /** Stops accepting. Connections that were handed out stay open. */
  close(): Promise<void>;
}

/** Makes links to peers. The caller limits how long a handshake may take; closing ends one. */
export interface Links {
  /** Rejects with Node's errors (EADDRINUSE, EADDRNOTAVAIL, EACCES). */
  listen(
    at: BindAddress,
    accept: (link: IncomingLink) => void,
    failed: (error: Error) => void,
  ): Promise<BoundListener>;
  /**
   * Connects and performs the handshake, accepting exactly this key at the other end. Rejects with
   * an Error whose message is for people, also when `signal` aborts.
   */
  connect(at: BindAddress, peerKey: string, signal: AbortSignal): Promise<Link>;
}
