/** A server, for our client, that does wrong where a test asks for it. */
import { createHash } from "node:crypto";
import { u8, u16, vector } from "../../../../daemon/peers/direct/tls/codec.ts";
import type { TlsOptions } from "../../../../daemon/peers/direct/tls/connection.ts";
import { EXTENSIONS, extension } from "../../../../daemon/peers/direct/tls/extensions.ts";
import {
  type ClientHello,
  ED25519,
  RAW_PUBLIC_KEY,
  readClientHello,
  TLS12,
  TLS13,
  X25519,
} from "../../../../daemon/peers/direct/tls/hello.ts";
import { KeySchedule } from "../../../../daemon/peers/direct/tls/key-schedule.ts";
import { HANDSHAKE_TYPES, handshakeMessage } from "../../../../daemon/peers/direct/tls/messages.ts";
import { TrafficKey } from "../../../../daemon/peers/direct/tls/protection.ts";
import { CONTENT_TYPES } from "../../../../daemon/peers/direct/tls/records.ts";
import { alpnExtension, Puppet, RETRY_RANDOM, type Steps } from "./puppet.ts";
import { ALPN } from "./target.ts";

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
