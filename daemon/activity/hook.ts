/**
 * One hook payload as a runtime sends it, reduced to what the channel may know (protocol.md, section 10). Prompts, tool inputs and outputs
 * and the text of notifications stay in the payload, which nobody keeps.
 */
import {
  type ActivityKind,
  type ActivityStatus,
  RUNTIME_ID,
  toolLabel,
} from "../../shared/activity/event.ts";
import type { Runtime } from "../../shared/model.ts";

/** Runtimes whose hooks are verified (HOOK-004). */
export type HookRuntime = "claude" | "codex";

export interface Hook {
  runtime: HookRuntime;
  /** The runtime's own name of the event. */
  event: string;
  kind: ActivityKind;
  status: ActivityStatus;
  session_id: string;
  /** Codex: the turn's id. Empty when the payload has none. */
  turn_id: string;
  /** What tells turns apart: Codex's turn_id, Claude's prompt_id. */
  turn_key: string;
  /** Empty when the payload has none, as in every PermissionRequest. */
  operation_id: string;
  tool_name: string;
  /** Of a subagent; else empty. */
  agent_id: string;
  /** Of a SessionStart: startup, resume, clear, compact. */
  source: string;
}

export type Unusable = "malformed" | "ignored";

const EVENTS: Readonly<Record<string, readonly [ActivityKind, ActivityStatus]>> = {
  SessionStart: ["session", "started"],
  SessionEnd: ["session", "completed"],
  UserPromptSubmit: ["turn", "started"],
  PreToolUse: ["tool", "started"],
  PermissionRequest: ["tool", "waiting"],
  PostToolUse: ["tool", "completed"],
  PostToolUseFailure: ["tool", "failed"],
  SubagentStart: ["subagent", "started"],
  SubagentStop: ["subagent", "completed"],
  Stop: ["turn", "completed"],
  StopFailure: ["turn", "failed"],
  Interrupt: ["turn", "failed"],
};

const NOTIFICATIONS: Readonly<Record<string, readonly [ActivityKind, ActivityStatus]>> = {
  permission_prompt: ["turn", "waiting"],
  elicitation_dialog: ["turn", "waiting"],
  agent_needs_input: ["turn", "waiting"],
  idle_prompt: ["turn", "completed"],
  agent_completed: ["turn", "completed"],
};

const WITH_OPERATION: ReadonlySet<string> = new Set(["PreToolUse", "PostToolUse", "PostToolUseFailure"]);

export function isHookRuntime(runtime: Runtime): runtime is HookRuntime {
  return runtime === "claude" || runtime === "codex";
}

/** Reads a payload; `ignored` for events that say nothing about activity, `malformed` for what isn't a hook of that runtime. */
export function readHook(runtime: HookRuntime, payload: Readonly<Record<string, unknown>>): Hook | Unusable {
  const event = payload["hook_event_name"];
  if (typeof event !== "string") return "malformed";
  const meaning =
    event === "Notification"
      ? lookUp(NOTIFICATIONS, String(payload["notification_type"]))
      : lookUp(EVENTS, event);
  if (meaning === undefined) return "ignored";
  const [kind, status] = meaning;
  const ids = {
    session_id: idOf(payload["session_id"]),
    turn_id: idOf(payload["turn_id"]),
    prompt_id: idOf(payload["prompt_id"]),
    operation_id: idOf(payload["tool_use_id"]),
    agent_id: idOf(payload["agent_id"]),
  };
  const { session_id, turn_id, prompt_id, operation_id, agent_id } = ids;
  if (session_id === null || turn_id === null || prompt_id === null) return "malformed";
  if (operation_id === null || agent_id === null || session_id === "") return "malformed";
  if (WITH_OPERATION.has(event) && operation_id === "") return "malformed";
  if (kind === "subagent" && agent_id === "") return "malformed";
  if (runtime === "codex" && kind !== "session" && turn_id === "") return "malformed";
  const name = payload["tool_name"];
  if (kind === "tool" && typeof name !== "string") return "malformed";
  const source = payload["source"];
  return {
    runtime,
    event,
    kind,
    status,
    session_id,
    turn_id,
    turn_key: runtime === "codex" ? turn_id : prompt_id,
    operation_id,
    tool_name: typeof name === "string" ? toolLabel(name) : "",
    agent_id,
    source: typeof source === "string" ? source : "",
  };
}

/** The prompt that this payload proves to be taken: of the runtime itself, not of a subagent. */
export function promptOf(payload: Readonly<Record<string, unknown>>): string | null {
  const { hook_event_name: event, agent_id: agent, prompt } = payload;
  if (event !== "UserPromptSubmit" || typeof prompt !== "string") return null;
  return agent === undefined || agent === null || agent === "" ? prompt : null;
}

function lookUp<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** Empty for an absent one, null for one that isn't an id. */
function idOf(value: unknown): string | null {
  if (value === undefined || value === null || value === "") return "";
  return typeof value === "string" && RUNTIME_ID.test(value) ? value : null;
}
