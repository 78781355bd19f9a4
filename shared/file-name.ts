/** Names of received files, made safe. */
const NAME_BYTES = 200;
/**
 * Separators, characters that Windows forbids, control characters, and those that hide or reverse
 * text.
 */
const UNSAFE =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u001f\u007f-\u009f<>:"/\\|?*\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;
const encoder = new TextEncoder();

/**
 * A base name that is a plain file's on every system: no separators, no hidden or reserved names,
 * at most 200 bytes.
 */
export function safeName(name: string): string {
  let safe = name
    .toWellFormed()
    .replace(UNSAFE, "_")
    .replace(/^[. ]+|[. ]+$/gu, "");
  if (DEVICE.test(safe)) safe = `_${safe}`;
  // Cutting may leave half a character, which `toWellFormed` replaces.
  while (encoder.encode(safe).length > NAME_BYTES) safe = safe.slice(0, -1).toWellFormed();
  return safe === "" ? "file" : safe;
}
