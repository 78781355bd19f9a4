/**
 * The runtimes as data (docs/core-model.md#actor), one entry each. Verified entries were observed
 * on the real programs. The others are started and prompted by the same rules, but nothing proves
 * that they took a prompt.
 */
import type { Runtime } from "../../shared/model.ts";
import type { InputFacts } from "./input/composer.ts";
import {
  CLAUDE_INPUT,
  CODEX_INPUT,
  COPILOT_INPUT,
  GEMINI_INPUT,
  OPENCODE_INPUT,
} from "./input/input-facts.ts";

/** How our MCP server reaches a runtime. The user's own configuration files are never changed. */
type McpHandover =
  /** `--mcp-config` with inline JSON. */
  | "claude_flag"
  /** `-c mcp_servers.svc...` overrides. */
  | "codex_overrides"
  /** The environment variable named in `mcpVariable` holds configuration as JSON. */
  | "opencode_variable"
  /** Only through configuration that the user keeps: `svc actor mcp-config`. */
  | "none";

/** How hooks reach a runtime. */
type HookHandover = "claude_settings" | "codex_overrides" | "none";

/** How a runtime is told to continue a session: `--resume ID`, or `resume ID` after its options. */
type Resume = "claude_flag" | "codex_command" | "none";

export interface RuntimeEntry {
  readonly runtime: Runtime;
  readonly title: string;
  /**
   * Names of its program; the first is the default command. Empty for a command of the user's own.
   */
  readonly programs: readonly string[];
  /** Arguments that make it print its version and end. */
  readonly versionArguments: readonly string[];
  readonly mcp: McpHandover;
  readonly hooks: HookHandover;
  /** With hooks only: they name the session. */
  readonly resume: Resume;
  /**
   * What its screens look like. Null if unknown: then nothing is typed into it unless its owner
   * says that it reads prompts.
   */
  readonly input: InputFacts | null;
  /**
   * After its start, its input line must be empty for this long before anything goes in, unless the
   * screen shows that the start is over.
   */
  readonly steadyMs: number;
  /**
   * Text goes in as one bracketed paste. `submit` follows this long after the screen shows it.
   * Where nothing is known of the screen, it follows this long after the text is written.
   */
  readonly pasteMs: number;
  readonly submit: string;
  /** Its screen shows prompts as Markdown. */
  readonly markdown: boolean;
  /** It reads its terminal once it has turned this mode on. */
  readonly ready: "bracketed_paste";
  /** What proves that a prompt was taken. Without one a delivery stays unconfirmed. */
  readonly evidence: "user_prompt_submit" | "none";
  /** For its process; the Actor's own environment may say otherwise. */
  readonly environment: Readonly<Record<string, string>>;
  /** A line that its screen shows while it asks a person; null if unknown. */
  readonly asks: RegExp | null;
  /** Keys that interrupt a turn. */
  readonly interrupt: string;
  /** Polite end: keys, then the signal to the process. */
  readonly end: { readonly signal: "SIGTERM" | "SIGHUP" };
}

const ENTER = "\r";
const ESCAPE = "\u001b";
const CONTROL_C = "\u0003";

/**
 * Gemini shows its input line for 0.2 s and then asks about the folder. No hook says when a start
 * is over. This is fifteen times the measured time.
 */
const STEADY_MS = 3000;

const ASKS = /\besc to cancel\b/i;
/** The name of a session, which is any text, is in a line that ends in a rule. */
const CLAUDE_ASKS = /^(?!.*\u2500$).*\besc to cancel\b/i;

const plain = {
  versionArguments: ["--version"],
  mcp: "none",
  hooks: "none",
  resume: "none",
  input: null,
  steadyMs: 0,
  pasteMs: 0,
  submit: ENTER,
  markdown: false,
  ready: "bracketed_paste",
  evidence: "none",
  environment: {},
  asks: null,
  interrupt: ESCAPE,
  end: { signal: "SIGHUP" },
} as const;

const entries: Readonly<Record<Runtime, RuntimeEntry>> = {
  claude: {
    ...plain,
    runtime: "claude",
    title: "Claude Code",
    programs: ["claude"],
    mcp: "claude_flag",
    hooks: "claude_settings",
    resume: "claude_flag",
    evidence: "user_prompt_submit",
    // Otherwise, if a message names `@path`, the file is read to it at once, from anywhere, without
    // asking for permission.
    environment: {
      CLAUDE_CODE_DISABLE_FILE_MENTIONS: "1",
      // A suggested prompt looks in the input line like text that someone typed.
      CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION: "false",
    },
    input: CLAUDE_INPUT,
    asks: CLAUDE_ASKS,
    end: { signal: "SIGTERM" },
  },
  codex: {
    ...plain,
    runtime: "codex",
    title: "OpenAI Codex CLI",
    programs: ["codex"],
    mcp: "codex_overrides",
    hooks: "codex_overrides",
    resume: "codex_command",
    markdown: true,
    input: CODEX_INPUT,
    evidence: "user_prompt_submit",
    asks: ASKS,
    end: { signal: "SIGTERM" },
  },
  gemini: {
    ...plain,
    runtime: "gemini",
    title: "Gemini CLI",
    programs: ["gemini"],
    input: GEMINI_INPUT,
    steadyMs: STEADY_MS,
    // It takes Enter as part of the paste for this long; twice the measured time.
    pasteMs: 120,
  },
  opencode: {
    ...plain,
    runtime: "opencode",
    title: "opencode",
    programs: ["opencode"],
    mcp: "opencode_variable",
    input: OPENCODE_INPUT,
    steadyMs: STEADY_MS,
    pasteMs: 120,
  },
  copilot: {
    ...plain,
    runtime: "copilot",
    title: "GitHub Copilot CLI",
    programs: ["copilot"],
    input: COPILOT_INPUT,
    steadyMs: STEADY_MS,
    pasteMs: 120,
  },
  cursor: { ...plain, runtime: "cursor", title: "Cursor CLI", programs: ["cursor-agent"] },
  custom: {
    ...plain,
    runtime: "custom",
    title: "Any command",
    programs: [],
    pasteMs: 120,
    interrupt: CONTROL_C,
  },
};

export const CATALOGUE: readonly RuntimeEntry[] = Object.values(entries);

export function entryOf(runtime: Runtime): RuntimeEntry {
  return entries[runtime];
}
