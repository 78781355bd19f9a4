/** What the two handshakes share: their surroundings, and how a state machine is written. */
import { timingSafeEqual } from "node:crypto";
import type { Random } from "../../../../platform/random.ts";
import { refusal } from "./alert.ts";
import { finishedData } from "./key-schedule.ts";
import { HANDSHAKE_TYPES, type HandshakeMessage, handshakeMessage } from "./messages.ts";
import type { Suite } from "./suites.ts";

/** Our own key: what `InstanceIdentity` gives. */
export interface TlsIdentity {
  /** The 32 bytes. */
  publicKey: Uint8Array;
  /** Ed25519 signature, 64 bytes. */
  sign(bytes: Uint8Array): Uint8Array;
}

/**
 * Whom to accept: exactly this key (32 bytes), or every key that the function accepts. The function
 * is called once, after the peer has proven that it holds the key and before anything else happens.
 * If it throws, that counts as a no. Keys of small order never reach it. A no ends the handshake
 * with the alert access_denied.
 */
export type PeerPin = Uint8Array | ((publicKey: Uint8Array) => boolean);

export interface HandshakeOptions {
  identity: TlsIdentity;
  pin: PeerPin;
  random: Random;
  /** The one application protocol (RFC 7301). */
  alpn: string;
  /** What the client sends as server_name (RFC 6066, section 3). */
  serverName: string;
  /** Suites to offer or to choose from, the preferred first. */
  suites: readonly Suite[];
  /**
   * Whether the client sends a key share at once. Without one the server has to ask for it (section
   * 4.2.8).
   */
  keyShare: boolean;
}

/** The records below a handshake. */
export interface HandshakeWire {
  /** Messages in one flight under the present key. */
  send(...messages: Buffer[]): void;
  sendChangeCipherSpec(): void;
  /**
   * Throws unexpected_message when bytes of a further message are there (section 5.1): called at
   * the end of the peer's flight.
   */
  requireBoundary(): void;
  /** The peer's records are protected by `secret` from now on. */
  readWith(suite: Suite, secret: Buffer): void;
  /** Ours are. */
  writeWith(suite: Suite, secret: Buffer): void;
}

/**
 * A row of a state machine: the one message that may come, and the step it causes, which gives the
 * next state.
 */
export type Row<State> = { type: number; step: (message: HandshakeMessage) => State } | null;

/** A state machine: the row of each state; null for a state in which no message may come. */
export type Table<State extends string> = Record<State, Row<State>>;

export interface Handshake {
  /** Begins: sends the client's hello, does nothing for the server. */
  start(): void;
  /** Takes a message of the peer. Throws TlsError. */
  take(message: HandshakeMessage): void;
  /** The peer's key once everything is proven and sent, null before. */
  readonly peerPublicKey: Buffer | null;
}

/** The next state by `table`; unexpected_message for a message out of order (section 4). */
export function advance<State extends string>(
  table: Table<State>,
  state: State,
  message: HandshakeMessage,
): State {
  const row = table[state];
  if (row === null || row.type !== message.type)
    throw refusal("unexpected_message", "A TLS handshake message came out of order.");
  return row.step(message);
}

/** Throws access_denied unless `pin` accepts the key, which the peer has proven to hold. */
export function checkPin(pin: PeerPin, publicKey: Buffer): void {
  let accepted = false;
  if (typeof pin === "function") {
    try {
      // A copy, because the function may keep it.
      accepted = pin(Uint8Array.from(publicKey));
    } catch {
      accepted = false;
    }
  } else accepted = publicKey.equals(pin);
  if (!accepted) throw refusal("access_denied", "The peer's key isn't the expected one.");
}

export function writeFinished(suite: Suite, secret: Buffer, transcriptHash: Buffer): Buffer {
  return handshakeMessage(HANDSHAKE_TYPES.finished, finishedData(suite, secret, transcriptHash));
}

/** Section 4.4.4: decrypt_error when the peer's view of the handshake differs from ours. */
export function checkFinished(suite: Suite, secret: Buffer, transcriptHash: Buffer, body: Buffer): void {
  if (body.length !== suite.hashBytes)
    throw refusal("decode_error", "The peer's Finished message has the wrong length.");
  if (!timingSafeEqual(body, finishedData(suite, secret, transcriptHash)))
    throw refusal("decrypt_error", "The peer's Finished message is wrong: someone altered the handshake.");
}
