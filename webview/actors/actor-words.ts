/**
 * An Actor's state in the words of its row. The daemon decides the state; this only chooses the
 * words.
 */

import { shownName } from "../../shared/foreign-text.ts";
import { NOT_CONNECTED, RUNS_UNTOLD } from "../../shared/names.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { Tone } from "../controls/controls.ts";
import type { IconName } from "../controls/icons.ts";
import { HostError } from "../hosts/host.ts";

type State = ActorWithPresence["presence"]["state"];

const WORDS: Record<State, { icon: IconName; word: string; tone: Tone }> = {
  working: { icon: "sync", word: "working", tone: "good" },
  waiting: { icon: "bell-dot", word: "waiting for you", tone: "attention" },
  idle: { icon: "circle-filled", word: "idle", tone: "good" },
  stalled: { icon: "warning", word: "stalled", tone: "attention" },
  starting: { icon: "loading", word: "starting", tone: "quiet" },
  stopped: { icon: "circle-outline", word: "stopped", tone: "quiet" },
  failed: { icon: "error", word: "failed", tone: "bad" },
  unavailable: { icon: "circle-slash", word: "unavailable", tone: "quiet" },
};

const RUNNING = { icon: "circle-filled", word: "running", tone: "quiet" } as const;

interface Presence {
  state: State;
  reason: string;
}

export function actorWords({ state, reason }: Presence): { icon: IconName; word: string; tone: Tone } {
  const isAbsent = state === "unavailable" && reason.startsWith(NOT_CONNECTED);
  if (isAbsent) return { ...WORDS.unavailable, word: NOT_CONNECTED };
  // All that is known is that its process runs, and that is what matters.
  return state === "unavailable" && reason === RUNS_UNTOLD ? RUNNING : WORDS[state];
}

/** Reasons that the word already gives. */
const SAID = new Set([
  RUNS_UNTOLD,
  "",
  "connected",
  "disabled",
  "not running",
  "stopped",
  "works",
  "working",
  NOT_CONNECTED,
]);

/** Why it is in that state, where the word alone leaves a question. */
export function actorReason({ state, reason }: Presence): string {
  if (SAID.has(reason)) return "";
  if (state === "stopped" && reason.startsWith("stopped ")) return reason.slice("stopped ".length);
  return state === "unavailable" && reason.startsWith(`${NOT_CONNECTED}; `)
    ? reason.slice(NOT_CONNECTED.length + 2)
    : reason;
}

/** The daemon runs it, in a terminal. */
export function hasTerminal(actor: { runner: ActorWithPresence["runner"] }): boolean {
  return actor.runner === "pty";
}

/**
 * Its agent has hooks. It continues its last conversation at a start unless configured otherwise,
 * and asks before it uses tools.
 */
export function hasConversations(actor: Pick<ActorWithPresence, "runner" | "runtime">): boolean {
  return hasTerminal(actor) && (actor.runtime === "claude" || actor.runtime === "codex");
}

/** The name people see: the title where there is one, else the id. */
export function actorName(actor: { id: string; title: string }): string {
  return shownName(actor.title === "" ? actor.id : actor.title);
}

/** The program that the Actor would run isn't installed. */
export function isMissing(error: unknown): error is HostError {
  return error instanceof HostError && error.code === "runtime_not_installed" && "program" in error.details;
}

/** Why an Actor can't be started, with what helps here. */
export function startProblem(error: unknown): string {
  if (isMissing(error))
    return `Can’t start: the daemon’s machine has no program “${String(error.details["program"])}”. Install it, or enter another one under Command and arguments.`;
  return error instanceof Error ? error.message : String(error);
}
