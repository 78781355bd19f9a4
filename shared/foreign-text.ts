/**
 * Text of others made safe to show. Characters that turn the text around them or that nobody can see become visible, so that no name
 * looks like another one and no sentence reads as it wasn't written. Elements of the interface isolate direction besides (`<bdi>`).
 */
import { INVISIBLE } from "./invisible.ts";

const ALL_INVISIBLE = new RegExp(INVISIBLE, "gu");
/** Prose may join letters and mark a direction, as Persian, Hebrew and some emoji need; it may not override one. */
const STEERING =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b\u202a-\u202e\u2060-\u2069\ufeff]/gu;

function picture(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return code === 0x7f ? "\u2421" : "\ufffd";
}

/** A name, title, address or file name, on one line. */
export function shownName(name: string): string {
  return name.replaceAll(/\s+/gu, " ").replace(ALL_INVISIBLE, picture);
}

/** What somebody wrote; lines stay. */
export function shownText(text: string): string {
  return text.replace(STEERING, picture);
}

/** Program text: nothing in it is hidden but its lines and tabs. */
export function shownCode(text: string): string {
  return text.replace(ALL_INVISIBLE, (character) =>
    /[\t\n\r]/.test(character) ? character : picture(character),
  );
}
