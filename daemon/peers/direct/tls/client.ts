/** The client's handshake (RFC 8446, sections 2 and 4, appendix A.1). */
import { refusal } from "./alert.ts";
import { decode, u8, u16, vector } from "./codec.ts";
import {
  checkAnswer,
  checkRequest,
  EXTENSIONS,
  type Extensions,
  extension,
  readBlock,
  required,
} from "./extensions.ts";
import {
  advance,
  checkFinished,
  checkPin,
  type Handshake,
  type HandshakeOptions,
  type HandshakeWire,
  type Table,
  writeFinished,
} from "./handshake.ts";
import {
  ED25519,
  RAW_PUBLIC_KEY,
  readServerHello,
  type ServerHello,
  TLS12,
  TLS13,
  writeClientHello,
  X25519,
} from "./hello.ts";
import { KeySchedule, type TrafficSecrets } from "./key-schedule.ts";
import { KeyShare } from "./key-share.ts";
import { HANDSHAKE_TYPES, type HandshakeMessage } from "./messages.ts";
import {
  checkCertificateVerify,
  readCertificate,
  writeCertificate,
  writeCertificateVerify,
} from "./raw-key.ts";
import type { Suite } from "./suites.ts";
import { Transcript } from "./transcript.ts";

/**
 * Appendix A.1 by its names. What the profile refuses isn't there: PSK (no WAIT_CERT_CR shortcut)
 * and a server that asks for no key.
 */
type ClientState =
  | "START"
  | "WAIT_SH"
  | "WAIT_SH_AFTER_RETRY"
  | "WAIT_EE"
  | "WAIT_CR"
  | "WAIT_CERT"
  | "WAIT_CV"
  | "WAIT_FINISHED"
  | "CONNECTED";

export class ClientHandshake implements Handshake {
  readonly #options: HandshakeOptions;
  readonly #wire: HandshakeWire;
  readonly #random: Uint8Array;
  #state: ClientState = "START";
  readonly #table: Table<ClientState> = {
    START: null,
    WAIT_SH: { type: HANDSHAKE_TYPES.server_hello, step: (message) => this.#serverHello(message) },
    WAIT_SH_AFTER_RETRY: {
      type: HANDSHAKE_TYPES.server_hello,
      step: (message) => this.#serverHello(message),
    },
    WAIT_EE: {
      type: HANDSHAKE_TYPES.encrypted_extensions,
      step: (message) => this.#encryptedExtensions(message),
    },
    WAIT_CR: {
      type: HANDSHAKE_TYPES.certificate_request,
      step: (message) => this.#certificateRequest(message),
    },
    WAIT_CERT: { type: HANDSHAKE_TYPES.certificate, step: (message) => this.#certificate(message) },
    WAIT_CV: {
      type: HANDSHAKE_TYPES.certificate_verify,
      step: (message) => this.#certificateVerify(message),
    },
    WAIT_FINISHED: { type: HANDSHAKE_TYPES.finished, step: (message) => this.#finished(message) },
    CONNECTED: null,
  };

  #keyShare: KeyShare | null = null;
  #clientHello: Buffer = Buffer.alloc(0);
  /** Types of the extensions in our last ClientHello: what the server may answer. */
  #offered: ReadonlySet<number> = new Set();
  /** What HelloRetryRequest settled; null until there is one. */
  #retrySuite: Suite | null = null;
  // What later steps need of earlier ones.
  #suite!: Suite;
  #transcript!: Transcript;
  #schedule!: KeySchedule;
  #secrets!: TrafficSecrets;
  #serverKey!: Buffer;

  constructor(options: HandshakeOptions, wire: HandshakeWire) {
    this.#options = options;
    this.#wire = wire;
    this.#random = options.random.bytes(32);
  }

  get peerPublicKey(): Buffer | null {
    return this.#state === "CONNECTED" ? this.#serverKey : null;
  }

  start(): void {
    if (this.#options.keyShare) this.#keyShare = new KeyShare(this.#options.random);
    this.#sendClientHello(null);
    this.#state = "WAIT_SH";
  }

  take(message: HandshakeMessage): void {
    this.#state = advance(this.#table, this.#state, message);
  }

  /** Section 4.1.2. The second one differs from the first only in key_share and cookie. */
  #sendClientHello(cookie: Buffer | null): void {
    const { alpn, serverName, suites } = this.#options;
    const shares = this.#keyShare === null ? [] : [u16(X25519), vector(2, this.#keyShare.publicKey)];
    const extensions = [
      // RFC 6066, section 3: one name of type host_name (0).
      extension("server_name", vector(2, u8(0), vector(2, Buffer.from(serverName, "latin1")))),
      extension("supported_groups", vector(2, u16(X25519))),
      extension("signature_algorithms", vector(2, u16(ED25519))),
      extension("application_layer_protocol_negotiation", vector(2, vector(1, Buffer.from(alpn, "latin1")))),
      extension("client_certificate_type", vector(1, u8(RAW_PUBLIC_KEY))),
      extension("server_certificate_type", vector(1, u8(RAW_PUBLIC_KEY))),
      extension("supported_versions", vector(1, u16(TLS13))),
      ...(cookie === null ? [] : [extension("cookie", vector(2, cookie))]),
      extension("key_share", vector(2, ...shares)),
    ];
    this.#offered = new Set(extensions.map((bytes) => bytes.readUInt16BE(0)));
    this.#clientHello = writeClientHello({
      random: this.#random,
      suites: suites.map(({ id }) => id),
      extensions,
    });
    this.#wire.send(this.#clientHello);
  }

