/**
 * ClientHello, ServerHello and HelloRetryRequest as bytes (RFC 8446, sections 4.1.2 to 4.1.4). What
 * they may say is decided in client.ts and server.ts.
 */
import { decode, u8, u16, vector } from "./codec.ts";
import { checkRequest, type Extensions, readBlock } from "./extensions.ts";
import { HANDSHAKE_TYPES, handshakeMessage } from "./messages.ts";

export const TLS12 = 0x0303;
export const TLS13 = 0x0304;
/** NamedGroup (section 4.2.7). */
export const X25519 = 0x001d;
/** SignatureScheme (section 4.2.3). */
export const ED25519 = 0x0807;
/** CertificateType (RFC 7250, section 3). */
export const RAW_PUBLIC_KEY = 2;

/**
 * The random that makes a ServerHello a HelloRetryRequest: SHA-256 of "HelloRetryRequest" (section
 * 4.1.3).
 */
const RETRY_RANDOM = Buffer.from("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c", "hex");
/**
 * "DOWNGRD": ends the random of a server that could do better than what it negotiates (section
 * 4.1.3).
 */
const DOWNGRADE = Buffer.from("444f574e475244", "hex");

export interface ClientHello {
  random: Buffer;
  sessionId: Buffer;
  suites: number[];
  compressionMethods: Buffer;
  extensions: Extensions;
}

/** legacy_version is ignored (section 4.2.1). A hello without extensions is one of TLS 1.2. */
export function readClientHello(body: Buffer): ClientHello {
  const hello = decode(body, (reader) => {
    reader.u16();
    return {
      random: reader.bytes(32),
      sessionId: reader.vector(1, 0, 32),
      suites: reader.numbers(),
      compressionMethods: reader.vector(1, 1),
      extensions: reader.left === 0 ? new Map<number, Buffer>() : readBlock(reader),
    };
  });
  checkRequest(hello.extensions, "CH");
  return hello;
}

export function writeClientHello(hello: {
  random: Uint8Array;
  suites: readonly number[];
  extensions: readonly Buffer[];
}): Buffer {
  return handshakeMessage(
    HANDSHAKE_TYPES.client_hello,
    u16(TLS12),
    hello.random,
    // No legacy_session_id: nothing between Direct peers has to take this for TLS 1.2 (appendix
    // D.4).
    vector(1),
    vector(2, ...hello.suites.map(u16)),
    // legacy_compression_methods: null.
    vector(1, u8(0)),
    vector(2, ...hello.extensions),
  );
}

export interface ServerHello {
  version: number;
  /** It is a HelloRetryRequest. */
  retry: boolean;
  /** The random says that its sender supports a later version than the one it negotiates. */
  downgraded: boolean;
  sessionId: Buffer;
  suite: number;
  compressionMethod: number;
  extensions: Extensions;
}

/** Its extensions are unchecked: the version comes first (section 4.1.3). */
export function readServerHello(body: Buffer): ServerHello {
  return decode(body, (reader) => {
    const version = reader.u16();
    const random = reader.bytes(32);
    const retry = random.equals(RETRY_RANDOM);
    const downgraded = random.subarray(24, 31).equals(DOWNGRADE) && random[31]! <= 1;
    const sessionId = reader.vector(1, 0, 32);
    const suite = reader.u16();
    const compressionMethod = reader.u8();
    const extensions = reader.left === 0 ? new Map<number, Buffer>() : readBlock(reader);
    return { version, retry, downgraded, sessionId, suite, compressionMethod, extensions };
  });
}

/** ServerHello; a HelloRetryRequest when `random` is null. */
export function writeServerHello(hello: {
  random: Uint8Array | null;
  sessionId: Uint8Array;
  suite: number;
  extensions: readonly Buffer[];
}): Buffer {
  return handshakeMessage(
    HANDSHAKE_TYPES.server_hello,
    u16(TLS12),
    hello.random ?? RETRY_RANDOM,
    vector(1, hello.sessionId),
    u16(hello.suite),
    u8(0),
    vector(2, ...hello.extensions),
  );
}
