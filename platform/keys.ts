/**
 * The check for Ed25519 public keys, and the only place that verifies signatures. node:crypto
 * accepts forgeries under keys of small order. So every key is checked here once when it enters,
 * and node:crypto verifies signatures after that (docs/protocol.md#signatures).
 */
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { ed25519 } from "@noble/curves/ed25519.js";
import { LIMITS } from "../shared/limits.ts";
import { instanceIdOf } from "../shared/wire/v1/fields.ts";

/**
 * Throws RangeError unless `bytes` are the canonical encoding of a point that isn't of small order.
 */
export function checkPublicKey(bytes: Uint8Array): void {
  if (bytes.length !== 32) throw new RangeError("An Ed25519 public key has 32 bytes.");
  let smallOrder: boolean;
  try {
    smallOrder = ed25519.Point.fromBytes(bytes).isSmallOrder();
  } catch {
    throw new RangeError("The Ed25519 public key isn't a canonical point.");
  }
  if (smallOrder) throw new RangeError("The Ed25519 public key is of small order.");
}

/** A public key that passed the check. Only this class verifies signatures. */
export class VerifyingKey {
  readonly instance_id: string;
  /** Base64 of the 32 bytes. */
  readonly public_key: string;
  readonly #key: KeyObject;

  private constructor(bytes: Uint8Array) {
    checkPublicKey(bytes);
    this.public_key = Buffer.from(bytes).toString("base64");
    this.instance_id = instanceIdOf(bytes);
    // As a JWK, because reading DER takes ten times as long.
    const x = Buffer.from(bytes).toString("base64url");
    this.#key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  }

  /** From 32 bytes or their canonical base64. Throws RangeError if they can't be used as a key. */
  static admit(key: Uint8Array | string): VerifyingKey {
    if (typeof key !== "string") return new VerifyingKey(key);
    const bytes = Buffer.from(key, "base64");
    if (bytes.toString("base64") !== key)
      throw new RangeError("The Ed25519 public key isn't canonical base64.");
    return new VerifyingKey(bytes);
  }

  /**
   * RFC 8032, section 5.1.7, without the cofactor: S below the group's order, R compared as bytes.
   */
  verify(bytes: Uint8Array, signature: Uint8Array): boolean {
    return signature.length === 64 && verify(null, bytes, this.#key, signature);
  }
}

/**
 * Checked keys by their base64, because checking one costs more than verifying with it. It forgets
 * all of them when there are too many.
 */
export class VerifyingKeys {
  readonly #keys = new Map<string, VerifyingKey>();
  readonly #most: number;

  constructor(most: number = LIMITS.connect.admittedKeys) {
    this.#most = most;
  }

  /** Throws RangeError if it can't be used as a key. */
  of(publicKey: string): VerifyingKey {
    let key = this.#keys.get(publicKey);
    if (key === undefined) {
      key = VerifyingKey.admit(publicKey);
      if (this.#keys.size >= this.#most) this.#keys.clear();
      this.#keys.set(publicKey, key);
    }
    return key;
  }
}
