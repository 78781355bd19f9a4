/**
 * A socket where both ends have proven an Ed25519 key: the TLS core (`tls/`) over a platform
 * socket. It moves the core's bytes and limits how long each step may take. The protocol itself is
 * in the core.
 */
import type { Duplex } from "node:stream";
import type { Clock, Timer } from "../../../platform/clock.ts";
import type { Random } from "../../../platform/random.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { DIRECT } from "../../../shared/names.ts";
import { TlsConnection } from "./tls/connection.ts";
import type { PeerPin, TlsIdentity } from "./tls/handshake.ts";
import { SUITES, type Suite } from "./tls/suites.ts";

export type { PeerPin, TlsIdentity } from "./tls/handshake.ts";

export interface SecureSocketOptions {
  /**
   * A connected socket that hasn't been read from (a `net.Socket`; set `setNoDelay` on it). From
   * this call on it belongs to the secure socket, which destroys it if the handshake fails.
   */
  socket: Duplex;
  /** `client` for the side that connected. */
  role: "client" | "server";
  identity: TlsIdentity;
  pin: PeerPin;
  clock: Clock;
  random: Random;
  /** Budget of the whole handshake. */
  handshakeSeconds: number;
  /**
   * Budget of each `send`, from its turn until the operating system has taken all of it. A `send`
   * that takes longer ends the socket with WriteBudgetError.
   */
  writeSeconds: number;
  /** Ends the handshake when it aborts. No effect afterwards. */
  signal?: AbortSignal;
  /** Suites, the preferred first; all by default. For measurements and interoperability tests. */
  suites?: readonly Suite[];
  /**
   * Whether the client sends a key share at once; true by default. Without one, the server has to
   * ask for it by HelloRetryRequest.
   */
  keyShare?: boolean;
  /** Records after which we change our key; LIMITS.tls.recordsPerKey by default. */
  recordsPerKey?: number;
}

export interface SecureSocketHandler {
  /** Bytes in order, never empty. They may be kept. */
  data(bytes: Uint8Array): void;
  /**
   * Called once, last, never after `destroy`. Null after the peer's close_notify: everything it
   * sent has arrived, and we may go on sending. Otherwise the reason, as an error whose message is
   * for people: a reset, a truncation, a protocol error, a budget. After an error both directions
   * are over and the socket is destroyed.
   */
  ended(error: Error | null): void;
}

export interface SecureSocket {
  /** The peer's Ed25519 key, 32 bytes, proven by the handshake and accepted by the pin. */
  readonly peerPublicKey: Uint8Array;
  /**
   * Bytes given to `send` that aren't encrypted yet, because the peer hasn't taken the earlier
   * ones.
   */
  readonly waitingBytes: number;
  /** Receives what arrives. Call it once. Until then at most a socket's buffer is read. */
  receive(handler: SecureSocketHandler): void;
  /**
   * Pauses and resumes `data` and `ended`. Data that has already been decrypted (at most one read
   * of the socket) is kept in the meantime.
   */
  pause(): void;
  resume(): void;
  /**
   * Sends bytes in order. They must not change until `sent` is called, when the operating system
   * has taken them all. It is never called after the socket has ended. Small sends of one turn of
   * the event loop share a record. Never empty. Throws after `close` or the end.
   */
  send(bytes: Uint8Array, sent?: () => void): void;
  /**
   * Sends close_notify after everything else, then ends our direction. Reading continues until the
   * peer does the same. Idempotent.
   */
  close(): void;
  /** Ends both directions at once. Nothing is called afterwards. Idempotent. */
  destroy(): void;
}

/** The peer's link is too slow: a `send` was not taken within its budget. */
export class WriteBudgetError extends Error {
  constructor(seconds: number) {
    super(`The link is too slow: the other side didn't accept data within ${seconds} s.`);
    this.name = "WriteBudgetError";
  }
}

/** This much is encrypted before yielding to other work of the process. */
const SLICE_BYTES = 64 * 1024;

interface Outgoing {
  bytes: Uint8Array;
  sent: (() => void) | undefined;
}

/** What is encrypted in one go, and the sends that end within. */
interface Slice {
  bytes: Uint8Array;
  sent: Outgoing[];
}

/**
 * Does the handshake and resolves when the peer's key is proven and accepted. Rejects with an Error
 * whose message is for people (`TlsError` of `tls/alert.ts` names the alert).
 *
 * The client is connected before the server has judged the client's key (RFC 8446, section 4.4.4
 * and appendix E.1.2): it knows that it is accepted only when the server's first data arrives. On
 * the server both have happened.
 */
export function secureConnect(options: SecureSocketOptions): Promise<SecureSocket> {
  return new Promise((resolve, reject) => {
    const socket = new TlsSocket(options, resolve, reject);
    socket.start();
  });
}

