/**
 * Characters that change how the text around them is shown, or that can't be seen
 * (docs/protocol.md#names).
 */
// oxlint-disable-next-line no-control-regex
export const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u;

/**
 * Emoji that join several others, as Unicode recommends them (UTS #51, RGI_Emoji_ZWJ_Sequence): the
 * only place for a zero width joiner in a name. Each of them looks unique; a joiner anywhere else
 * couldn't be seen. For patterns with the flag `v`.
 */
export const JOINED_EMOJI = "\\p{RGI_Emoji_ZWJ_Sequence}";

/** Made when it is first needed: reading the list of emoji takes milliseconds. */
let hidden: RegExp | undefined;

/** A name without the characters that a label can't have. */
export function withoutInvisible(name: string): string {
  hidden ??= new RegExp(`${JOINED_EMOJI}|${INVISIBLE.source}`, "gv");
  return name.replace(hidden, (found) => (found.length > 2 ? found : ""));
}

/**
 * A name as a label of at most `bytes` bytes of UTF-8, cut between whole characters: for a title
 * that nobody typed. Empty if nothing of it can be seen.
 */
export function labelFrom(name: string, bytes: number): string {
  const encoder = new TextEncoder();
  let label = "";
  let left = bytes;
  for (const { segment } of new Intl.Segmenter().segment(withoutInvisible(name.toWellFormed()).trim())) {
    left -= encoder.encode(segment).length;
    if (left < 0) break;
    label += segment;
  }
  return label.trimEnd();
}
