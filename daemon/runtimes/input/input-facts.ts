/**
 * The runtimes' screens as data. Measured on the real programs; docs/runtimes.md names versions and
 * what each screen looks like.
 */
import type { Composer, InputFacts, Sign } from "./composer.ts";

const NEVER = /(?!)/;
const EMPTY = /^$/;
const RULE = /^\u2500+$/;
/**
 * A rule with labels in it. The name of a session at its right end is any text, and fills the rule
 * up to its last character in a narrow window.
 */
const LABELLED_RULE = /\u2500$/;

const common = {
  box: null,
  hasBoldMark: false,
  shellMark: "!",
  placeholders: [EMPTY],
  hasDimPlaceholder: false,
  cut: NEVER,
  cutBelow: NEVER,
  piece: NEVER,
  elsewhere: [],
  useless: [],
  works: NEVER,
} as const;

const claude: Composer = {
  ...common,
  marks: "❯",
  column: 0,
  text: 2,
  above: LABELLED_RULE,
  below: RULE,
  cut: /^\u2500+ (?:.* \u00b7 )?\u2191 \d+ more .*\u2500$/,
  cutBelow: /^\u2500+ \u2193 \d+ more \u2500+$/,
  showsCursor: false,
  placeholders: [
    EMPTY,
    /^Try "[^"]+"$/,
    /^Press up to edit queued messages(?:, Enter to send them now)?$/,
    /^Press up to select a queued message(?:, then Enter to edit it| to edit, or Enter to send them now)$/,
    /^Once fixed, resend your message$/,
    /^Resend your message to try again$/,
    /^Run \/rewind to go back$/,
  ],
  piece: /\[Pasted text #\d+ \+\d+ lines\]$/,
  elsewhere: [
    [/describe a task for a new session/, "its agents view is open"],
    [/\b(?:enter|space|esc) to (?:return|reply|open)\b/, "its agents view is open"],
  ],
};