class TlsSocket implements SecureSocket {
  readonly #socket: Duplex;
  readonly #clock: Clock;
  readonly #writeSeconds: number;
  readonly #core: TlsConnection;
  readonly #signal: AbortSignal | undefined;
  readonly #abort = () => this.#finish(new Error("The TLS handshake was abandoned."));
  /** Settles the handshake; null once it has settled. */
  #settle: { resolve: (socket: SecureSocket) => void; reject: (error: Error) => void } | null;
  #peerPublicKey: Uint8Array = new Uint8Array();
  #handler: SecureSocketHandler | null = null;
  #paused = false;
  /** Decrypted and not handed out yet: at most one read. */
  #arrived: Uint8Array[] = [];
  /** The end, once it is known and until it is reported. */
  #ending: { error: Error | null } | null = null;
  #handing = false;
  /** Part of what was read is still to be decrypted. */
  #isReading = false;
  /** Given to `send` and not completely encrypted. `#offset` bytes of the first one are. */
  #queue: Outgoing[] = [];
  #offset = 0;
  #waitingBytes = 0;
  /** Sends that the operating system hasn't completely taken. The budget runs for the first. */
  #unsent = 0;
  #pumpDue = false;
  /** Being encrypted. Its pieces come back through `#write`. */
  #slice: Slice | null = null;
  #closing = false;
  #closed = false;
  /** The socket's bytes are no longer ours. */
  #over = false;
  #timer: Timer | null = null;

