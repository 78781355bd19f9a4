/**
 * The door for Ed25519 public keys. node:crypto accepts forgeries under keys of small order, so every key that enters is checked here,
 * once, and signatures are verified by node:crypto afterwards (protocol.md, section 4).
 */
import { ed25519 } from "@noble/curves/ed25519.js";

/** Throws RangeError unless `bytes` are the canonical encoding of a point that isn't of small order. */
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
