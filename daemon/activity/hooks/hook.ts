/**
 * One hook payload as a runtime sends it, reduced to what the channel may know
 * (docs/protocol.md#runtime-activity). Prompts, tool inputs and outputs and the text of
 * notifications stay in the payload, which isn't kept.
 */
import {
  type ActivityKind,
  type ActivityStatus,
  RUNTIME_ID,
  toolLabel,
} from "../../../shared/activity/event.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { lookUp } from "../../../shared/look-up.ts";
import type { Runtime } from "../../../shared/model.ts";
import { troubleOf } from "./trouble.ts";

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
  /** Distinguishes turns: Codex's turn_id, Claude's prompt_id. */
  turn_key: string;
  /** Empty if the payload has none, as in every PermissionRequest. */
  operation_id: string;
  tool_name: string;
  /** Of a subagent; else empty. */
  agent_id: string;
  /** Of a SessionStart: startup, resume, clear, compact. */
  source: string;
  /** From Claude's Stop: the subagents that continue in the background. Null if it doesn't say. */
  background: readonly string[] | null;
  /** Of a failed turn: why, in words. */
  trouble: string;
}

export type Unusable = "malformed" | "ignored";

const CONTROL = /\p{Cc}/u;

const EVENTS: Readonly<Record<string, readonly [ActivityKind, ActivityStatus]>> = {
  SessionStart: ["session", "started"],
  SessionEnd: ["session", "completed"],
  UserPromptSubmit: ["turn", "started"],
  PreToolUse: ["tool", "started"],
  PermissionRequest: ["tool", "waiting"],
  PostToolUse: ["tool", "completed"],
  PostToolUseFailure: ["tool", "failed"],
  PostToolBatch: ["turn", "started"],
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

/**
 * Reads a payload. Returns `ignored` for events that say nothing about activity, `malformed` for
 * anything that isn't a hook of that runtime.
 */
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
  const {
    session_id: sessionId,
    turn_id: turnId,
    prompt_id: promptId,
    operation_id: operationId,
    agent_id: agentId,
  } = ids;
  if (sessionId === null || turnId === null || promptId === null) return "malformed";
  if (operationId === null || agentId === null || sessionId === "") return "malformed";
  if (WITH_OPERATION.has(event) && operationId === "") return "malformed";
  if (kind === "subagent" && agentId === "") return "malformed";
  if (runtime === "codex" && kind !== "session" && turnId === "") return "malformed";
  const name = payload["tool_name"];
  if (kind === "tool" && typeof name !== "string") return "malformed";
  const source = payload["source"];
  return {
    runtime,
    event,
    kind,
    status,
    session_id: sessionId,
    turn_id: turnId,
    turn_key: runtime === "codex" ? turnId : promptId,
    operation_id: operationId,
    tool_name: typeof name === "string" ? toolLabel(name) : "",
    agent_id: agentId,
    source: typeof source === "string" ? source : "",
    background: subagentsIn(payload["background_tasks"]),
    trouble: event === "StopFailure" ? troubleOf(payload["error"], payload["last_assistant_message"]) : "",
  };
}

/** Where the runtime says it keeps the session; null if that isn't a path. */
export function transcriptOf(payload: Readonly<Record<string, unknown>>): string | null {
  const { transcript_path: path } = payload;
  if (typeof path !== "string" || path === "" || path.length > LIMITS.activity.hook.pathBytes) return null;
  return CONTROL.test(path) ? null : path;
}

/** The prompt that this payload proves was taken, by the runtime itself and not by a subagent. */
export function promptOf(payload: Readonly<Record<string, unknown>>): string | null {
  const { hook_event_name: event, agent_id: agent, prompt } = payload;
  if (event !== "UserPromptSubmit" || typeof prompt !== "string") return null;
  return agent === undefined || agent === null || agent === "" ? prompt : null;
}

/** The ids of running subagents in a list of background tasks, which may hold others. */
function subagentsIn(tasks: unknown): string[] | null {
  if (!Array.isArray(tasks)) return null;
  return tasks
    .slice(0, LIMITS.activity.remembered.subagents)
    .filter((task) => typeof task === "object" && task !== null)
    .map((task) => task as Readonly<Record<string, unknown>>)
    .filter(({ type, status }) => type === "subagent" && status === "running")
    .flatMap(({ id }) => idOf(id) || []);
}

/** Empty if absent, null if it isn't an id. */
function idOf(value: unknown): string | null {
  if (value === undefined || value === null || value === "") return "";
  return typeof value === "string" && RUNTIME_ID.test(value) ? value : null;
}
