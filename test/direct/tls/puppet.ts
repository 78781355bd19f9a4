/**
 * The other end of a connection under test: it keeps to the protocol by itself and does wrong whatever a test asks for. The transcript
 * holds what really went over, so that a changed message is refused for what it says and not for a wrong Finished.
 */
import { createHash } from "node:crypto";
import { u8, u16, vector } from "../../../daemon/direct/tls/codec.ts";
import type { TlsOptions } from "../../../daemon/direct/tls/connection.ts";
import { EXTENSIONS, extension } from "../../../daemon/direct/tls/extensions.ts";
import {
  type ClientHello,
  ED25519,
  RAW_PUBLIC_KEY,
  readClientHello,
  readServerHello,
  TLS12,
  TLS13,
  X25519,
} from "../../../daemon/direct/tls/hello.ts";
import { finishedData, KeySchedule, nextTrafficSecret } from "../../../daemon/direct/tls/key-schedule.ts";
import { KeyShare } from "../../../daemon/direct/tls/key-share.ts";
import { HANDSHAKE_TYPES, HandshakeReader, handshakeMessage } from "../../../daemon/direct/tls/messages.ts";
import { TrafficKey } from "../../../daemon/direct/tls/protection.ts";
import { CONTENT_TYPES, RecordReader } from "../../../daemon/direct/tls/records.ts";
import { SUITES, type Suite } from "../../../daemon/direct/tls/suites.ts";
import { RealRandom } from "../../../daemon/platform/real-random.ts";
import { ALPN, CLIENT_KEY, SERVER_KEY, Target, type TestKey } from "./target.ts";

export const RETRY_RANDOM = createHash("sha256").update("HelloRetryRequest").digest();

export function spki(key: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), key]);
}

export function rawExtension(type: number, data: Uint8Array = Buffer.alloc(0)): Buffer {
  return Buffer.concat([u16(type), vector(2, data)]);
}

export const alpnExtension = (...names: string[]): Buffer =>
  extension(
    "application_layer_protocol_negotiation",
    vector(2, ...names.map((name) => vector(1, Buffer.from(name)))),
  );

/** One step of a script, to be done otherwise. */
export type Steps<Name extends string> = Partial<Record<Name, () => void>>;

export interface CertificateParts {
  context?: Uint8Array;
  entries?: readonly { data: Uint8Array; extensions?: Uint8Array }[];
}

export interface VerifyParts {
  scheme?: number;
  label?: string;
  signer?: TestKey;
  edit?: (signature: Buffer) => Buffer;
}

export abstract class Puppet {
  readonly target: Target;
  readonly role: "client" | "server";
  readonly share = new KeyShare(new RealRandom());
  suite: Suite = SUITES[0]!;
  protected transcript: Buffer[] = [];
  protected schedule: KeySchedule | null = null;
  protected secrets!: { client: Buffer; server: Buffer };
  protected application!: { client: Buffer; server: Buffer };
  writeKey: TrafficKey | null = null;
  writeSecret!: Buffer;
  readKey: TrafficKey | null = null;
  readonly #records = new RecordReader();
  readonly #messages = new HandshakeReader(1 << 20);
  /** Alerts that the target has sent. */
  alerts: number[] = [];
  changeCipherSpecs = 0;
  /** Outer types of the target's records. */
  rawRecordTypes: number[] = [];
  /** Whether a KeyUpdate of the target changes the key for what follows in the same call. */
  followUpdates = false;
  received: Buffer = Buffer.alloc(0);
  /** Handshake messages of the target, whole. */
  heard: Buffer[] = [];

  constructor(role: "client" | "server", options: Partial<TlsOptions>) {
    this.role = role;
    this.target = new Target(role === "client" ? "server" : "client", options);
    this.target.connection.start();
  }

  get hash(): Buffer {
    return createHash(this.suite.hash).update(Buffer.concat(this.transcript)).digest();
  }

  /** Zeros inside every protected record, unless it says otherwise. */
  padding = 0;

  /** Records for one piece of content, as the present key demands. `pad` zeros follow it inside. */
  record(type: number, content: Uint8Array, pad = this.padding): Buffer {
    if (this.writeKey === null) return plainRecord(type, content);
    // seal puts one byte behind: a zero, as the last of the padding.
    return Buffer.concat(
      pad === 0
        ? this.writeKey.seal(type, content)
        : this.writeKey.seal(0, Buffer.concat([content, u8(type), Buffer.alloc(pad - 1)])),
    );
  }

  raw(bytes: Uint8Array): void {
    this.target.connection.receive(Buffer.from(bytes));
  }

