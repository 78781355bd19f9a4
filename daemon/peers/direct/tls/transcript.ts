/**
 * The transcript hash (RFC 8446, section 4.4.1): computed as messages come, so that none is kept.
 */
import { createHash, type Hash } from "node:crypto";
import { HANDSHAKE_TYPES, handshakeMessage } from "./messages.ts";
import type { Suite } from "./suites.ts";

export class Transcript {
  readonly #hash: Hash;

  /** Begins with the first ClientHello, when the suite and with it the hash is known. */
  constructor(suite: Suite, clientHello: Uint8Array) {
    this.#hash = createHash(suite.hash).update(clientHello);
  }

  /**
   * The other beginning, after HelloRetryRequest: a message of type message_hash replaces the first
   * ClientHello.
   */
  static afterRetry(suite: Suite, firstClientHello: Uint8Array, helloRetryRequest: Uint8Array): Transcript {
    const hash = createHash(suite.hash).update(firstClientHello).digest();
    const transcript = new Transcript(suite, handshakeMessage(HANDSHAKE_TYPES.message_hash, hash));
    transcript.add(helloRetryRequest);
    return transcript;
  }

  /** A whole handshake message, including its four-byte header. */
  add(message: Uint8Array): void {
    this.#hash.update(message);
  }

  /** Hash of all messages so far. */
  digest(): Buffer {
    return this.#hash.copy().digest();
  }
}
