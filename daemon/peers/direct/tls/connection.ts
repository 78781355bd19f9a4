/**
 * TLS 1.3 (RFC 8446) for Direct, without I/O: bytes in, bytes and events out. Both ends prove an
 * Ed25519 raw public key (RFC 7250); one application protocol, three suites, X25519. Nothing else:
 * no earlier version, no X.509, no PSK, no early data, no tickets, no later authentication.
 * Everything held is bounded; every failure is an alert or the end.
 *
 * This file has the records and what comes after the handshake; the handshakes are the state
 * machines of client.ts and server.ts.
 */
import { LIMITS } from "../../../../shared/limits.ts";
import { ALERTS, refusal, refusedByPeer, TlsError } from "./alert.ts";
import { ClientHandshake } from "./client.ts";
import { decode } from "./codec.ts";
import type { Handshake, HandshakeOptions, HandshakeWire } from "./handshake.ts";
import { nextTrafficSecret } from "./key-schedule.ts";
import { HANDSHAKE_TYPES, type HandshakeMessage, HandshakeReader, handshakeMessage } from "./messages.ts";
import { TrafficKey } from "./protection.ts";
import { CONTENT_TYPES, MAX_PLAINTEXT, RecordReader, type TlsRecord } from "./records.ts";
import { ServerHandshake } from "./server.ts";
import type { Suite } from "./suites.ts";

/** What a connection reports to its owner, in order, from within the call that caused it. */
export interface TlsSink {
  /** Bytes for the peer, in pieces. */
  send(pieces: Buffer[]): void;
  /** Once: the handshake is done and the peer's key proven and accepted. */
  connected(peerPublicKey: Buffer): void;
  /** Application data, never empty. */
  data(bytes: Buffer): void;
  /**
   * The peer has closed its direction in order (close_notify). What arrives from now on is ignored.
   */
  closed(): void;
  /** Once: the connection is over; an alert for the peer, if there is one, has gone to `send`. */
  failed(error: TlsError): void;
}

export interface TlsOptions extends HandshakeOptions {
  role: "client" | "server";
  sink: TlsSink;
  /** Records after which we change our key (section 5.5). */
  recordsPerKey: number;
}

/** AlertLevel (section 6). */
const WARNING = 1;
const FATAL = 2;

/** One direction's protection, and what its next key is made from. */
interface Direction {
  suite: Suite;
  secret: Buffer;
  key: TrafficKey;
}

function direction(suite: Suite, secret: Buffer): Direction {
  return { suite, secret, key: new TrafficKey(suite, secret) };
}

/** Section 7.2. */
function updated({ suite, secret }: Direction): Direction {
  return direction(suite, nextTrafficSecret(suite, secret));
}

export class TlsConnection {
  readonly #role: "client" | "server";
  readonly #sink: TlsSink;
  readonly #recordsPerKey: number;
  readonly #records = new RecordReader();
  readonly #messages = new HandshakeReader(LIMITS.tls.handshakeMessageBytes);
  #handshake: Handshake | null;
  #read: Direction | null = null;
  #write: Direction | null = null;
  #waiting: Buffer[] = [];
  #connected = false;
  #readClosed = false;
  #writeClosed = false;
  /** Nothing goes in or out now. */
  #over = false;
  #changeCipherSpecs = 0;
  /** Something has arrived (the client's hello must be first). */
  #heard = false;
  /** What arrived other than application data, less what application data allows for. */
  #idleMessages = 0;
  #answerDue = false;

  constructor(options: TlsOptions) {
    this.#role = options.role;
    this.#sink = options.sink;
    this.#recordsPerKey = options.recordsPerKey;
    const wire: HandshakeWire = {
      send: (...messages) => this.#sendContent(CONTENT_TYPES.handshake, Buffer.concat(messages)),
      sendChangeCipherSpec: () =>
        this.#waiting.push(Buffer.of(CONTENT_TYPES.change_cipher_spec, 3, 3, 0, 1, 1)),
      requireBoundary: () => this.#requireBoundary(),
      readWith: (suite, secret) => (this.#read = direction(suite, secret)),
      writeWith: (suite, secret) => (this.#write = direction(suite, secret)),
    };
    this.#handshake =
      options.role === "client" ? new ClientHandshake(options, wire) : new ServerHandshake(options, wire);
  }

  /**
   * A KeyUpdate of ours is due, because the peer asked for one: `answer` or the next `write` sends
   * it.
   */
  get answerDue(): boolean {
    return this.#answerDue && !this.#over && !this.#writeClosed;
  }

  /** The client's hello goes out. The server waits for one. */
  start(): void {
    this.#handshake?.start();
    this.#flush();
  }

  /**
   * Bytes from the peer, of which at most this many records are taken. They aren't copied, so the
   * caller must not reuse them. Returns what is left for the next call, or null.
   */
  receive(bytes: Buffer, records = Number.POSITIVE_INFINITY): Buffer | null {
    if (this.#over || this.#readClosed) return null;
    let left = records;
    let used = bytes.length;
    try {
      used = this.#records.feed(bytes, (record) => {
        this.#takeRecord(record);
        left -= 1;
        return left > 0 && this.#reads;
      });
    } catch (error) {
      this.#fail(error);
    }
    this.#flush();
    return this.#reads && used < bytes.length ? bytes.subarray(used) : null;
  }

  get #reads(): boolean {
    return !this.#over && !this.#readClosed;
  }