  sendRecord(type: number, content: Uint8Array, pad = this.padding): void {
    this.raw(this.record(type, content, pad));
  }

  /** Handshake messages in one record, into the transcript too. */
  say(...messages: Buffer[]): void {
    this.transcript.push(...messages);
    this.sendRecord(CONTENT_TYPES.handshake, Buffer.concat(messages));
  }

  /** A message with one byte in each record. */
  sendBytewise(message: Buffer): void {
    this.transcript.push(message);
    for (const byte of message) this.sendRecord(CONTENT_TYPES.handshake, u8(byte));
  }

  /** What the target has sent since, decrypted. */
  listen(): void {
    this.#records.feed(this.target.take(), ({ type, head, fragment }) => {
      this.rawRecordTypes.push(type);
      if (type === CONTENT_TYPES.change_cipher_spec) {
        this.changeCipherSpecs += 1;
        return true;
      }
      const opened =
        type === CONTENT_TYPES.application_data && this.readKey !== null
          ? this.readKey.open(head, fragment)
          : { type, content: fragment };
      if (opened.type === CONTENT_TYPES.alert) this.alerts.push(opened.content[1]!);
      else if (opened.type === CONTENT_TYPES.application_data)
        this.received = Buffer.concat([this.received, opened.content]);
      else this.#messages.push(opened.content);
      for (let message = this.#messages.next(); message !== null; message = this.#messages.next()) {
        this.heard.push(Buffer.from(message.whole));
        if (message.type !== HANDSHAKE_TYPES.key_update) this.heardMessage(message.type, message.whole);
        else if (this.followUpdates) this.updateReadKey();
      }
      return true;
    });
  }

  /** Lets a role follow the target's messages, to change keys between two records. */
  protected abstract heardMessage(type: number, whole: Buffer): void;

  protected write(secret: Buffer): void {
    this.writeSecret = secret;
    this.writeKey = new TrafficKey(this.suite, secret);
  }

  updateWriteKey(): void {
    this.write(nextTrafficSecret(this.suite, this.writeSecret));
  }

  updateReadKey(): void {
    this.application[this.target.role] = nextTrafficSecret(this.suite, this.application[this.target.role]);
    this.readKey = new TrafficKey(this.suite, this.application[this.target.role]);
  }

  certificateMessage(parts: CertificateParts = {}): Buffer {
    const key = this.role === "server" ? SERVER_KEY : CLIENT_KEY;
    const entries: NonNullable<CertificateParts["entries"]> = parts.entries ?? [
      { data: spki(key.publicKey) },
    ];
    return handshakeMessage(
      HANDSHAKE_TYPES.certificate,
      vector(1, parts.context ?? Buffer.alloc(0)),
      vector(
        3,
        ...entries.flatMap(({ data, extensions }) => [
          vector(3, data),
          vector(2, extensions ?? Buffer.alloc(0)),
        ]),
      ),
    );
  }

  verifyMessage(parts: VerifyParts = {}): Buffer {
    const signer = parts.signer ?? (this.role === "server" ? SERVER_KEY : CLIENT_KEY);
    const label = parts.label ?? `TLS 1.3, ${this.role} CertificateVerify`;
    const content = Buffer.concat([Buffer.alloc(64, 32), Buffer.from(`${label}\0`), this.hash]);
    const signature = Buffer.from(signer.sign(content));
    return handshakeMessage(
      HANDSHAKE_TYPES.certificate_verify,
      u16(parts.scheme ?? ED25519),
      vector(2, parts.edit?.(signature) ?? signature),
    );
  }

  finishedMessage(): Buffer {
    return handshakeMessage(
      HANDSHAKE_TYPES.finished,
      finishedData(this.suite, this.secrets[this.role], this.hash),
    );
  }

  keyUpdate(value: number): void {
    this.sendRecord(CONTENT_TYPES.handshake, handshakeMessage(HANDSHAKE_TYPES.key_update, Buffer.of(value)));
    this.updateWriteKey();
  }
}

export function plainRecord(type: number, content: Uint8Array): Buffer {
  return Buffer.concat([u8(type), u16(TLS12), vector(2, content)]);
}

const SERVER_STEPS = [
  "serverHello",
  "encryptedExtensions",
  "certificateRequest",
  "certificate",
  "certificateVerify",
  "finished",
] as const;
export type ServerStep = (typeof SERVER_STEPS)[number];

export interface ServerHelloParts {
  version?: number;
  random?: Uint8Array;
  sessionId?: Uint8Array;
  suite?: number;
  compression?: number;
  extensions?: readonly Buffer[];
}

