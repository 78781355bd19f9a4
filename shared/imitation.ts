/**
 * Whether a name could be read as words of svc or of the person (docs/protocol.md#names-of-others).
 * A name is compared by what it looks like: without marks and without characters that show nothing,
 * with letters of other scripts as the Latin ones that they resemble (UTS #39, confusables).
 */
import { hidesText } from "./foreign-text.ts";

/** A small Latin letter or digit, and what looks like it. */
const LOOK_ALIKES = [
  "aаαɑᴀꭺᎪꓮ",
  "bЬʙᏏꓐβ",
  "cсϲᴄᏟⲥꓚ",
  "dԁᴅᎠꓓ",
  "e3еєɛεзᴇᎬꓰ",
  "gɡցɢᏀꓖ",
  "hһհʜᎻꓧ",
  "l1|!iіιıɩӏɪʟᏆᏞꓲꓡ",
  "kкκᴋᏦꓗ",
  "mмᴍᎷꓟ",
  "nпηոɴꓠ",
  "o0оοσօᴏⲟꓳ",
  "pрρᴘᏢꓑ",
  "rгʀꮁᎡᏒꓣɾ",
  "s5$ѕꜱʂꞅƽտᏚꓢ",
  "tтτᴛᎢꓔ",
  "uυսᴜʋцꓴμ",
  "vѵνᴠᏙꓦ",
  "wԝѡᴡᎳꓪ",
  "xхχꓫ",
  "yуүγʏᎽꓬ",
  "zᴢᏃꓜ",
] as const;
const LATIN = new Map(
  LOOK_ALIKES.flatMap(([letter, ...others]) => others.map((other) => [other, letter!] as const)),
);
/** Where the alphabets begin whose letters normalisation leaves: 🅐, 🅰 and 🇦. */
const ALPHABETS = [0x1f150, 0x1f170, 0x1f1e6] as const;

function latinOf(character: string): string {
  const code = character.codePointAt(0)!;
  const first = ALPHABETS.find((start) => code >= start && code < start + 26);
  const letter = first === undefined ? character : String.fromCodePoint(0x61 + code - first);
  return LATIN.get(letter) ?? LATIN.get(letter.toLowerCase()) ?? letter.toLowerCase();
}

/** What it looks like, in small Latin letters as far as it can be said in them. */
function skeletonOf(text: string): string {
  const bare = text.normalize("NFKD").replaceAll(/[\p{M}\p{DI}\p{Cf}]/gu, "");
  return Array.from(bare, latinOf).join("");
}

/** Scripts with letters that look like those of another one. */
const SCRIPTS = ["Latin", "Cyrillic", "Greek", "Armenian", "Cherokee", "Coptic", "Lisu"].map(
  (script) => new RegExp(`\\p{Script=${script}}`, "u"),
);

/** A word of letters from several scripts, where one looks like a letter of the other. */
function mixesScripts(name: string): boolean {
  const words = name.normalize("NFKC").match(/[\p{L}\p{M}]+/gu) ?? [];
  return words.some((word) => {
    if (SCRIPTS.filter((script) => script.test(word)).length < 2) return false;
    return Array.from(word).some(
      (letter) => !SCRIPTS[0]!.test(letter) && latinOf(letter) !== letter.toLowerCase(),
    );
  });
}

/** Whole names of those whose word counts here, and of where they are. */
const VOICES = new Set(
  [
    ...["user", "person", "human"].flatMap((who) => [
      who,
      `the ${who}`,
      `your ${who}`,
      `this ${who}`,
      `a ${who}`,
    ]),
    "you",
    "me",
    "yourself",
    "myself",
    "the owner",
    "your owner",
    "svc",
    "system",
    "the system",
    "daemon",
    "the daemon",
    "this machine",
    "this computer",
    "this instance",
    "this Group",
    "your machine",
    "localhost",
  ].map((voice) => skeletonOf(voice).replaceAll(" ", "")),
);

/** Behind a word that isn't a part of another one, such as `svc-auth`. */
const ENDS = "(?=$|[^\\p{L}\\p{N}_-]|-(?![\\p{L}\\p{N}]))";
const BEGINS_WITH_SVC = new RegExp(`^[^\\p{L}\\p{N}]*${skeletonOf("svc")}${ENDS}(?!\\.[\\p{L}\\p{N}])`, "u");

/** A pattern of words as they look; `*` ends the beginning of one. */
function phrases(...patterns: string[]): RegExp {
  const alternatives = patterns.map((pattern) =>
    pattern
      .replaceAll(/[a-z]+/g, (word) => skeletonOf(word))
      .replaceAll("*", "[^ ]*")
      .replaceAll(" ", " +"),
  );
  return new RegExp(`(?:^|[^\\p{L}\\p{N}])(?:${alternatives.join("|")})${ENDS}`, "u");
}

const WHO = "(?:user|person|human)";
/** What attributes words to them, or names this place. */
const CLAIM = phrases(
  `(?:the|your) ${WHO} (?:has|have|is|was|said|says|approve*|allow*|confirm*|want*|ask*)`,
  `your ${WHO}`,
  "(?:from|by|of|via) (?:svc|(?:the )?(?:system|daemon))",
  "(?:this|your) (?:machine|computer|instance|group)",
);
/** The same beside punctuation that could end a name. */
const IN_A_SENTENCE = phrases("svc", `(?:from|by) (?:(?:the|your|this|a) )?${WHO}`);
const PUNCTUATION = /[[\](){}<>:;,"“”„«»…→⇒]|[.!?](?=\s|$)|(?:^|\s)['’‘]|['’‘](?:\s|$)/u;

/** Whether someone could take it for words of svc or of the person, or can't see all of it. */
export function imitates(name: string): boolean {
  if (hidesText(name) || mixesScripts(name)) return true;
  const skeleton = skeletonOf(name);
  const words = skeleton.match(/[\p{L}\p{N}]+/gu) ?? [];
  if (VOICES.has(words.join(""))) return true;
  if (BEGINS_WITH_SVC.test(skeleton) || CLAIM.test(skeleton)) return true;
  return IN_A_SENTENCE.test(skeleton) && PUNCTUATION.test(name.normalize("NFKC"));
}
