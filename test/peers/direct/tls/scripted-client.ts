/** A client, for our server, that does wrong where a test asks for it. */
import { createHash } from "node:crypto";
import { u8, u16, vector } from "../../../../daemon/peers/direct/tls/codec.ts";
import type { TlsOptions } from "../../../../daemon/peers/direct/tls/connection.ts";
import { EXTENSIONS, extension } from "../../../../daemon/peers/direct/tls/extensions.ts";
import {
  ED25519,
  RAW_PUBLIC_KEY,
  readServerHello,
  TLS12,
  TLS13,
  X25519,
} from "../../../../daemon/peers/direct/tls/hello.ts";
import { KeySchedule } from "../../../../daemon/peers/direct/tls/key-schedule.ts";
import { HANDSHAKE_TYPES, handshakeMessage } from "../../../../daemon/peers/direct/tls/messages.ts";
import { TrafficKey } from "../../../../daemon/peers/direct/tls/protection.ts";
import { SUITES } from "../../../../daemon/peers/direct/tls/suites.ts";
import { alpnExtension, Puppet, type Steps } from "./puppet.ts";
import { ALPN } from "./target.ts";

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

  finished(message = this.finishedMessage()): void {
    this.say(message);
    this.write(this.application.client);
  }
}