/** From the particular to the general: the first that fits names it. */
const claudeQuestions: readonly Sign[] = [
  [/Yes, I trust this folder/, "asks whether to trust this folder"],
  [/Do you want to use this API key\?/, "asks whether to use an API key"],
  [/New MCP servers? found in this project/, "asks about an MCP server of this project"],
  [/running in Bypass Permissions mode/, "asks whether to run without permissions"],
  [/Select login method|Paste code here/, "asks to sign in"],
  [/Auto mode can't check actions/, "asks how to continue in auto mode"],
  [/Exit plan mode\?|has written up a plan/, "asks about its plan"],
  [/Enter to select \u00b7 .*to navigate/, "asks a question"],
  [/^\s*Do you want to .*\?$/, "asks for a permission"],
  [/Enter to confirm \u00b7 Esc to cancel/, "asks a question"],
];

const claudeViews: readonly Sign[] = [
  [/^\s*Select model$/, "its model menu is open"],
  [/^\s*Rewind$/, "its rewind menu is open"],
  [/\u2315 Search settings/, "its settings are open"],
  [/\u2315 Filter history/, "its history search is open"],
  [/Showing detailed transcript/, "its transcript is open"],
  [/^\s*Resume session/, "its list of sessions is open"],
  [/\bEsc to (?:close|cancel|go back)\b/i, "a menu is open"],
];

const codex: Composer = {
  ...common,
  marks: "›",
  column: 0,
  text: 2,
  hasBoldMark: true,
  above: EMPTY,
  below: EMPTY,
  showsCursor: true,
  placeholders: [/^Ask Codex to do anything$/],
  hasDimPlaceholder: true,
  piece: /\[Pasted Content \d+ chars\](?: #\d+)?$/,
};

const codexQuestions: readonly Sign[] = [
  [/Update available\b/, "asks whether to update"],
  [/Sign in with ChatGPT/, "asks to sign in"],
  [/trust the contents of this directory|Do you trust/, "asks whether to trust this folder"],
  [/Would you like to |Press enter to confirm or esc to cancel/, "asks for a permission"],
  [/Press enter to continue/i, "asks a question"],
];

const codexViews: readonly Sign[] = [
  [/^\s*Update Model Permissions$/, "its permissions menu is open"],
  [/^\s*Select Model/, "its model menu is open"],
  [/^\s*Agent command center/, "its agents view is open"],
  [/Browsing transcript/, "its transcript is open"],
  [/reverse-i-search:/, "its history search is open"],
  [/\besc (?:back|dismiss|to go back)\b/i, "a menu is open"],
];

const gemini: Composer = {
  ...common,
  // The second one in its mode without permissions.
  marks: ">*",
  column: 1,
  text: 3,
  above: /^\u2584+$/,
  below: /^\u2580+$/,
  showsCursor: false,
  // The second one where it is typed into like vi.
  placeholders: [/^Type your message or @path\/to\/file$/, /^Press 'Esc' for NORMAL mode\.$/],
  elsewhere: [[/^ [>*] +Press 'i' for INSERT mode\.$/, "its vi keys wait for a command"]],
  piece: /\[Pasted Text: \d+ (?:lines|chars)\]$/,
  works: /^ [\u2800-\u28ff] .*\(esc to cancel, \d/,
};

const geminiQuestions: readonly Sign[] = [
  [/Do you trust the files in this folder\?/, "asks whether to trust this folder"],
  [/How would you like to authenticate/, "asks to sign in"],
  [/Apply this change\?|Allow execution|Do you want to proceed\?/, "asks for a permission"],
  [/Use Enter to select/, "asks a question"],
];

const copilot: Composer = {
  ...common,
  marks: "❯",
  column: 0,
  text: 2,
  above: RULE,
  below: RULE,
  showsCursor: true,
  piece: /\[(?:Paste|Saved pasted content|Pasted)[^\]]*\]$/,
  useless: [[/Please use \/login to sign in/, "asks to sign in"]],
  works: /^ \S \S.* esc esc (?:interrupt|edit prompt)\b/,
};

const copilotQuestions: readonly Sign[] = [
  [/Do you trust the files in this folder\?/, "asks whether to trust this folder"],
  [/enter to select \u00b7 esc to cancel/, "asks a question"],
];

/** On its start screen the box is in the middle, in a conversation on the left. */
const opencode: Composer = {
  ...common,
  box: { edge: "┃", floor: /^╹▀{8,}/, indent: 3, shell: /^Shell$/ },
  marks: "",
  column: 0,
  text: 0,
  shellMark: null,
  above: NEVER,
  below: NEVER,
  showsCursor: true,
  placeholders: [EMPTY, /^Ask anything… ".+"$/],
  piece: /\[Pasted ~\d+ lines\]$/,
  works: /^ *[\u2b1d\u25a0]{4,} +esc\b/,
};

const opencodeQuestions: readonly Sign[] = [[/△ Permission required/, "asks for a permission"]];

const opencodeViews: readonly Sign[] = [
  [/^\s*┃ \/[a-z-]+ .*┃$/, "its list of commands is open"],
  [/\sCommands {8,}esc\b/, "its list of commands is open"],
  [/\sSelect model {8,}esc\b/, "its model menu is open"],
  [/\s[A-Z][a-z ]+ {8,}esc\b/, "a menu is open"],
];

const menu: readonly Sign[] = [[/\besc to (?:close|cancel|go back)\b/i, "a menu is open"]];

/**
 * Gemini draws this line once it has read its configuration. Whether it asks about the folder was
 * decided before, with its first screen.
 */
const GEMINI_STARTED = /^ \S+ +Gemini CLI v\d/;

export const CLAUDE_INPUT: InputFacts = {
  composer: claude,
  started: null,
  questions: claudeQuestions,
  views: claudeViews,
};
export const CODEX_INPUT: InputFacts = {
  composer: codex,
  started: null,
  questions: codexQuestions,
  views: codexViews,
};
export const GEMINI_INPUT: InputFacts = {
  composer: gemini,
  started: GEMINI_STARTED,
  questions: geminiQuestions,
  views: menu,
};
export const COPILOT_INPUT: InputFacts = {
  composer: copilot,
  started: null,
  questions: copilotQuestions,
  views: [[/^\(reverse-i-search\)/, "its history search is open"], ...menu],
};
export const OPENCODE_INPUT: InputFacts = {
  composer: opencode,
  started: null,
  questions: opencodeQuestions,
  views: opencodeViews,
};
