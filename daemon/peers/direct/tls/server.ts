/** The server's handshake (RFC 8446, sections 2 and 4, appendix A.2). */
import { refusal } from "./alert.ts";
import { decode, Reader, u8, u16, vector } from "./codec.ts";
import { EXTENSIONS, type Extensions, extension, required } from "./extensions.ts";
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
  type ClientHello,
  ED25519,
  RAW_PUBLIC_KEY,
  readClientHello,
  TLS13,
  writeServerHello,
  X25519,
} from "./hello.ts";
import { KeySchedule, type TrafficSecrets } from "./key-schedule.ts";
import { KeyShare } from "./key-share.ts";
import { HANDSHAKE_TYPES, type HandshakeMessage, handshakeMessage } from "./messages.ts";
import {
  checkCertificateVerify,
  readCertificate,
  writeCertificate,
  writeCertificateVerify,
} from "./raw-key.ts";
import type { Suite } from "./suites.ts";
import { Transcript } from "./transcript.ts";

/**
 * Appendix A.2 by its names. RECVD_CH, NEGOTIATED and WAIT_FLIGHT2 pass within one step; early data
 * and clients without a key aren't there. START_AFTER_RETRY waits for the second ClientHello.
 */
type ServerState = "START" | "START_AFTER_RETRY" | "WAIT_CERT" | "WAIT_CV" | "WAIT_FINISHED" | "CONNECTED";

/** Extensions of our CertificateRequest: what the client's Certificate may answer. */
const REQUESTED: ReadonlySet<number> = new Set([EXTENSIONS.signature_algorithms]);

/** What may differ in a second ClientHello (section 4.1.2), of what may be there at all. */
const CHANGEABLE: ReadonlySet<number> = new Set([EXTENSIONS.key_share, EXTENSIONS.padding]);

/** A first ClientHello that HelloRetryRequest answered. */
interface Retried {
  hello: ClientHello;
  clientHello: Buffer;
  helloRetryRequest: Buffer;
}