/** A server, for our client. */
export class ScriptedServer extends Puppet {
  static readonly steps = SERVER_STEPS;
  hello!: ClientHello;
  /** Bytes of our client's hellos. */
  hellos: Buffer[] = [];

  constructor(options: Partial<TlsOptions> = {}) {
    super("server", options);
    this.listen();
  }

  protected heardMessage(type: number, whole: Buffer): void {
    if (type === HANDSHAKE_TYPES.client_hello) {
      this.hello = readClientHello(whole.subarray(4));
      this.hellos.push(Buffer.from(whole));
    }
    this.transcript.push(Buffer.from(whole));
  }

  /** All steps but `until` and what follows it; those in `other` are done that way. */
  run(other: Steps<ServerStep> = {}, until?: ServerStep): this {
    for (const step of SERVER_STEPS) {
      if (step === until || this.target.failure !== undefined) break;
      (other[step] ?? (() => this[step]()))();
    }
    this.listen();
    return this;
  }

  helloMessage(parts: ServerHelloParts = {}): Buffer {
    return handshakeMessage(
      HANDSHAKE_TYPES.server_hello,
      u16(parts.version ?? TLS12),
      parts.random ?? Buffer.alloc(32, 7),
      vector(1, parts.sessionId ?? this.hello.sessionId),
      u16(parts.suite ?? this.suite.id),
      u8(parts.compression ?? 0),
      ...(parts.extensions?.length === 0 ? [] : [vector(2, ...(parts.extensions ?? this.helloExtensions()))]),
    );
  }

  helloExtensions(share: Uint8Array = this.share.publicKey): Buffer[] {
    return [
      extension("supported_versions", u16(TLS13)),
      extension("key_share", u16(X25519), vector(2, share)),
    ];
  }

  serverHello(message = this.helloMessage()): void {
    this.say(message);
    this.keys();
  }

  /** Keys from the hellos as they are. */
  keys(): void {
    const clientShare = this.hello.extensions.get(EXTENSIONS.key_share)!.subarray(6);
    if (clientShare.length !== 32) return;
    this.schedule = new KeySchedule(this.suite, this.share.agree(clientShare));
    this.secrets = this.schedule.handshake(this.hash);
    this.write(this.secrets.server);
    this.readKey = new TrafficKey(this.suite, this.secrets.client);
  }

  retryMessage(parts: ServerHelloParts = {}): Buffer {
    return this.helloMessage({
      random: RETRY_RANDOM,
      extensions: [extension("supported_versions", u16(TLS13)), extension("key_share", u16(X25519))],
      ...parts,
    });
  }

  /** HelloRetryRequest, and the client's answer read. */
  retry(message: Buffer): void {
    const first = createHash(this.suite.hash).update(Buffer.concat(this.transcript)).digest();
    this.transcript = [handshakeMessage(HANDSHAKE_TYPES.message_hash, first)];
    this.say(message);
    this.listen();
  }

  /** Of EncryptedExtensions. */
  usualExtensions(): Buffer[] {
    return [
      alpnExtension(ALPN),
      extension("client_certificate_type", u8(RAW_PUBLIC_KEY)),
      extension("server_certificate_type", u8(RAW_PUBLIC_KEY)),
    ];
  }

  extensionsMessage(extensions: readonly Buffer[] = this.usualExtensions()): Buffer {
    return handshakeMessage(HANDSHAKE_TYPES.encrypted_extensions, vector(2, ...extensions));
  }

  encryptedExtensions(message = this.extensionsMessage()): void {
    this.say(message);
  }

  requestMessage(
    context: Uint8Array = Buffer.alloc(0),
    extensions: readonly Buffer[] = [extension("signature_algorithms", vector(2, u16(ED25519)))],
  ): Buffer {
    return handshakeMessage(
      HANDSHAKE_TYPES.certificate_request,
      vector(1, context),
      vector(2, ...extensions),
    );
  }

  certificateRequest(message = this.requestMessage()): void {
    this.say(message);
  }

  /** The rest of the flight in one record. */
  sayJoined(): void {
    const parts = [
      () => this.extensionsMessage(),
      () => this.requestMessage(),
      () => this.certificateMessage(),
      () => this.verifyMessage(),
      () => this.finishedMessage(),
    ];
    const messages: Buffer[] = [];
    for (const make of parts) {
      messages.push(make());
      this.transcript.push(messages.at(-1)!);
    }
    this.sendRecord(CONTENT_TYPES.handshake, Buffer.concat(messages));
    this.applicationKeys();
  }

