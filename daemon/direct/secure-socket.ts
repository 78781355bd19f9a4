/**
 * A socket whose both ends have proven an Ed25519 key: the TLS core (`tls/`) over a platform socket. It keeps the core's bytes flowing and
 * time bounded; everything about the protocol itself is in the core.
 */
import type { Duplex } from "node:stream";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";

/** Our own key: what `InstanceIdentity` gives. */
export interface TlsIdentity {
  /** The 32 bytes. */
  publicKey: Uint8Array;
  /** Ed25519 signature, 64 bytes. */
  sign(bytes: Uint8Array): Uint8Array;
}

/**
 * Whom to accept: exactly this key (32 bytes), or whoever the function says yes to. The function is asked once, after the peer has proven
 * to hold the key and before anything else happens; when it throws, that is a no. Keys of small order never reach it. A no ends the
 * handshake with the alert access_denied.
 */
export type PeerPin = Uint8Array | ((publicKey: Uint8Array) => boolean);

export interface SecureSocketOptions {
  /**
   * A connected socket that nobody has read from (a `net.Socket`; set `setNoDelay` on it). It belongs to the secure socket from the call on,
   * also when the handshake fails: it is destroyed then.
   */
  socket: Duplex;
  /** `client` for whoever dialled. */
  role: "client" | "server";
  identity: TlsIdentity;
  pin: PeerPin;
  clock: Clock;
  random: Random;
  /** Budget of the whole handshake. */
  handshakeSeconds: number;
  /** How long the peer may take no byte of what we want to send, before the socket ends with `WriteBudgetError`. */
  writeSeconds: number;
  /** Ends the handshake when it aborts; without effect afterwards. */
  signal?: AbortSignal;
}

export interface SecureSocketHandler {
  /** Bytes in order, never empty. They may share memory with nothing else and may be kept. */
  data(bytes: Uint8Array): void;
  /**
   * Once, last, never after `destroy`. Null after the peer's close_notify: whatever it sent has arrived, and it takes no offence when we go
   * on sending. Otherwise the reason, as an error whose message is for people: a reset, a truncation, a protocol error, a budget.
   * After an error both directions are over and the socket is destroyed.
   */
  ended(error: Error | null): void;
}

export interface SecureSocket {
  /** The peer's Ed25519 key, 32 bytes, proven by the handshake and accepted by the pin. */
  readonly peerPublicKey: Uint8Array;
  /** Bytes that wait for the peer to take them. */
  readonly waitingBytes: number;
  /** Takes over what arrives; to be called once. Until then nothing more is read than fits a socket's buffer. */
  receive(handler: SecureSocketHandler): void;
  /** Stops and continues `data`. What has already been decrypted (at most one read of the socket) is kept meanwhile. */
  pause(): void;
  resume(): void;
  /**
   * Sends bytes in order; they are copied by encryption and may be reused. `sent` is called when the operating system has taken them all,
   * never after the socket has ended. Throws after `close` or the end.
   */
  send(bytes: Uint8Array, sent?: () => void): void;
  /** Sends close_notify behind everything, then ends our direction; reading goes on until the peer does the same. Idempotent. */
  close(): void;
  /** Both directions end at once; nothing is called any more. Idempotent. */
  destroy(): void;
}

/**
 * Does the handshake and resolves when the peer's key is proven and accepted. Rejects with an Error whose message is for people
 * (`TlsError` of `tls/alert.ts` names the alert).
 *
 * The client is connected before the server has judged the client's key (RFC 8446, section 4.4.4 and appendix E.1.2): it knows itself
 * accepted only with the server's first data. On the server both have happened.
 */
export function secureConnect(options: SecureSocketOptions): Promise<SecureSocket> {
  return Promise.reject(new Error(`TLS as ${options.role} is being built`));
}
