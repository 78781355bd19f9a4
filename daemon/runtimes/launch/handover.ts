/**
 * How our MCP server and hooks reach a runtime at its launch: only through arguments and
 * environment. The user's own configuration is neither read nor written, and no argument contains a
 * secret: what needs the launch token gets the path of its owner-only file.
 */
import { createHash } from "node:crypto";
import { LIMITS } from "../../../shared/limits.ts";
import { shellWords, tomlString } from "../../../shared/quoting.ts";
import type { RuntimeEntry } from "../catalogue.ts";
import { isSince } from "../program-version.ts";

/** Program and arguments. */
export type Words = readonly [program: string, ...args: string[]];

export interface Wiring {
  /** Runs our MCP server. */
  mcp: Words;
  /** What the MCP server needs, without secrets: a runtime may give it nothing else. */
  mcpEnvironment: Readonly<Record<string, string>>;
  /** Runs at every event; null to leave hooks out. */
  hook: Words | null;
  /** Runs when the runtime asks a person, and prints the decision; null to leave it out. */
  decide: Words | null;
  /** Tools of our server that the agent may use without asking a person each time. */
  allowedTools: readonly string[];
  /** The program's version; null if it isn't known. */
  version: string | null;
}

export interface Handover {
  /** After the command's own arguments. */
  args: string[];
  environment: Record<string, string>;
}

const HOOK_SECONDS = LIMITS.activity.hook.waitSeconds;
const { openSeconds, graceSeconds } = LIMITS.questions;
/** Longer than the hook waits, because a runtime reports a hook that it has to end. */
const DECIDE_SECONDS = openSeconds + 2 * graceSeconds;
const ASKS = "PermissionRequest";

const CLAUDE_EVENTS = [
  "SessionStart",
  "SessionEnd",
  "UserPromptSubmit",
  "PreToolUse",
  "PermissionRequest",
  "PostToolUse",
  "PostToolUseFailure",
  "PostToolBatch",
  "SubagentStart",
  "SubagentStop",
  "Stop",
  "StopFailure",
  "Notification",
] as const;

/**
 * The first version that knows an event. Claude 2.1.100 drops all settings that name one it doesn't
 * know.
 */
const CLAUDE_SINCE: Readonly<Partial<Record<(typeof CLAUDE_EVENTS)[number], string>>> = {
  PostToolBatch: "2.1.118",
  StopFailure: "2.1.78",
};

const CODEX_EVENTS = [
  "SessionStart",
  "SessionEnd",
  "UserPromptSubmit",
  "PreToolUse",
  "PermissionRequest",
  "PostToolUse",
  "SubagentStart",
  "SubagentStop",
  "Stop",
  "Interrupt",
] as const;

export function handOver(entry: RuntimeEntry, wiring: Wiring): Handover {
  const handover: Handover = { args: [], environment: {} };
  if (entry.hooks === "claude_settings" && wiring.hook !== null) {
    handover.args.push("--settings", claudeSettings(wiring.hook, wiring));
  }
  if (entry.hooks === "codex_overrides" && wiring.hook !== null) {
    for (const override of codexHooks(wiring.hook, wiring.decide)) handover.args.push("-c", override);
  }
  switch (entry.mcp) {
    case "claude_flag":
      handover.args.push("--mcp-config", claudeServers(wiring));
      break;
    case "codex_overrides":
      for (const override of codexServers(wiring)) handover.args.push("-c", override);
      break;
    case "opencode_variable":
      handover.environment["OPENCODE_CONFIG_CONTENT"] = opencodeServers(wiring);
      break;
    case "none":
      break;
  }
  return handover;
}

/**
 * In the settings rather than as `--allowedTools`, which the person's own command may have: both
 * count, and a rule of theirs that denies wins. The hook is one line for a shell: an older Claude
 * (2.1.110) overlooks `args`, and a shell without arguments would run the event as its script.
 */
function claudeSettings(words: Words, { allowedTools, version, decide }: Wiring): string {
  const events = CLAUDE_EVENTS.filter((event) => {
    const first = CLAUDE_SINCE[event];
    return first === undefined || version === null || isSince(version, first);
  });
  const run = (command: Words, timeout: number) => ({
    hooks: [{ type: "command", command: shellWords(command), timeout }],
  });
  const hooks = Object.fromEntries(events.map((event) => [event, [run(words, HOOK_SECONDS)]]));
  if (decide !== null) hooks[ASKS]?.push(run(decide, DECIDE_SECONDS));
  return JSON.stringify({
    permissions: { allow: allowedTools.map((tool) => `mcp__svc__${tool}`) },
    hooks,
  });
}

/**
 * `alwaysLoad`: Claude starts with our tools listed, so that the first prompt can be answered with
 * them, and doesn't hide them behind its search.
 */
function claudeServers({ mcp: [command, ...args], mcpEnvironment: env }: Wiring): string {
  return JSON.stringify({ mcpServers: { svc: { command, args, env, alwaysLoad: true } } });
}

function opencodeServers({ mcp, mcpEnvironment: environment }: Wiring): string {
  return JSON.stringify({ mcp: { svc: { type: "local", command: mcp, environment, enabled: true } } });
}

/** Hooks as overrides, and the trust for exactly these: without it Codex asks in a dialog. */
function codexHooks(hook: Words, decide: Words | null): string[] {
  const trust: string[] = [];
  const overrides = CODEX_EVENTS.map((event) => {
    const name = event.replaceAll(/(?<!^)[A-Z]/g, "_$&").toLowerCase();
    const runs: [Words, number][] = [[hook, HOOK_SECONDS]];
    if (event === ASKS && decide !== null) runs.push([decide, DECIDE_SECONDS]);
    const groups = runs.map(([words, seconds], index) => {
      const command = shellWords(words);
      const place = `/<session-flags>/config.toml:${name}:${index}:0`;
      trust.push(`${tomlString(place)}={trusted_hash=${tomlString(codexTrustHash(name, command, seconds))}}`);
      return `{hooks=[{type="command",command=${tomlString(command)},timeout=${seconds}}]}`;
    });
    return `hooks.${event}=[${groups.join(",")}]`;
  });
  return [...overrides, `hooks.state={${trust.join(",")}}`];
}

/**
 * What Codex compares: SHA-256 of compact JSON with sorted keys. `timeout` in seconds, as clamped
 * by Codex.
 */
export function codexTrustHash(eventName: string, command: string, timeout: number): string {
  const identity = JSON.stringify({
    event_name: eventName,
    hooks: [{ async: false, command, timeout, type: "command" }],
  });
  return `sha256:${createHash("sha256").update(identity).digest("hex")}`;
}

function codexServers({ mcp: [command, ...args], mcpEnvironment, allowedTools }: Wiring): string[] {
  return [
    `mcp_servers.svc.command=${tomlString(command)}`,
    `mcp_servers.svc.args=[${args.map(tomlString).join(",")}]`,
    ...Object.entries(mcpEnvironment).map(
      ([name, value]) => `mcp_servers.svc.env.${name}=${tomlString(value)}`,
    ),
    // By itself it asks before tools that say that they destroy something.
    ...allowedTools.map((tool) => `mcp_servers.svc.tools.${tool}.approval_mode="approve"`),
  ];
}
