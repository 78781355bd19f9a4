/** What both roles must refuse alike. */
import { generateKeyPairSync } from "node:crypto";
import type { AlertName } from "../../../../daemon/peers/direct/tls/alert.ts";
import { u8 } from "../../../../daemon/peers/direct/tls/codec.ts";
import { EXTENSIONS } from "../../../../daemon/peers/direct/tls/extensions.ts";
import { type CertificateParts, rawExtension, spki, type VerifyParts } from "./puppet.ts";
import { SERVER_KEY, STRANGER_KEY } from "./target.ts";

/**
 * Points of small order: 0 and 1 and their kin, some in encodings that aren't canonical (RFC 7748,
 * section 6.1).
 */
export const LOW_ORDER_SHARES = [
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
  "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
].map((hex) => Buffer.from(hex, "hex"));

/** Ed25519 keys of small order, and one that is no point. */
export const BAD_KEYS = [
  "0100000000000000000000000000000000000000000000000000000000000000",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "0000000000000000000000000000000000000000000000000000000000000000",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "0200000000000000000000000000000000000000000000000000000000000000",
].map((hex) => Buffer.from(hex, "hex"));

/**
 * A signature that every key of order 1 takes for whatever content: R is the neutral element, S is
 * 0.
 */
export const FORGED = Buffer.concat([u8(1), Buffer.alloc(63)]);

export const certificates: readonly [string, AlertName, CertificateParts][] = [
  ["a request context", "illegal_parameter", { context: u8(1) }],
  [
    "two entries",
    "illegal_parameter",
    { entries: [{ data: spki(SERVER_KEY.publicKey) }, { data: spki(SERVER_KEY.publicKey) }] },
  ],
  ["an empty key", "decode_error", { entries: [{ data: Buffer.alloc(0) }] }],
  [
    "trailing bytes in the key",
    "bad_certificate",
    { entries: [{ data: Buffer.concat([spki(SERVER_KEY.publicKey), u8(0)]) }] },
  ],
  ["a short key", "bad_certificate", { entries: [{ data: spki(SERVER_KEY.publicKey).subarray(0, 43) }] }],
  [
    "the OID of Ed448",
    "unsupported_certificate",
    {
      entries: [
        { data: Buffer.concat([Buffer.from("302a300506032b6571032100", "hex"), SERVER_KEY.publicKey]) },
      ],
    },
  ],
  [
    "the OID of X25519",
    "unsupported_certificate",
    {
      entries: [
        { data: Buffer.concat([Buffer.from("302a300506032b656e032100", "hex"), SERVER_KEY.publicKey]) },
      ],
    },
  ],
  [
    "a bare key without SubjectPublicKeyInfo",
    "unsupported_certificate",
    { entries: [{ data: SERVER_KEY.publicKey }] },
  ],
  [
    "an RSA key",
    "unsupported_certificate",
    {
      entries: [
        {
          data: generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey.export({
            format: "der",
            type: "spki",
          }),
        },
      ],
    },
  ],
  [
    "an X.509 certificate under the raw type",
    "unsupported_certificate",
    {
      entries: [
        {
          data: Buffer.concat([Buffer.from("308201ac30820115a003020102020102", "hex"), Buffer.alloc(400, 5)]),
        },
      ],
    },
  ],
  [
    "an extension that nobody offered",
    "unsupported_extension",
    { entries: [{ data: spki(SERVER_KEY.publicKey), extensions: rawExtension(5) }] },
  ],
  [
    "an extension in the wrong place",
    "illegal_parameter",
    {
      entries: [
        { data: spki(SERVER_KEY.publicKey), extensions: rawExtension(EXTENSIONS.signature_algorithms) },
      ],
    },
  ],
];

export const proofs: readonly [string, AlertName, VerifyParts][] = [
  ["a corrupt signature", "decrypt_error", { edit: (signature) => signature.fill(signature[5]! ^ 1, 5, 6) }],
  ["a short signature", "decrypt_error", { edit: (signature) => signature.subarray(0, 63) }],
  ["an empty signature", "decrypt_error", { edit: () => Buffer.alloc(0) }],
  ["another key's signature", "decrypt_error", { signer: STRANGER_KEY }],
  ["the scheme rsa_pss_rsae_sha256", "illegal_parameter", { scheme: 0x0804 }],
  ["the scheme ecdsa_secp256r1_sha256", "illegal_parameter", { scheme: 0x0403 }],
  ["a context of TLS 1.2", "decrypt_error", { label: "TLS 1.2, server CertificateVerify" }],
];
