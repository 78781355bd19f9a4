/**
 * What two people compare before they approve a Direct connection (docs/protocol.md#fingerprint).
 */
import { wordlist } from "@scure/bip39/wordlists/english.js";
import { SIGNING_DOMAINS } from "../../names.ts";

const WORDS = 6;
const BITS_PER_WORD = 11;

/**
 * Six words from the first 66 bits of a SHA-256. Keys are the base64 of DirectEndpoint. The caller
 * provides `sha256`: the daemon has node:crypto; a page has none outside secure contexts and brings
 * its own.
 */
export function directFingerprint(
  sha256: (bytes: Uint8Array) => Uint8Array,
  relation: { connection_id: string; host_public_key: string; joiner_public_key: string },
): string[] {
  const digest = sha256(
    new TextEncoder().encode(
      JSON.stringify([
        SIGNING_DOMAINS.directFingerprint,
        relation.connection_id,
        relation.host_public_key,
        relation.joiner_public_key,
      ]),
    ),
  );
  let bits = 0n;
  for (const byte of digest) bits = (bits << 8n) | BigInt(byte);
  const length = digest.length * 8;
  return Array.from({ length: WORDS }, (_, index) => {
    const shift = BigInt(length - BITS_PER_WORD * (index + 1));
    return wordlist[Number((bits >> shift) & 0x7ffn)]!;
  });
}
