/**
 * The two base64 forms of the wire: standard with padding, and base64url without. Each value has
 * exactly one text: another alphabet, missing or extra padding, white space and bits after the last
 * byte are refused.
 */

/** Text of bytes, without going through a character string for each of them. */
function binary(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

/** Canonical standard base64. For small values: blobs are encoded where they are read. */
export function toBase64(bytes: Uint8Array): string {
  return btoa(binary(bytes));
}

/** The bytes of canonical standard base64, or null. */
export function fromBase64(text: string): Uint8Array | null {
  let decoded: string;
  try {
    decoded = atob(text);
  } catch {
    return null;
  }
  // atob tolerates white space, missing padding and stray bits. If encoding the result gives
  // another text, it wasn't canonical.
  if (btoa(decoded) !== text) return null;
  return Uint8Array.from(decoded, (character) => character.charCodeAt(0));
}

export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The bytes of base64url without padding, or null. */
export function fromBase64Url(text: string): Uint8Array | null {
  if (!/^[A-Za-z0-9_-]*$/u.test(text)) return null;
  const standard = text.replaceAll("-", "+").replaceAll("_", "/");
  return fromBase64(standard + "=".repeat((4 - (standard.length % 4)) % 4));
}
