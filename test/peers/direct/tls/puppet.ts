/**
 * The other end of a connection under test: it keeps to the protocol by itself and does wrong
 * whatever a test asks for. The transcript holds what really went over, so that a changed message
 * is refused for what it says and not for a wrong Finished.
 */
import { createHash } from "node:crypto";
import { u8, u16, vector } from "../../../../daemon/peers/direct/tls/codec.ts";
import type { TlsOptions } from "../../../../daemon/peers/direct/tls/connection.ts";
import { extension } from "../../../../daemon/peers/direct/tls/extensions.ts";
import { ED25519, TLS12 } from "../../../../daemon/peers/direct/tls/hello.ts";
import {
  finishedData,
  KeySchedule,
  nextTrafficSecret,
} from "../../../../daemon/peers/direct/tls/key-schedule.ts";
import { KeyShare } from "../../../../daemon/peers/direct/tls/key-share.ts";
import {
  HANDSHAKE_TYPES,
  HandshakeReader,
  handshakeMessage,
} from "../../../../daemon/peers/direct/tls/messages.ts";
import { TrafficKey } from "../../../../daemon/peers/direct/tls/protection.ts";
import { CONTENT_TYPES, RecordReader } from "../../../../daemon/peers/direct/tls/records.ts";
import { SUITES, type Suite } from "../../../../daemon/peers/direct/tls/suites.ts";
import { RealRandom } from "../../../../platform/real-random.ts";
import { CLIENT_KEY, SERVER_KEY, Target, type TestKey } from "./target.ts";

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

  certificate(message = this.certificateMessage()): void {
    this.say(message);
  }

  certificateVerify(message = this.verifyMessage()): void {
    this.say(message);
  }

  keyUpdate(value: number): void {
    this.sendRecord(CONTENT_TYPES.handshake, handshakeMessage(HANDSHAKE_TYPES.key_update, Buffer.of(value)));
    this.updateWriteKey();
  }
}

export function plainRecord(type: number, content: Uint8Array): Buffer {
  return Buffer.concat([u8(type), u16(TLS12), vector(2, content)]);
}