  /** Section 4.1.3, and 4.1.4 when it is a HelloRetryRequest. */
  #serverHello(message: HandshakeMessage): ClientState {
    const hello = readServerHello(message.body);
    // The version first: a server of TLS 1.2 answers without this extension, one that was talked
    // down to it says so in its random.
    const version = hello.extensions.get(EXTENSIONS.supported_versions);
    if (version === undefined) {
      if (hello.downgraded)
        throw refusal(
          "illegal_parameter",
          "Someone made the peer believe that this side doesn't support TLS 1.3.",
        );
      throw refusal("protocol_version", "The peer doesn't support TLS 1.3.");
    }
    checkAnswer(hello.extensions, hello.retry ? "HRR" : "SH", this.#offered);
    const selected = decode(version, (reader) => reader.u16());
    if (selected !== TLS13 || hello.version !== TLS12)
      throw refusal("illegal_parameter", "The peer chose a TLS version that this side didn't offer.");
    // legacy_session_id_echo: ours is empty.
    if (hello.sessionId.length > 0 || hello.compressionMethod !== 0)
      throw refusal("illegal_parameter", "The peer's ServerHello answers a different ClientHello.");
    const suite = this.#options.suites.find(({ id }) => id === hello.suite);
    if (suite === undefined || (this.#retrySuite !== null && this.#retrySuite !== suite))
      throw refusal("illegal_parameter", "The peer chose a cipher suite that it must not choose.");
    return hello.retry
      ? this.#helloRetryRequest(hello, suite, message)
      : this.#keyExchange(hello, suite, message);
  }

  /** Section 4.1.4. */
  #helloRetryRequest(hello: ServerHello, suite: Suite, message: HandshakeMessage): ClientState {
    if (this.#state === "WAIT_SH_AFTER_RETRY")
      throw refusal("unexpected_message", "The peer asked for a second ClientHello twice.");
    const groupAsked = this.#takeGroup(hello.extensions);
    const cookieData = hello.extensions.get(EXTENSIONS.cookie);
    const cookie = cookieData === undefined ? null : decode(cookieData, (reader) => reader.vector(2, 1));
    if (!groupAsked && cookie === null)
      throw refusal("illegal_parameter", "The peer asked for the same ClientHello again.");
    // It isn't our turn while more of the server's flight is there.
    this.#wire.requireBoundary();
    this.#transcript = Transcript.afterRetry(suite, this.#clientHello, message.whole);
    this.#retrySuite = suite;
    if (groupAsked) this.#keyShare = new KeyShare(this.#options.random);
    this.#sendClientHello(cookie);
    return "WAIT_SH_AFTER_RETRY";
  }

  /**
   * Whether key_share of a HelloRetryRequest asks for a group (section 4.2.8): it must be offered,
   * and not one whose share it has.
   */
  #takeGroup(extensions: Extensions): boolean {
    const data = extensions.get(EXTENSIONS.key_share);
    if (data === undefined) return false;
    const group = decode(data, (reader) => reader.u16());
    if (group !== X25519 || this.#keyShare !== null)
      throw refusal("illegal_parameter", "The peer asked for a key share that it must not ask for.");
    return true;
  }

  /** ServerHello proper: key_share (section 4.2.8), then the handshake keys (section 7.1). */
  #keyExchange(hello: ServerHello, suite: Suite, message: HandshakeMessage): ClientState {
    const { group, share } = decode(required(hello.extensions, "key_share"), (reader) => ({
      group: reader.u16(),
      share: reader.vector(2, 1),
    }));
    if (group !== X25519 || this.#keyShare === null)
      throw refusal("illegal_parameter", "The peer chose a group that it must not choose.");
    const sharedSecret = this.#keyShare.agree(share);
    this.#wire.requireBoundary();
    this.#suite = suite;
    if (this.#retrySuite === null) this.#transcript = new Transcript(suite, this.#clientHello);
    else this.#transcript.add(this.#clientHello);
    this.#transcript.add(message.whole);
    this.#schedule = new KeySchedule(suite, sharedSecret);
    this.#secrets = this.#schedule.handshake(this.#transcript.digest());
    // Both at once: the server expects whatever comes now, an alert too, under the new key (section
    // 5.2).
    this.#wire.readWith(suite, this.#secrets.server);
    this.#wire.writeWith(suite, this.#secrets.client);
    return "WAIT_EE";
  }

  /** Section 4.3.1. */
  #encryptedExtensions(message: HandshakeMessage): ClientState {
    const extensions = decode(message.body, readBlock);
    checkAnswer(extensions, "EE", this.#offered);
    // RFC 6066, section 3: a server that has used the name says so by an empty answer.
    if ((extensions.get(EXTENSIONS.server_name)?.length ?? 0) > 0)
      throw refusal("decode_error", "The peer answered a server name with a name.");
    const groups = extensions.get(EXTENSIONS.supported_groups);
    if (groups !== undefined) decode(groups, (reader) => reader.numbers());
    // RFC 7301, section 3.1: exactly one name.
    const alpn = extensions.get(EXTENSIONS.application_layer_protocol_negotiation);
    const protocol =
      alpn === undefined
        ? null
        : decode(alpn, (reader) =>
            decode(reader.vector(2), (names) => names.vector(1, 1).toString("latin1")),
          );
    if (protocol !== this.#options.alpn)
      throw refusal("no_application_protocol", `The peer doesn't speak ${this.#options.alpn}.`);
    requireRawPublicKey(extensions.get(EXTENSIONS.client_certificate_type));
    requireRawPublicKey(extensions.get(EXTENSIONS.server_certificate_type));
    this.#transcript.add(message.whole);
    return "WAIT_CR";
  }

  /** Section 4.3.2. Unknown extensions are ignored. */
  #certificateRequest(message: HandshakeMessage): ClientState {
    const { context, extensions } = decode(message.body, (reader) => ({
      context: reader.vector(1),
      extensions: readBlock(reader),
    }));
    if (context.length > 0)
      throw refusal("illegal_parameter", "The peer's CertificateRequest has a context in the handshake.");
    checkRequest(extensions, "CR");
    const schemes = decode(required(extensions, "signature_algorithms"), (reader) => reader.numbers());
    if (!schemes.includes(ED25519))
      throw refusal("handshake_failure", "The peer doesn't accept Ed25519 signatures.");
    this.#transcript.add(message.whole);
    return "WAIT_CERT";
  }

  /** Section 4.4.2. */
  #certificate(message: HandshakeMessage): ClientState {
    this.#serverKey = readCertificate(message.body, "server", this.#offered);
    this.#transcript.add(message.whole);
    return "WAIT_CV";
  }

  /** Section 4.4.3: the server holds the key; then whether it is the right one. */
  #certificateVerify(message: HandshakeMessage): ClientState {
    checkCertificateVerify(message.body, this.#serverKey, "server", this.#transcript.digest());
    checkPin(this.#options.pin, this.#serverKey);
    this.#transcript.add(message.whole);
    return "WAIT_FINISHED";
  }

  /** Section 4.4.4: the server's Finished, then our authentication, then the application keys. */
  #finished(message: HandshakeMessage): ClientState {
    const { identity } = this.#options;
    checkFinished(this.#suite, this.#secrets.server, this.#transcript.digest(), message.body);
    this.#wire.requireBoundary();
    this.#transcript.add(message.whole);
    const application = this.#schedule.application(this.#transcript.digest());

    const certificate = writeCertificate(identity.publicKey);
    this.#transcript.add(certificate);
    const proof = writeCertificateVerify(
      (bytes) => identity.sign(bytes),
      "client",
      this.#transcript.digest(),
    );
    this.#transcript.add(proof);
    this.#wire.send(
      certificate,
      proof,
      writeFinished(this.#suite, this.#secrets.client, this.#transcript.digest()),
    );
    this.#wire.writeWith(this.#suite, application.client);
    this.#wire.readWith(this.#suite, application.server);
    return "CONNECTED";
  }
}

/**
 * In EncryptedExtensions a certificate type is one byte, not a list (RFC 7250, section 3); X.509 is
 * chosen by leaving it out.
 */
function requireRawPublicKey(data: Buffer | undefined): void {
  if (data === undefined)
    throw refusal("unsupported_certificate", "The peer doesn't support raw public keys on both sides.");
  if (decode(data, (reader) => reader.u8()) !== RAW_PUBLIC_KEY)
    throw refusal("illegal_parameter", "The peer chose a certificate type that this side didn't offer.");
}
