/**
 * Makes other people's text safe to show. Characters that reverse the text around them or that
 * can't be seen become visible, so that no name imitates another and no sentence reads differently
 * from how it was written. Elements of the interface also isolate direction (`<bdi>`).
 */
import { INVISIBLE, JOINED_EMOJI } from "./invisible.ts";
import { LIMITS } from "./limits.ts";

/**
 * More characters that show nothing: fillers, annotation marks, and the tags that spell text which
 * only programs read.
 */
const FILLERS = "\\u3164\\uffa0\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}";
/**
 * One variation selector belongs to the character before it. A row of them carries something else.
 */
const SELECTOR = "[\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}]";
/** The flags of England, Scotland and Wales, the only current emoji written with tags. */
const FLAG =
  "\\u{1f3f4}\\u{e0067}\\u{e0062}(?:\\u{e0065}\\u{e006e}|\\u{e0073}\\u{e0063}|\\u{e0077}\\u{e006c})[\\u{e0067}\\u{e0073}\\u{e0074}]\\u{e007f}";
const SMUGGLED = `${FLAG}|[${FILLERS}]|(?<=${SELECTOR})${SELECTOR}`;
/** Made when it is first needed: reading the list of emoji takes milliseconds. */
let allInvisible: RegExp | undefined;

function everythingInvisible(): RegExp {
  allInvisible ??= new RegExp(
    `${JOINED_EMOJI}|${INVISIBLE.source}|[\\u00ad\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180e]|${SMUGGLED}`,
    "gv",
  );
  return allInvisible;
}

/**
 * Prose may join letters and mark a direction, as Persian, Hebrew and some emoji need. It may not
 * override a direction.
 */
const STEERING = new RegExp(
  `[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u200b\\u202a-\\u202e\\u2060-\\u2069\\ufeff]|${SMUGGLED}`,
  "gu",
);

function picture(character: string): string {
  // Emoji made of several characters: flags written with tags, joined emoji.
  if (character.length > 2) return character;
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return code === 0x7f ? "\u2421" : "\ufffd";
}

/** A name, title, address or file name, on one line. */
export function shownName(name: string): string {
  return name.replaceAll(/\s+/gu, " ").replace(everythingInvisible(), picture);
}

/** The same for a name that a sentence quotes, shortened to what people read. */
export function quotedName(name: string): string {
  const shown = Array.from(shownName(name));
  const most = LIMITS.quotedCharacters;
  return shown.length <= most ? shown.join("") : `${shown.slice(0, most - 1).join("")}…`;
}

/** Someone's text; lines stay. */
export function shownText(text: string): string {
  return text.replace(STEERING, picture);
}

/** Program text: everything is made visible except its lines and tabs. */
export function shownCode(text: string): string {
  return text.replace(everythingInvisible(), (character) =>
    /[\t\n\r]/.test(character) ? character : picture(character),
  );
}
