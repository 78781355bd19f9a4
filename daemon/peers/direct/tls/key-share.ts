/** X25519 (RFC 7748; RFC 8446, sections 4.2.8.2 and 7.4.2). */
import { createPrivateKey, createPublicKey, diffieHellman, type KeyObject } from "node:crypto";
import type { Random } from "../../../../platform/random.ts";
import { refusal } from "./alert.ts";

export const SHARE_BYTES = 32;

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64url");
}

/** A fresh key pair for one handshake. */
export class KeyShare {
  readonly #privateKey: KeyObject;
  /** The 32 bytes that go into key_share. */
  readonly publicKey: Buffer;

  constructor(random: Random) {
    const secret = base64url(random.bytes(SHARE_BYTES));
    // JWK, because reading DER costs ten times as much. node:crypto makes the public half from `d`
    // and doesn't look at `x`.
    const jwk = { kty: "OKP", crv: "X25519", d: secret, x: secret };
    this.#privateKey = createPrivateKey({ key: jwk, format: "jwk" });
    this.publicKey = Buffer.from(this.#privateKey.export({ format: "jwk" }).x!, "base64url");
  }

  /**
   * The shared secret with the peer's share; illegal_parameter for one that isn't 32 bytes or gives
   * zero (section 7.4.2).
   */
  agree(share: Uint8Array): Buffer {
    if (share.length !== SHARE_BYTES)
      throw refusal("illegal_parameter", "The peer's key share has the wrong length.");
    let secret: Buffer;
    try {
      const publicKey = createPublicKey({
        key: { kty: "OKP", crv: "X25519", x: base64url(share) },
        format: "jwk",
      });
      secret = diffieHellman({ privateKey: this.#privateKey, publicKey });
    } catch {
      // OpenSSL itself refuses a result of zero.
      throw refusal("illegal_parameter", "The peer's key share is of small order.");
    }
    if (secret.every((byte) => byte === 0))
      throw refusal("illegal_parameter", "The peer's key share is of small order.");
    return secret;
  }
}