  /** The transport's end: an error unless the peer has closed in order before (section 6.1). */
  end(): void {
    if (this.#over || this.#readClosed) return;
    this.#fail(
      new TlsError(
        "transport",
        null,
        this.#connected ? "The connection broke." : "The connection ended during the TLS handshake.",
      ),
    );
  }

  /** Application data, after `connected`. Throws once our direction is closed. */
  write(bytes: Uint8Array): void {
    if (!this.#connected || this.#over || this.#writeClosed) throw new Error("not connected");
    this.#sendKeyUpdateIfDue();
    for (let at = 0; at < bytes.length; at += MAX_PLAINTEXT) {
      if (this.#write!.key.records >= this.#recordsPerKey) this.#sendKeyUpdate();
      this.#sendContent(CONTENT_TYPES.application_data, bytes.subarray(at, at + MAX_PLAINTEXT));
    }
    this.#flush();
  }

  /**
   * Sends the KeyUpdate that is due, if any. The owner calls it when the peer accepts what is sent,
   * so that a peer that requests keys and reads nothing gets one answer for all (section 4.6.3).
   */
  answer(): void {
    if (this.#over || this.#writeClosed) return;
    this.#sendKeyUpdateIfDue();
    this.#flush();
  }

  /** Closes our direction: close_notify (section 6.1). Idempotent. */
  close(): void {
    if (this.#over || this.#writeClosed) return;
    this.#sendContent(CONTENT_TYPES.alert, Buffer.of(WARNING, ALERTS.close_notify));
    this.#writeClosed = true;
    this.#flush();
  }

  /** The owner no longer needs it. Calls have no effect and nothing is reported. */
  abandon(): void {
    this.#over = true;
    this.#waiting = [];
  }

  /** Sections 5.1 and 5.2: which record may come when. */
  #takeRecord({ type, head, fragment }: TlsRecord): void {
    if (type === CONTENT_TYPES.change_cipher_spec) {
      this.#takeChangeCipherSpec(fragment);
    } else if (this.#read === null) {
      if (type === CONTENT_TYPES.application_data)
        throw refusal("unexpected_message", "The peer sent data before it had a key.");
      this.#takeContent(type, fragment);
    } else if (type === CONTENT_TYPES.application_data) {
      // Section 5.5: the peer has to change its key long before.
      if (this.#read.key.records >= LIMITS.tls.recordsPerReadKey)
        throw refusal("unexpected_message", "The peer used a key for too long.");
      const opened = this.#read.key.open(head, fragment);
      if (opened.type === CONTENT_TYPES.change_cipher_spec)
        throw refusal("unexpected_message", "The peer encrypted a record that must not be encrypted.");
      this.#takeContent(opened.type, opened.content);
    } else if (type === CONTENT_TYPES.alert && this.#mayLackKeys()) {
      this.#takeContent(type, fragment);
    } else {
      throw refusal("unexpected_message", "The peer sent a record without encryption.");
    }
    this.#heard = true;
  }

  /**
   * A client that can't make keys of our ServerHello says why in plaintext. The handshake fails
   * either way, so forging this gains nothing over cutting the connection.
   */
  #mayLackKeys(): boolean {
    return this.#role === "server" && !this.#connected && this.#read!.key.records === 0;
  }

  /**
   * Section 5: the single byte 1, between the first ClientHello and the peer's Finished, dropped;
   * appendix D.4 has one or two of them.
   */
  #takeChangeCipherSpec(fragment: Buffer): void {
    const early = this.#role === "server" && !this.#heard;
    this.#changeCipherSpecs += 1;
    if (
      early ||
      this.#connected ||
      this.#messages.held > 0 ||
      fragment.length !== 1 ||
      fragment[0] !== 1 ||
      this.#changeCipherSpecs > LIMITS.tls.changeCipherSpecs
    )
      throw refusal("unexpected_message", "A ChangeCipherSpec came where none is allowed.");
  }

  #takeContent(type: number, content: Buffer): void {
    // Section 5.1: no other record between the parts of a handshake message.
    if (type !== CONTENT_TYPES.handshake) this.#requireBoundary();
    switch (type) {
      case CONTENT_TYPES.handshake:
        return this.#takeHandshake(content);
      case CONTENT_TYPES.alert:
        return this.#takeAlert(content);
      case CONTENT_TYPES.application_data:
        return this.#takeData(content);
      default:
        throw refusal("unexpected_message", "A TLS record has an unknown type.");
    }
  }

  #takeData(content: Buffer): void {
    if (!this.#connected)
      throw refusal("unexpected_message", "The peer sent data before the handshake was done.");
    // Section 5.1: empty data is allowed, for the sake of traffic analysis.
    if (content.length === 0) {
      this.#countIdle();
      return;
    }
    // A byte now and then doesn't buy another allowance.
    this.#idleMessages = Math.max(0, this.#idleMessages - content.length / LIMITS.tls.bytesPerIdleMessage);
    this.#flush();
    this.#sink.data(content);
  }

  #takeHandshake(content: Buffer): void {
    // Section 5.1: never empty.
    if (content.length === 0) throw refusal("unexpected_message", "A TLS handshake record is empty.");
    this.#messages.push(content);
    for (;;) {
      const message = this.#over ? null : this.#messages.next();
      if (message === null) return;
      if (this.#handshake === null) this.#takeLater(message);
      else {
        this.#handshake.take(message);
        if (this.#handshake.peerPublicKey !== null) this.#connect(this.#handshake.peerPublicKey);
      }
    }
  }

  #connect(peerPublicKey: Buffer): void {
    this.#connected = true;
    this.#handshake = null;
    this.#flush();
    this.#sink.connected(peerPublicKey);
  }

  /** Section 4.6: what may come after the handshake. */
  #takeLater({ type, body }: HandshakeMessage): void {
    this.#countIdle();
    if (type === HANDSHAKE_TYPES.key_update) this.#takeKeyUpdate(body);
    // Section 4.6.1: we never resume.
    else if (type === HANDSHAKE_TYPES.new_session_ticket && this.#role === "client") readTicket(body);
    else throw refusal("unexpected_message", "A TLS handshake message came after the handshake.");
  }

  /** Section 4.6.3. */
  #takeKeyUpdate(body: Buffer): void {
    const requested = decode(body, (reader) => reader.u8());
    if (requested > 1) throw refusal("illegal_parameter", "The peer's KeyUpdate makes an unknown request.");
    this.#requireBoundary();
    this.#read = updated(this.#read!);
    if (requested === 1) this.#answerDue = true;
  }

