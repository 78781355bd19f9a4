/**
 * The key schedule (RFC 8446, section 7.1) for a handshake without PSK, early data, exporters and
 * resumption.
 */
import { createHash, createHmac } from "node:crypto";
import { u16, vector } from "./codec.ts";
import type { Suite } from "./suites.ts";

const EMPTY = Buffer.alloc(0);

function hmac(suite: Suite, key: Uint8Array, data: Uint8Array): Buffer {
  return createHmac(suite.hash, key).update(data).digest();
}

/**
 * HKDF-Expand-Label (section 7.1). Never more than one hash is asked for, so HKDF-Expand is its
 * first block, T(1) = HMAC(PRK, info | 0x01) (RFC 5869, section 2.3).
 */
export function expandLabel(
  suite: Suite,
  secret: Uint8Array,
  label: string,
  context: Uint8Array,
  length: number,
): Buffer {
  if (length > suite.hashBytes) throw new RangeError("more than one block of HKDF-Expand");
  const info = Buffer.concat([
    u16(length),
    vector(1, Buffer.from(`tls13 ${label}`, "latin1")),
    vector(1, context),
    Buffer.of(1),
  ]);
  const block = hmac(suite, secret, info);
  return length === block.length ? block : block.subarray(0, length);
}

/** Derive-Secret (section 7.1), its messages given as their hash. */
function deriveSecret(suite: Suite, secret: Uint8Array, label: string, transcriptHash: Uint8Array): Buffer {
  return expandLabel(suite, secret, label, transcriptHash, suite.hashBytes);
}

/** Derive-Secret(., "derived", "") with the hash of nothing: the salt of the next extract. */
function nextSalt(suite: Suite, secret: Uint8Array): Buffer {
  return deriveSecret(suite, secret, "derived", createHash(suite.hash).digest());
}

/**
 * What follows from no PSK at all, the same in every handshake: the salt for the handshake secret.
 */
const handshakeSalts = new Map<Suite["hash"], Buffer>();

function handshakeSalt(suite: Suite): Buffer {
  let salt = handshakeSalts.get(suite.hash);
  if (salt === undefined) {
    const zeros = Buffer.alloc(suite.hashBytes);
    // Early Secret = HKDF-Extract(0, 0).
    salt = nextSalt(suite, hmac(suite, zeros, zeros));
    handshakeSalts.set(suite.hash, salt);
  }
  return salt;
}

/** A traffic secret for each direction. */
export interface TrafficSecrets {
  client: Buffer;
  server: Buffer;
}

/** The schedule from the shared secret on. */
export class KeySchedule {
  readonly #suite: Suite;
  readonly #handshakeSecret: Buffer;

  constructor(suite: Suite, sharedSecret: Uint8Array) {
    this.#suite = suite;
    // Handshake Secret = HKDF-Extract(Derive-Secret(Early Secret, "derived", ""), (EC)DHE)
    this.#handshakeSecret = hmac(suite, handshakeSalt(suite), sharedSecret);
  }

  /** {client,server}_handshake_traffic_secret, from the hash of ClientHello...ServerHello. */
  handshake(transcriptHash: Uint8Array): TrafficSecrets {
    return this.#traffic(this.#handshakeSecret, "hs", transcriptHash);
  }

  /**
   * {client,server}_application_traffic_secret_0, from the hash of ClientHello...server Finished.
   */
  application(transcriptHash: Uint8Array): TrafficSecrets {
    // Master Secret = HKDF-Extract(Derive-Secret(Handshake Secret, "derived", ""), 0)
    const zeros = Buffer.alloc(this.#suite.hashBytes);
    const masterSecret = hmac(this.#suite, nextSalt(this.#suite, this.#handshakeSecret), zeros);
    return this.#traffic(masterSecret, "ap", transcriptHash);
  }

  #traffic(secret: Buffer, stage: "hs" | "ap", transcriptHash: Uint8Array): TrafficSecrets {
    return {
      client: deriveSecret(this.#suite, secret, `c ${stage} traffic`, transcriptHash),
      server: deriveSecret(this.#suite, secret, `s ${stage} traffic`, transcriptHash),
    };
  }
}

/** application_traffic_secret_N+1 (section 7.2). */
export function nextTrafficSecret(suite: Suite, secret: Uint8Array): Buffer {
  return expandLabel(suite, secret, "traffic upd", EMPTY, suite.hashBytes);
}

/** Key and nonce base of one direction (section 7.3). */
export function trafficKey(suite: Suite, secret: Uint8Array): { key: Buffer; iv: Buffer } {
  return {
    key: expandLabel(suite, secret, "key", EMPTY, suite.keyBytes),
    iv: expandLabel(suite, secret, "iv", EMPTY, 12),
  };
}

/** verify_data of a Finished message made under `secret` (section 4.4.4). */
export function finishedData(suite: Suite, secret: Uint8Array, transcriptHash: Uint8Array): Buffer {
  return hmac(suite, expandLabel(suite, secret, "finished", EMPTY, suite.hashBytes), transcriptHash);
}
