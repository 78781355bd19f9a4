/**
 * The three cipher suites of TLS 1.3 that every implementation has (RFC 8446, appendix B.4), the
 * fastest first.
 */
export interface Suite {
  id: number;
  name: string;
  hash: "sha256" | "sha384";
  hashBytes: number;
  keyBytes: number;
  /** node:crypto's name for the AEAD. All have 12-byte nonces and 16-byte tags. */
  cipher: "aes-128-gcm" | "aes-256-gcm" | "chacha20-poly1305";
}

export const SUITES: readonly Suite[] = [
  {
    id: 0x1301,
    name: "TLS_AES_128_GCM_SHA256",
    hash: "sha256",
    hashBytes: 32,
    keyBytes: 16,
    cipher: "aes-128-gcm",
  },
  {
    id: 0x1302,
    name: "TLS_AES_256_GCM_SHA384",
    hash: "sha384",
    hashBytes: 48,
    keyBytes: 32,
    cipher: "aes-256-gcm",
  },
  {
    id: 0x1303,
    name: "TLS_CHACHA20_POLY1305_SHA256",
    hash: "sha256",
    hashBytes: 32,
    keyBytes: 32,
    cipher: "chacha20-poly1305",
  },
];
