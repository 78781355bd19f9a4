/**
 * What an Actor in a terminal is doing, derived from its hooks (docs/protocol.md#working-states).
 * Hook state counts only while the running process, the committed launch identity and the hook
 * state agree on runtime, process and token. Otherwise the state is `unavailable`, never an old
 * one.
 */
import { askingWords } from "../../shared/activity/asking.ts";
import type { EventData } from "../../shared/events.ts";
import { LIMITS } from "../../shared/limits.ts";
import { RUNS_UNTOLD } from "../../shared/names.ts";
import { inBackground } from "./hooks/closing.ts";
import { type HookState, isOpen } from "./hooks/hook-state.ts";
import type { Trouble } from "./hooks/trouble.ts";
import type { Launch } from "./launches.ts";

export interface Derived {
  state: EventData<"actor.activity">["actors"][number]["effective_working_state"];
  /** In words for people. */
  reason: string;
  /** Why it can't do its work, in words; absent when it can. */
  trouble?: string;
}

export interface Evidence {
  /** The launch whose process this daemon runs. */
  launch: Launch;
  committed: Launch | "corrupt" | null;
  isAlive: boolean;
  /** Null while no event of a launch was accepted. */
  hooks: HookState | null;
  /** Null if the Actor's records can be read, else what is wrong. */
  storeProblem: string | null;
  /** Seconds since the terminal wrote something; null when unknown. */
  quietSeconds: number | null;
  /**
   * What its screen says a person must do, in words; empty if nothing, or if its screen isn't
   * known.
   */
  needs: string;
  /** What its screen says while a turn is open; null if nothing. */
  trouble: Trouble | null;
  /** Milliseconds since the Unix epoch. */
  now: number;
}

export function agree(
  one: Pick<Launch, "runtime" | "pid" | "token_digest">,
  other: Pick<Launch, "runtime" | "pid" | "token_digest">,
): boolean {
  return one.runtime === other.runtime && one.pid === other.pid && one.token_digest === other.token_digest;
}

export function derive(evidence: Evidence): Derived {
  const { launch, committed, isAlive } = evidence;
  if (launch.pid === null) return unavailable("is starting");
  if (committed === "corrupt" || committed === null) return unavailable("its launch identity can't be read");
  if (!agree(launch, committed)) return unavailable("its launch identity belongs to another process");
  if (!isAlive) return unavailable("its process is gone");
  const told = fromProcess(evidence);
  // Hooks are more precise about what they report.
  return evidence.needs === "" || told.state === "waiting"
    ? told
    : { state: "waiting", reason: evidence.needs };
}

function fromProcess(evidence: Evidence): Derived {
  const { launch, hooks, storeProblem } = evidence;
  if (!launch.has_hooks) return unavailable(RUNS_UNTOLD);
  if (storeProblem !== null) return unavailable(storeProblem);
  if (hooks === null || !agree(launch, hooks)) {
    const codex = launch.runtime === "codex";
    return unavailable(
      codex ? "running; it reports what it does from its first prompt on" : "hasn't reported anything yet",
    );
  }
  if (hooks.session === null) return unavailable("its session has ended");
  return fromHooks(evidence, hooks);
}

function fromHooks({ quietSeconds, now, trouble }: Evidence, hooks: HookState): Derived {
  const open = hooks.operations.filter(isOpen);
  const held = open.findLast(({ status }) => status === "waiting");
  if (held !== undefined) {
    const permission = `waits for permission to use ${held.tool_name || "a tool"}`;
    return { state: "waiting", reason: askingWords(held.tool_name) ?? permission };
  }
  if (hooks.turn?.isWaiting === true) return { state: "waiting", reason: "waits for your answer" };
  const operation = open.at(-1);
  if (operation === undefined && hooks.turn === null && hooks.agents.length === 0) {
    const how = hooks.ended?.how;
    if (how === "failed") {
      const why = hooks.ended?.trouble ?? "";
      const reason = why === "" ? "its last turn failed" : `${why}; its last turn failed`;
      return { state: "idle", reason, trouble: reason };
    }
    return { state: "idle", reason: how === "interrupted" ? "ready; it was interrupted" : "ready" };
  }
  if (trouble?.isRetrying === true && hooks.turn !== null) {
    return { state: "working", reason: trouble.words, trouble: trouble.words };
  }
  // Some ends are never reported: an API error of Codex sends no Stop. A working runtime shows it
  // in its terminal.
  const silent = Math.min((now - Date.parse(hooks.at)) / 1000, quietSeconds ?? 0);
  const isBehind = hooks.turn === null && (operation === undefined || operation.agent_id !== "");
  // A background subagent may say nothing during one long tool, and its terminal stays still.
  if (isBehind && hooks.agents.length > 0) {
    if (silent >= LIMITS.activity.subagentSilenceSeconds)
      return unavailable("its background subagent hasn't reported anything for half an hour");
    const tool = operation?.tool_name ?? "";
    return { state: "working", reason: tool === "" ? "a subagent works" : `a subagent uses ${tool}` };
  }
  if (silent >= LIMITS.activity.silenceSeconds) {
    return unavailable("neither its hooks nor its terminal have shown anything for two minutes");
  }
  // What a subagent does in the background isn't what the turn does.
  const goesOn = inBackground(hooks);
  const behind = new Set(hooks.agents.filter(goesOn).map(({ id }) => id));
  const own = open.findLast(({ agent_id: agentId }) => !behind.has(agentId));
  if (own !== undefined) return { state: "working", reason: `uses ${own.tool_name || "a tool"}` };
  return { state: "working", reason: "works on a prompt" };
}

function unavailable(reason: string): Derived {
  return { state: "unavailable", reason };
}
