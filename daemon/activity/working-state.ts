/**
 * What an Actor that runs in a terminal does, from what its hooks said (runtime-activity.md, "Actor working state"). Hook state counts only
 * while the running process, the committed launch identity and the hook state agree on runtime, process and token; else the state is
 * `unavailable`, never an old one.
 */
import type { ActorActivity } from "../../shared/events.ts";
import { LIMITS } from "../../shared/limits.ts";
import { type HookState, isOpen } from "./hook-state.ts";
import type { Launch } from "./launches.ts";

export interface Derived {
  state: ActorActivity["actors"][number]["effective_working_state"];
  /** In words for people. */
  reason: string;
}

export interface Evidence {
  /** The launch whose process this daemon runs. */
  launch: Launch;
  committed: Launch | "corrupt" | null;
  isAlive: boolean;
  /** Null while no event of a launch was accepted. */
  hooks: HookState | null;
  /** Null when the Actor's records can be read, else what is wrong. */
  storeProblem: string | null;
  /** Seconds since the terminal wrote something; null when unknown. */
  quietSeconds: number | null;
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
  const { launch, committed, isAlive, hooks, storeProblem } = evidence;
  if (launch.pid === null) return unavailable("is being started");
  if (committed === "corrupt" || committed === null) return unavailable("its launch identity can't be read");
  if (!agree(launch, committed)) return unavailable("its launch identity is another process's");
  if (!isAlive) return unavailable("its process is gone");
  if (!launch.has_hooks) return unavailable("runs; its command tells nothing of what it does");
  if (storeProblem !== null) return unavailable(storeProblem);
  if (hooks === null || !agree(launch, hooks)) {
    const codex = launch.runtime === "codex";
    return unavailable(
      codex ? "runs; tells what it does from its first prompt on" : "hasn't told anything yet",
    );
  }
  if (hooks.session === null) return unavailable("its session has ended");
  return fromHooks(evidence, hooks);
}

function fromHooks({ quietSeconds, now }: Evidence, hooks: HookState): Derived {
  const open = hooks.operations.filter(isOpen);
  const held = open.findLast(({ status }) => status === "waiting");
  if (held !== undefined) {
    return { state: "waiting", reason: `waits for permission to use ${held.tool_name || "a tool"}` };
  }
  if (hooks.turn?.isWaiting === true) return { state: "waiting", reason: "waits for your answer" };
  const operation = open.at(-1);
  if (operation === undefined && hooks.turn === null && hooks.agents.length === 0) {
    const how = hooks.ended?.how;
    if (how === "failed") return { state: "idle", reason: "ready; its last turn failed" };
    return { state: "idle", reason: how === "interrupted" ? "ready; it was interrupted" : "ready" };
  }
  // Some ends are never told: an API error of Codex gives no Stop. A runtime that works shows it in its terminal.
  const silent = Math.min((now - Date.parse(hooks.at)) / 1000, quietSeconds ?? 0);
  if (silent >= LIMITS.activity.silenceSeconds) {
    return unavailable("neither its hooks nor its terminal have told anything for two minutes");
  }
  if (operation !== undefined) return { state: "working", reason: `uses ${operation.tool_name || "a tool"}` };
  if (hooks.turn === null) return { state: "working", reason: "a subagent works" };
  return { state: "working", reason: "works on a prompt" };
}

function unavailable(reason: string): Derived {
  return { state: "unavailable", reason };
}
