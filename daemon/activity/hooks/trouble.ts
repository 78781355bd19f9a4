/**
 * Why a running runtime can't do its work: it is logged out, its limit is reached, or its model is
 * overloaded. Claude reports the kind when a turn has failed (StopFailure). While it retries, and
 * for Codex, which has no hook for a failed turn, only the screen says so (docs/runtimes.md). Only
 * the kind and a time are kept of what is read there.
 */
export interface Trouble {
  /** In words for people. */
  words: string;
  /** The runtime tries again by itself. */
  isRetrying: boolean;
}

/** The first match counts. */
const KINDS: readonly (readonly [words: string, pattern: RegExp])[] = [
  [
    "logged out",
    /authentication_failed|oauth|\b40[13]\b|unauthorized|not logged in|log ?in again|sign in again/i,
  ],
  ["billing problem", /billing|credit balance|\b402\b|insufficient_quota/i],
  ["limit reached", /rate_limit|\b429\b|(?:usage|rate|session|weekly) limit|hit your limit/i],
  ["overloaded", /overloaded|server_error|\b5\d\d\b|high demand/i],
];

const UNTIL = /(?:try again at|resets?(?: at)?) ([A-Z0-9][\w:, ]{1,38}\w(?: \([\w/+-]{1,30}\))?)/i;
const CLAUDE_RETRIES =
  /^[\u00b7*\u2722\u2733\u2736-\u273d] (.*) \u00b7 retrying in \S+ \u00b7 attempt (\d{1,3})\/(\d{1,3})/;
const CODEX_RETRIES = /^\u2022 Reconnecting\.\.\. (\d{1,3})\/(\d{1,3})/;
/**
 * Only Codex itself draws at the left edge: a square for its error, a bullet for its own words, an
 * angle for a person's prompt.
 */
const CODEX_CELL = /^[\u25a0\u2022\u203a]/;
const CODEX_ERROR = /^\u25a0 (?!Conversation interrupted)/;

/**
 * For a failed turn, from what its runtime calls the failure and says about it; empty if neither
 * helps.
 */
export function troubleOf(error: unknown, said: unknown): string {
  const told = [error, said].filter((part) => typeof part === "string").map((part) => part.slice(0, 1000));
  const kind = told.map((part) => kindOf(part)).find((words) => words !== "") ?? "";
  return kind === "limit reached" ? kind + untilIn(told.join(" ")) : kind;
}

/** `lines`: the screen as a person sees it now. Null if it shows nothing of the kind. */
export function troubleOnScreen(runtime: "claude" | "codex", lines: readonly string[]): Trouble | null {
  return runtime === "claude" ? claudeRetries(lines) : codexTrouble(lines);
}

function claudeRetries(lines: readonly string[]): Trouble | null {
  const found = lines.map((line) => CLAUDE_RETRIES.exec(line)).findLast((match) => match !== null);
  return found ? retrying(kindOf(found[1]!), found[2]!, found[3]!) : null;
}

function codexTrouble(lines: readonly string[]): Trouble | null {
  const composer = lines.findLastIndex((line) => line.startsWith("›"));
  const last = lines.slice(0, Math.max(0, composer)).findLastIndex((line) => CODEX_CELL.test(line));
  if (last < 0) return null;
  const end = lines.findIndex((line, at) => at > last && line.trim() === "");
  const cell = lines.slice(last, end < 0 ? composer : end).join(" ");
  const again = CODEX_RETRIES.exec(cell);
  if (again !== null) return retrying(kindOf(cell), again[1]!, again[2]!);
  if (!CODEX_ERROR.test(cell)) return null;
  return { words: troubleOf("", cell), isRetrying: false };
}

function retrying(kind: string, attempt: string, of: string): Trouble {
  const what = kind === "" ? "can't reach its model" : kind;
  return { words: `${what}; retrying (attempt ${attempt} of ${of})`, isRetrying: true };
}

function kindOf(text: string): string {
  return KINDS.find(([, pattern]) => pattern.test(text))?.[0] ?? "";
}

function untilIn(text: string): string {
  const until = UNTIL.exec(text)?.[1];
  return until === undefined ? "" : `, until ${until}`;
}
