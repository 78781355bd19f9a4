/**
 * Ed25519 raw public keys: Certificate and CertificateVerify (RFC 7250; RFC 8446, sections 4.4.2
 * and 4.4.3; RFC 8410, section 4).
 */
import { VerifyingKey } from "../../../../platform/keys.ts";
import { refusal } from "./alert.ts";
import { decode, u16, vector } from "./codec.ts";
import { checkAnswer, readBlock } from "./extensions.ts";
import { ED25519 } from "./hello.ts";
import { HANDSHAKE_TYPES, handshakeMessage } from "./messages.ts";

/**
 * SubjectPublicKeyInfo of an Ed25519 key up to the key: the only form there is, so it is compared
 * byte for byte and never parsed.
 */
const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");
const SPKI_BYTES = 44;

const CONTEXTS = {
  client: "TLS 1.3, client CertificateVerify",
  server: "TLS 1.3, server CertificateVerify",
} as const;

export type Role = keyof typeof CONTEXTS;

/** A Certificate message with our key as its one entry and without extensions. */
export function writeCertificate(publicKey: Uint8Array): Buffer {
  const entry = [vector(3, SPKI_PREFIX, publicKey), vector(2)];
  return handshakeMessage(HANDSHAKE_TYPES.certificate, vector(1), vector(3, ...entry));
}

/**
 * The 32 bytes of the one key in the peer's Certificate message. `from` is the sender: a client
 * that has no key says so with an empty list, which a server mustn't do (section 4.4.2.4).
 * `offered`: extensions that the entry may answer.
 */
export function readCertificate(body: Buffer, from: Role, offered: ReadonlySet<number>): Buffer {
  const { context, list } = decode(body, (reader) => ({
    context: reader.vector(1),
    list: reader.vector(3),
  }));
  // Ours was empty, and in the handshake it always is (sections 4.3.2 and 4.4.2).
  if (context.length > 0)
    throw refusal("illegal_parameter", "The peer's Certificate answers a different request.");
  if (list.length === 0) {
    if (from === "client") throw refusal("certificate_required", "The peer presented no key.");
    throw refusal("decode_error", "The peer presented no key.");
  }
  const keyInfo = decode(list, (reader) => {
    const data = reader.vector(3, 1);
    checkAnswer(readBlock(reader), "CT", offered);
    // With raw public keys no more than one entry (section 4.4.2).
    if (reader.left > 0) throw refusal("illegal_parameter", "The peer presented more than one key.");
    return data;
  });
  if (!keyInfo.subarray(0, SPKI_PREFIX.length).equals(SPKI_PREFIX))
    throw refusal("unsupported_certificate", "The peer's key isn't an Ed25519 raw public key.");
  if (keyInfo.length !== SPKI_BYTES)
    throw refusal("bad_certificate", "The peer's Ed25519 raw public key is malformed.");
  return Buffer.from(keyInfo.subarray(SPKI_PREFIX.length));
}

/** What a CertificateVerify signs (section 4.4.3). */
function signedContent(signer: Role, transcriptHash: Uint8Array): Buffer {
  return Buffer.concat([
    Buffer.alloc(64, 0x20),
    Buffer.from(CONTEXTS[signer], "latin1"),
    Buffer.of(0),
    transcriptHash,
  ]);
}

/** Our CertificateVerify, `transcriptHash` covering everything up to our Certificate. */
export function writeCertificateVerify(
  sign: (bytes: Uint8Array) => Uint8Array,
  signer: Role,
  transcriptHash: Uint8Array,
): Buffer {
  const signature = sign(signedContent(signer, transcriptHash));
  return handshakeMessage(HANDSHAKE_TYPES.certificate_verify, u16(ED25519), vector(2, signature));
}

/**
 * Throws unless the peer's CertificateVerify proves that it holds the private half of `publicKey`.
 */
export function checkCertificateVerify(
  body: Buffer,
  publicKey: Buffer,
  signer: Role,
  transcriptHash: Uint8Array,
): void {
  const { scheme, signature } = decode(body, (reader) => ({
    scheme: reader.u16(),
    signature: reader.vector(2),
  }));
  if (scheme !== ED25519)
    throw refusal("illegal_parameter", "The peer signed with a scheme that this side didn't offer.");
  let key: VerifyingKey;
  try {
    key = VerifyingKey.admit(publicKey);
  } catch {
    throw refusal(
      "bad_certificate",
      "The peer's Ed25519 key is of small order or isn't a point on the curve.",
    );
  }
  if (!key.verify(signedContent(signer, transcriptHash), signature))
    throw refusal("decrypt_error", "The peer didn't prove that it holds its key.");
}