  constructor(
    options: SecureSocketOptions,
    resolve: (socket: SecureSocket) => void,
    reject: (error: Error) => void,
  ) {
    this.#socket = options.socket;
    this.#clock = options.clock;
    this.#writeSeconds = options.writeSeconds;
    this.#signal = options.signal;
    this.#settle = { resolve, reject };
    this.#core = new TlsConnection({
      role: options.role,
      identity: options.identity,
      pin: options.pin,
      random: options.random,
      alpn: DIRECT.alpn,
      serverName: DIRECT.serverName,
      suites: options.suites ?? SUITES,
      keyShare: options.keyShare ?? true,
      recordsPerKey: options.recordsPerKey ?? LIMITS.tls.recordsPerKey,
      sink: {
        send: (pieces) => this.#write(pieces),
        connected: (peerPublicKey) => this.#connected(peerPublicKey),
        data: (bytes) => this.#arrive(bytes),
        closed: () => (this.#ending ??= { error: null }),
        failed: (error) => this.#finish(error),
      },
    });
    const seconds = options.handshakeSeconds;
    this.#arm(seconds, () => new Error(`The TLS handshake took longer than ${seconds} s.`));
  }

  get peerPublicKey(): Uint8Array {
    return this.#peerPublicKey;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  start(): void {
    if (this.#signal?.aborted === true) {
      this.#abort();
      return;
    }
    this.#signal?.addEventListener("abort", this.#abort, { once: true });
    this.#socket.on("data", (bytes: Buffer) => this.#take(bytes));
    this.#socket.on("end", () => {
      this.#core.end();
      this.#hand();
    });
    this.#socket.on("error", (error: Error) => this.#finish(broken(error)));
    this.#socket.on("close", () => {
      this.#core.end();
      this.#over = true;
      this.#disarm();
    });
    this.#socket.on("drain", () => this.#pump());
    this.#core.start();
  }

  receive(handler: SecureSocketHandler): void {
    if (this.#handler !== null) throw new Error("someone is already receiving");
    this.#handler = handler;
    // Not from within this call: the caller isn't ready before it returns.
    queueMicrotask(() => this.#hand());
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    queueMicrotask(() => this.#hand());
  }

  send(bytes: Uint8Array, sent?: () => void): void {
    if (this.#closing || this.#over) throw new Error("the secure socket is closed");
    if (bytes.length === 0) throw new RangeError("nothing to send");
    this.#queue.push({ bytes, sent });
    this.#waitingBytes += bytes.length;
    this.#unsent += 1;
    if (this.#unsent === 1) this.#armWrite();
    this.#pumpSoon();
  }

  close(): void {
    if (this.#closing || this.#over) return;
    this.#closing = true;
    this.#pumpSoon();
  }

  destroy(): void {
    this.#handler = null;
    this.#arrived = [];
    this.#stop();
    this.#socket.destroy();
  }

  #connected(peerPublicKey: Buffer): void {
    this.#peerPublicKey = Uint8Array.from(peerPublicKey);
    this.#disarm();
    this.#signal?.removeEventListener("abort", this.#abort);
    const settle = this.#settle;
    this.#settle = null;
    settle?.resolve(this);
  }

  /**
   * Data that was read, in turns: a peer that sends only small records would block everything else.
   */
  #take(bytes: Buffer): void {
    if (this.#over) return;
    const rest = this.#core.receive(bytes, LIMITS.tls.recordsPerTurn);
    if (this.#core.answerDue) this.#pump();
    this.#isReading = rest !== null;
    this.#hand();
    if (rest !== null) {
      setImmediate(() => {
        this.#isReading = false;
        this.#take(rest);
      });
    }
  }

  /**
   * A requested KeyUpdate goes before the answer to this, unless the peer accepts nothing (RFC
   * 8446, section 4.6.3).
   */
  #arrive(bytes: Uint8Array): void {
    if (this.#core.answerDue && this.#socket.writableLength < LIMITS.tls.sendAheadBytes) this.#core.answer();
    this.#arrived.push(bytes);
  }

  /** Hands out what arrived, in order. The socket is read while a reader takes it. */
  #hand(): void {
    if (this.#handing) return;
    this.#handing = true;
    while (this.#handler !== null && !this.#paused) {
      const bytes = this.#arrived.shift();
      if (bytes !== undefined) {
        this.#handler.data(bytes);
        continue;
      }
      if (this.#ending !== null) {
        const handler = this.#handler;
        this.#handler = null;
        handler.ended(this.#ending.error);
      }
      break;
    }
    this.#handing = false;
    // During the handshake, and when the end is known, there is nothing to hold back.
    const held = this.#settle === null && (this.#handler === null || this.#paused) && this.#ending === null;
    if (held || this.#isReading) this.#socket.pause();
    else this.#socket.resume();
  }

  #pumpSoon(): void {
    if (this.#pumpDue) return;
    this.#pumpDue = true;
    queueMicrotask(() => {
      this.#pumpDue = false;
      this.#pump();
    });
  }

  /** Encrypts what waits, as far ahead of the peer as allowed. */
  #pump(): void {
    while (!this.#over && this.#socket.writableLength < LIMITS.tls.sendAheadBytes) {
      const slice = this.#nextSlice();
      if (slice === null) {
        this.#core.answer();
        if (this.#closing && !this.#closed) {
          this.#closed = true;
          this.#core.close();
          this.#socket.end();
        }
        return;
      }
      this.#slice = slice;
      this.#core.write(slice.bytes);
    }
  }

  /**
   * Bytes for the next records: a part of a long send, or short ones joined. Null when nothing
   * waits.
   */
  #nextSlice(): Slice | null {
    const parts: Uint8Array[] = [];
    const sent: Outgoing[] = [];
    let length = 0;
    for (let first = this.#queue[0]; first !== undefined && length < SLICE_BYTES; first = this.#queue[0]) {
      const part = first.bytes.subarray(this.#offset, this.#offset + SLICE_BYTES - length);
      parts.push(part);
      length += part.length;
      this.#offset += part.length;
      if (this.#offset < first.bytes.length) break;
      this.#queue.shift();
      this.#offset = 0;
      sent.push(first);
    }
    if (parts.length === 0) return null;
    this.#waitingBytes -= length;
    return { bytes: parts.length === 1 ? parts[0]! : Buffer.concat(parts), sent };
  }

  /** The callback of a slice's last piece says that the system has taken the slice. */
  #write(pieces: readonly Buffer[]): void {
    const slice = this.#slice;
    this.#slice = null;
    if (this.#socket.destroyed || this.#socket.writableEnded) return;
    this.#socket.cork();
    for (const piece of pieces.slice(0, -1)) this.#socket.write(piece);
    this.#socket.write(pieces.at(-1), (error) => {
      if (slice !== null && (error === null || error === undefined)) this.#taken(slice);
    });
    this.#socket.uncork();
  }

  #taken({ sent }: Slice): void {
    if (this.#over) return;
    if (sent.length > 0) {
      this.#unsent -= sent.length;
      this.#disarm();
      if (this.#unsent > 0) this.#armWrite();
      for (const one of sent) one.sent?.();
    }
    this.#pump();
  }

  #armWrite(): void {
    this.#arm(this.#writeSeconds, () => new WriteBudgetError(this.#writeSeconds));
  }

  #arm(seconds: number, error: () => Error): void {
    this.#disarm();
    this.#timer = this.#clock.after(seconds * 1000, () => this.#finish(error()));
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Ends with an error. What arrived before is still handed out. */
  #finish(error: Error): void {
    if (this.#over) return;
    this.#stop();
    // The peer's bytes are read for a while so that it gets the alert: closing a socket with unread
    // bytes resets it.
    this.#socket.end();
    this.#socket.resume();
    this.#timer = this.#clock.after(LIMITS.tls.lingerSeconds * 1000, () => this.#socket.destroy());
    this.#ending ??= { error };
    const settle = this.#settle;
    this.#settle = null;
    settle?.reject(error);
    this.#hand();
  }

  #stop(): void {
    this.#over = true;
    this.#core.abandon();
    this.#queue = [];
    this.#waitingBytes = 0;
    this.#disarm();
    this.#signal?.removeEventListener("abort", this.#abort);
  }
}

/** What the system says about a socket, in words. */
function broken(cause: Error): Error {
  const code = "code" in cause ? String(cause.code) : "";
  switch (code) {
    case "ECONNRESET":
    case "EPIPE":
      return new Error("The other side broke off the connection.", { cause });
    case "ETIMEDOUT":
      return new Error("The other side no longer answers.", { cause });
    default:
      return new Error(`The connection failed${code === "" ? "" : ` (${code})`}.`, { cause });
  }
}
