/**
 * Makes other people's text safe to show. Characters that reverse the text around them or that
 * can't be seen become visible, so that no name imitates another and no sentence reads differently
 * from how it was written. Elements of the interface also isolate direction (`<bdi>`).
 */
import { INVISIBLE, JOINED_EMOJI } from "./invisible.ts";
import { LIMITS } from "./limits.ts";

/**
 * More characters that show nothing: separators of lines, fillers, annotation marks, and the tags
 * that spell text which only programs read.
 */
const FILLERS = "\\u2028\\u2029\\u2800\\u3164\\uffa0\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}";
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
  allInvisible ??= new RegExp(`${JOINED_EMOJI}|${INVISIBLE.source}|[\\p{DI}--${SELECTOR}]|${SMUGGLED}`, "gv");
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

/** Whether a part of it can't be seen, or changes how the rest is shown. Lines count as such. */
export function hidesText(text: string): boolean {
  return Array.from(text.matchAll(everythingInvisible())).some(([found]) => found.length <= 2);
}

/** A name, title, address or file name, on one line. */
export function shownName(name: string): string {
  return name.replaceAll(/\s+/gu, " ").replace(everythingInvisible(), picture);
}

/** Every kind of quotation mark, and what looks like one. */
const MARKS =
  /["'`\u00b4\p{Pi}\p{Pf}\u02b9-\u02bd\u02dd\u02ee\u201a\u201e\u2032-\u2037\u275b-\u2760\u3003\u301d-\u301f\uff02\uff07\u{1f676}-\u{1f678}]/gu;
/** More marks on one letter would reach over its neighbours. */
const STACKED = /(\p{M}{4})\p{M}+/gu;

/**
 * The same for a name that a sentence puts in quotation marks: shortened to what people read, and
 * with nothing that could end the quotation.
 */
export function quotedName(name: string, most: number = LIMITS.quotedCharacters): string {
  const inside = shownName(name).trim().replace(MARKS, "’").replace(STACKED, "$1");
  const shown = Array.from(inside.replace(/^\p{M}/u, "◌$&"));
  return shown.length <= most ? shown.join("") : `${shown.slice(0, most - 1).join("")}…`;
}

/**
 * JSON in which what hides or turns text is escaped. It reads as the same value, and a terminal or
 * a model sees nothing that isn't there.
 */
export function escapedText(json: string): string {
  return json.replace(everythingInvisible(), (found) => {
    if (found.length > 2 || found === "\n") return found;
    return Array.from(
      { length: found.length },
      (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`,
    ).join("");
  });
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