  /** Section 6: two bytes, of which the level says nothing in TLS 1.3. */
  #takeAlert(content: Buffer): void {
    if (content.length === 0) throw refusal("unexpected_message", "A TLS alert is empty.");
    const description = decode(content, (reader) => {
      reader.u8();
      return reader.u8();
    });
    if (description === ALERTS.user_canceled) {
      // Section 6.1: close_notify follows.
      this.#countIdle();
    } else if (description === ALERTS.close_notify && this.#connected) {
      this.#readClosed = true;
      this.#flush();
      this.#sink.closed();
    } else {
      throw refusedByPeer(description);
    }
  }

  #countIdle(): void {
    this.#idleMessages += 1;
    if (this.#idleMessages > LIMITS.tls.idleMessages)
      throw refusal("unexpected_message", "The peer sent many records with little data.");
  }

  #requireBoundary(): void {
    if (this.#messages.held > 0)
      throw refusal("unexpected_message", "A TLS handshake message doesn't end where it must.");
  }

  #sendKeyUpdateIfDue(): void {
    if (this.#answerDue) this.#sendKeyUpdate();
  }

  /** Section 4.6.3: update_not_requested under the old key, then the next one. */
  #sendKeyUpdate(): void {
    this.#answerDue = false;
    this.#sendContent(CONTENT_TYPES.handshake, handshakeMessage(HANDSHAKE_TYPES.key_update, Buffer.of(0)));
    this.#write = updated(this.#write!);
  }

  /** At most MAX_PLAINTEXT bytes: our flights are small, and data arrives already split. */
  #sendContent(type: number, content: Uint8Array): void {
    if (this.#write !== null) this.#waiting.push(...this.#write.key.seal(type, content));
    else
      this.#waiting.push(
        Buffer.of(type, 3, 3, content.length >> 8, content.length & 0xff),
        Buffer.from(content),
      );
  }

  #flush(): void {
    if (this.#waiting.length === 0) return;
    const pieces = this.#waiting;
    this.#waiting = [];
    this.#sink.send(pieces);
  }

  /**
   * Every failure ends here: an alert unless the peer or the transport ended the connection, then
   * nothing more.
   */
  #fail(cause: unknown): void {
    if (this.#over) return;
    const error =
      cause instanceof TlsError
        ? cause
        : new TlsError("us", ALERTS.internal_error, "An internal error ended the TLS connection.", cause);
    if (error.origin === "us" && error.alert !== null && !this.#writeClosed)
      this.#sendContent(CONTENT_TYPES.alert, Buffer.of(FATAL, error.alert));
    this.#flush();
    this.#over = true;
    this.#sink.failed(error);
  }
}

/** Section 4.6.1: only whether it is one. */
function readTicket(body: Buffer): void {
  decode(body, (reader) => {
    reader.bytes(8);
    reader.vector(1);
    reader.vector(2, 1);
    reader.vector(2);
  });
}