  certificate(message = this.certificateMessage()): void {
    this.say(message);
  }

  certificateVerify(message = this.verifyMessage()): void {
    this.say(message);
  }

  finished(message = this.finishedMessage()): void {
    this.say(message);
    this.applicationKeys();
  }

  /** After our Finished. */
  applicationKeys(): void {
    this.application = this.schedule!.application(this.hash);
    // The client's authentication comes under the handshake key, what follows under the next one.
    this.listen();
    this.write(this.application.server);
    this.readKey = new TrafficKey(this.suite, this.application.client);
  }
}

const CLIENT_STEPS = ["clientHello", "certificate", "certificateVerify", "finished"] as const;
export type ClientStep = (typeof CLIENT_STEPS)[number];

export interface ClientHelloParts {
  version?: number;
  sessionId?: Uint8Array;
  suites?: readonly number[];
  compression?: Uint8Array;
  /** By type, instead of the usual ones; null leaves one out. */
  replace?: ReadonlyMap<number, Buffer | null>;
  more?: readonly Buffer[];
}

/** A client, for our server. */
export class ScriptedClient extends Puppet {
  static readonly steps = CLIENT_STEPS;

  constructor(options: Partial<TlsOptions> = {}) {
    super("client", options);
  }

  protected heardMessage(type: number, whole: Buffer): void {
    const last = type === HANDSHAKE_TYPES.server_hello ? readServerHello(whole.subarray(4)) : null;
    if (last?.retry === true) {
      const first = createHash(this.suite.hash).update(Buffer.concat(this.transcript)).digest();
      this.transcript = [handshakeMessage(HANDSHAKE_TYPES.message_hash, first)];
    }
    this.transcript.push(Buffer.from(whole));
    if (last !== null && !last.retry) {
      this.suite = SUITES.find(({ id }) => id === last.suite)!;
      const share = last.extensions.get(EXTENSIONS.key_share)!.subarray(4);
      this.schedule = new KeySchedule(this.suite, this.share.agree(share));
      this.secrets = this.schedule.handshake(this.hash);
      this.write(this.secrets.client);
      this.readKey = new TrafficKey(this.suite, this.secrets.server);
    }
    if (type === HANDSHAKE_TYPES.finished) {
      this.application = this.schedule!.application(this.hash);
      this.readKey = new TrafficKey(this.suite, this.application.server);
    }
  }

  run(other: Steps<ClientStep> = {}, until?: ClientStep): this {
    for (const step of CLIENT_STEPS) {
      if (step === until || this.target.failure !== undefined) break;
      (other[step] ?? (() => this[step]()))();
    }
    this.listen();
    return this;
  }

  keyShare(share: Uint8Array = this.share.publicKey): Buffer {
    return extension("key_share", vector(2, u16(X25519), vector(2, share)));
  }

  helloMessage(parts: ClientHelloParts = {}): Buffer {
    const usual = [
      extension("supported_groups", vector(2, u16(X25519), u16(0x17))),
      extension("signature_algorithms", vector(2, u16(ED25519))),
      alpnExtension(ALPN),
      extension("client_certificate_type", vector(1, u8(RAW_PUBLIC_KEY))),
      extension("server_certificate_type", vector(1, u8(RAW_PUBLIC_KEY))),
      extension("supported_versions", vector(1, u16(TLS13))),
      this.keyShare(),
    ].flatMap((bytes) => {
      const other = parts.replace?.get(bytes.readUInt16BE(0));
      return other === null ? [] : [other ?? bytes];
    });
    return handshakeMessage(
      HANDSHAKE_TYPES.client_hello,
      u16(parts.version ?? TLS12),
      Buffer.alloc(32, 9),
      vector(1, parts.sessionId ?? Buffer.alloc(0)),
      vector(2, ...(parts.suites ?? SUITES.map(({ id }) => id)).map(u16)),
      vector(1, parts.compression ?? u8(0)),
      vector(2, ...usual, ...(parts.more ?? [])),
    );
  }

  /** A hello in a record of the test's own. */
  rawHello(message: Buffer, record: Buffer): void {
    this.transcript.push(message);
    this.raw(record);
    this.listen();
  }

  clientHello(message = this.helloMessage()): void {
    this.say(message);
    this.listen();
  }

  certificate(message = this.certificateMessage()): void {
    this.say(message);
  }

  certificateVerify(message = this.verifyMessage()): void {
    this.say(message);
  }

  finished(message = this.finishedMessage()): void {
    this.say(message);
    this.write(this.application.client);
  }
}