export class ServerHandshake implements Handshake {
  readonly #options: HandshakeOptions;
  readonly #wire: HandshakeWire;
  #state: ServerState = "START";
  readonly #table: Table<ServerState> = {
    START: { type: HANDSHAKE_TYPES.client_hello, step: (message) => this.#clientHello(message) },
    START_AFTER_RETRY: { type: HANDSHAKE_TYPES.client_hello, step: (message) => this.#clientHello(message) },
    WAIT_CERT: { type: HANDSHAKE_TYPES.certificate, step: (message) => this.#certificate(message) },
    WAIT_CV: {
      type: HANDSHAKE_TYPES.certificate_verify,
      step: (message) => this.#certificateVerify(message),
    },
    WAIT_FINISHED: { type: HANDSHAKE_TYPES.finished, step: (message) => this.#finished(message) },
    CONNECTED: null,
  };

  #retried: Retried | null = null;
  // What later steps need of earlier ones.
  #suite!: Suite;
  #transcript!: Transcript;
  #secrets!: TrafficSecrets;
  #applicationSecret!: Buffer;
  #clientKey!: Buffer;

  constructor(options: HandshakeOptions, wire: HandshakeWire) {
    this.#options = options;
    this.#wire = wire;
  }

  get peerPublicKey(): Buffer | null {
    return this.#state === "CONNECTED" ? this.#clientKey : null;
  }

  start(): void {
    // The client begins.
  }

  take(message: HandshakeMessage): void {
    this.#state = advance(this.#table, this.#state, message);
  }

  /** Section 4.1.2. */
  #clientHello(message: HandshakeMessage): ServerState {
    const hello = readClientHello(message.body);
    const suite = this.#negotiate(hello);
    const shares = readShares(hello.extensions);
    if (this.#retried !== null) requireRetried(this.#retried.hello, hello, shares);
    const share = shares.get(X25519);
    // Whatever we answer, it is our turn: nothing may come after the hello.
    this.#wire.requireBoundary();
    if (share === undefined) return this.#askAgain(hello, suite, message);
    return this.#answer(hello, suite, share, message);
  }

  /**
   * Checks everything that has to be there and to fit before anything is answered. Returns the
   * suite.
   */
  #negotiate({ extensions, suites, compressionMethods }: ClientHello): Suite {
    // Section 4.2.1: only this extension counts, and without it the client does TLS 1.2 at best.
    const versions = extensions.get(EXTENSIONS.supported_versions);
    const offered =
      versions === undefined ? [] : decode(versions, (reader) => numbersOf(reader.vector(1, 2, 254)));
    if (!offered.includes(TLS13)) throw refusal("protocol_version", "The peer doesn't support TLS 1.3.");
    if (compressionMethods.length !== 1 || compressionMethods[0] !== 0)
      throw refusal("illegal_parameter", "The peer offers compression.");
    // We issue no tickets and have no shared keys, so these can't be meant for us.
    if (extensions.has(EXTENSIONS.pre_shared_key) || extensions.has(EXTENSIONS.early_data))
      throw refusal("handshake_failure", "The peer wants to resume a session, which Direct doesn't support.");
    // Section 4.2.2: we send none, not even in HelloRetryRequest.
    if (extensions.has(EXTENSIONS.cookie))
      throw refusal("illegal_parameter", "The peer returned a cookie that this side didn't give.");
    const suite = this.#options.suites.find(({ id }) => suites.includes(id));
    if (suite === undefined) throw refusal("handshake_failure", "The peer offers no common cipher suite.");
    const schemes = decode(required(extensions, "signature_algorithms"), (reader) => reader.numbers());
    if (!schemes.includes(ED25519))
      throw refusal("handshake_failure", "The peer doesn't accept Ed25519 signatures.");
    const groups = decode(required(extensions, "supported_groups"), (reader) => reader.numbers());
    if (!groups.includes(X25519)) throw refusal("handshake_failure", "The peer doesn't support X25519.");
    this.#requireProtocol(extensions.get(EXTENSIONS.application_layer_protocol_negotiation));
    requireRawPublicKey(extensions.get(EXTENSIONS.client_certificate_type));
    requireRawPublicKey(extensions.get(EXTENSIONS.server_certificate_type));
    return suite;
  }

  /** RFC 7301, section 3.2. */
  #requireProtocol(data: Buffer | undefined): void {
    const names: string[] = [];
    if (data !== undefined) {
      const list = new Reader(decode(data, (reader) => reader.vector(2, 2)));
      while (list.left > 0) names.push(list.vector(1, 1).toString("latin1"));
    }
    if (!names.includes(this.#options.alpn))
      throw refusal("no_application_protocol", `The peer doesn't speak ${this.#options.alpn}.`);
  }

  /** HelloRetryRequest (section 4.1.4): the client supports X25519 and sent no share for it. */
  #askAgain(hello: ClientHello, suite: Suite, message: HandshakeMessage): ServerState {
    const helloRetryRequest = writeServerHello({
      random: null,
      sessionId: hello.sessionId,
      suite: suite.id,
      extensions: [extension("supported_versions", u16(TLS13)), extension("key_share", u16(X25519))],
    });
    this.#retried = { hello, clientHello: message.whole, helloRetryRequest };
    this.#wire.send(helloRetryRequest);
    this.#sendCompatibility(hello);
    return "START_AFTER_RETRY";
  }

  /** ServerHello to Finished, in one flight. */
  #answer(hello: ClientHello, suite: Suite, share: Buffer, message: HandshakeMessage): ServerState {
    const { identity, alpn, random } = this.#options;
    const keyShare = new KeyShare(random);
    // Before ServerHello goes out: a share of small order is refused in plaintext.
    const sharedSecret = keyShare.agree(share);
    // Section 4.1.3.
    const serverHello = writeServerHello({
      random: random.bytes(32),
      sessionId: hello.sessionId,
      suite: suite.id,
      extensions: [
        extension("supported_versions", u16(TLS13)),
        extension("key_share", u16(X25519), vector(2, keyShare.publicKey)),
      ],
    });
    this.#wire.send(serverHello);
    if (this.#retried === null) {
      this.#transcript = new Transcript(suite, message.whole);
      this.#sendCompatibility(hello);
    } else {
      const { clientHello, helloRetryRequest } = this.#retried;
      this.#transcript = Transcript.afterRetry(suite, clientHello, helloRetryRequest);
      this.#transcript.add(message.whole);
      this.#retried = null;
    }
    this.#transcript.add(serverHello);
    this.#suite = suite;
    const schedule = new KeySchedule(suite, sharedSecret);
    this.#secrets = schedule.handshake(this.#transcript.digest());
    this.#wire.writeWith(suite, this.#secrets.server);
    this.#wire.readWith(suite, this.#secrets.client);

    // Section 4.3.1: a certificate type is one byte here.
    const encryptedExtensions = handshakeMessage(
      HANDSHAKE_TYPES.encrypted_extensions,
      vector(
        2,
        extension(
          "application_layer_protocol_negotiation",
          vector(2, vector(1, Buffer.from(alpn, "latin1"))),
        ),
        extension("client_certificate_type", u8(RAW_PUBLIC_KEY)),
        extension("server_certificate_type", u8(RAW_PUBLIC_KEY)),
      ),
    );
    // Section 4.3.2: an empty context in the handshake.
    const certificateRequest = handshakeMessage(
      HANDSHAKE_TYPES.certificate_request,
      vector(1),
      vector(2, extension("signature_algorithms", vector(2, u16(ED25519)))),
    );
    const certificate = writeCertificate(identity.publicKey);
    for (const bytes of [encryptedExtensions, certificateRequest, certificate]) this.#transcript.add(bytes);
    const proof = writeCertificateVerify(
      (bytes) => identity.sign(bytes),
      "server",
      this.#transcript.digest(),
    );
    this.#transcript.add(proof);
    const finished = writeFinished(suite, this.#secrets.server, this.#transcript.digest());
    this.#transcript.add(finished);
    this.#wire.send(encryptedExtensions, certificateRequest, certificate, proof, finished);
    // Section 7.1: both application secrets end with the server's Finished. We send under ours from
    // now on. The client doesn't yet.
    const application = schedule.application(this.#transcript.digest());
    this.#wire.writeWith(suite, application.server);
    this.#applicationSecret = application.client;
    return "WAIT_CERT";
  }

  /** Appendix D.4: for a client that shows a session id, once, after our first message. */
  #sendCompatibility(hello: ClientHello): void {
    if (hello.sessionId.length > 0) this.#wire.sendChangeCipherSpec();
  }

  /** Section 4.4.2. */
  #certificate(message: HandshakeMessage): ServerState {
    this.#clientKey = readCertificate(message.body, "client", REQUESTED);
    this.#transcript.add(message.whole);
    return "WAIT_CV";
  }

  /** Section 4.4.3: the client holds the key; then whether it is an accepted one. */
  #certificateVerify(message: HandshakeMessage): ServerState {
    checkCertificateVerify(message.body, this.#clientKey, "client", this.#transcript.digest());
    checkPin(this.#options.pin, this.#clientKey);
    this.#transcript.add(message.whole);
    return "WAIT_FINISHED";
  }

  /** Section 4.4.4. */
  #finished(message: HandshakeMessage): ServerState {
    checkFinished(this.#suite, this.#secrets.client, this.#transcript.digest(), message.body);
    this.#wire.requireBoundary();
    this.#wire.readWith(this.#suite, this.#applicationSecret);
    return "CONNECTED";
  }
}

/** The elements of a list of two-byte numbers. */
function numbersOf(list: Buffer): number[] {
  return decode(list, (reader) => {
    const numbers: number[] = [];
    while (reader.left > 0) numbers.push(reader.u16());
    return numbers;
  });
}

/** RFC 7250, section 4.2: a list of types; leaving it out offers only X.509. */
function requireRawPublicKey(data: Buffer | undefined): void {
  const types = data === undefined ? null : decode(data, (reader) => reader.vector(1, 1));
  if (!types?.includes(RAW_PUBLIC_KEY))
    throw refusal("unsupported_certificate", "The peer doesn't support raw public keys on both sides.");
}

/**
 * The shares by group (section 4.2.8): at most one each, and only for groups that the client
 * supports.
 */
function readShares(extensions: Extensions): Map<number, Buffer> {
  const groups = decode(required(extensions, "supported_groups"), (reader) => reader.numbers());
  const list = new Reader(decode(required(extensions, "key_share"), (reader) => reader.vector(2)));
  const shares = new Map<number, Buffer>();
  while (list.left > 0) {
    const group = list.u16();
    const share = list.vector(2, 1);
    if (shares.has(group) || !groups.includes(group))
      throw refusal("illegal_parameter", "The peer offered a key share that it must not offer.");
    shares.set(group, share);
  }
  return shares;
}

/**
 * Section 4.1.2: a second ClientHello is the first one but for what it was asked to change, and has
 * the one share it was asked for.
 */
function requireRetried(first: ClientHello, second: ClientHello, shares: ReadonlyMap<number, Buffer>): void {
  const fixed = ({ extensions }: ClientHello) => [...extensions].filter(([type]) => !CHANGEABLE.has(type));
  const same =
    first.random.equals(second.random) &&
    first.sessionId.equals(second.sessionId) &&
    first.suites.join() === second.suites.join() &&
    fixed(first).length === fixed(second).length &&
    fixed(first).every(([type, data]) => second.extensions.get(type)?.equals(data) === true);
  if (!same) throw refusal("illegal_parameter", "The peer's second ClientHello differs from its first.");
  if (shares.size !== 1 || !shares.has(X25519))
    throw refusal(
      "illegal_parameter",
      "The peer's second ClientHello doesn't have exactly the key share that was requested.",
    );
}
