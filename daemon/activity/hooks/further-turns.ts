/**
 * Turns that no hook announces. When a prompt is queued after a turn, Claude reports it at that
 * moment, as part of that turn. What is still queued when the turn ends, or is interrupted, runs as
 * a separate turn that shows itself only by its tools and its end. Codex takes such a prompt into
 * the open turn, even if that turn's end was already reported. Without this an Actor would seem
 * idle while it works.
 */

import type { InputStep } from "../launches.ts";
import { closeChildren, inBackground, turnRevision } from "./closing.ts";
import type { Hook } from "./hook.ts";
import type { HookState, Memory, OpenTurn, Revision } from "./hook-state.ts";
import type { Accepted, Fence } from "./verdict.ts";

const PROMPT = "UserPromptSubmit";

/** A turn that starts with its own event. */
export function openTurn({ turn_key: key, turn_id: turnId }: Hook, at: string): OpenTurn {
  return {
    key,
    name: key,
    turn_id: turnId,
    started_at: at,
    isWaiting: false,
    hasQueued: false,
    isAssumed: false,
  };
}

/** Whether a prompt isn't the first that its turn shows. */
export function isFurtherPrompt({ turn }: HookState, memory: Memory, { turn_key: key }: Hook): boolean {
  return key !== "" && (memory.turns.has(key) || turn?.key === key || turn?.key === "");
}

/**
 * Claude: whether a prompt only goes into the input queue, after a turn that is running or ending.
 */
export function isQueuedPrompt(before: HookState, memory: Memory, hook: Hook): boolean {
  const { turn } = before;
  const { turn_key: key, runtime } = hook;
  if (runtime !== "claude" || !isFurtherPrompt(before, memory, hook)) return false;
  if (turn === null) return memory.prompts.has(key);
  // The own prompt of a turn that followed another was already reported in that one.
  return memory.prompts.has(key) || (turn.name !== turn.key && withKey(turn, memory, key).key === key);
}

/** What a change says about the input queue, in order. */
export function inputSteps(before: HookState, after: HookState): InputStep[] {
  const was = before.turn;
  const is = after.turn;
  const isSame = was !== null && was.name === is?.name;
  const steps: InputStep[] = [];
  if (was?.isAssumed === true && (!isSame || !is.isAssumed || was.key !== is.key)) steps.push("begun");
  if (isSame && was.hasQueued && !is.hasQueued) steps.push("joined");
  if (!isSame && is?.isAssumed === true) steps.push("next");
  return steps;
}

/** A prompt of a known turn: queued in it, or its own prompt arriving late. */
export function furtherPrompt(before: HookState, memory: Memory, hook: Hook, at: string): Accepted | Fence {
  const { turn, ended } = before;
  const { turn_key: key, runtime } = hook;
  const remember = (): void => {
    memory.turns.add(key);
    memory.prompts.add(key);
  };
  if (turn === null) {
    // Its own prompt arrived after its end, so it starts nothing.
    if (runtime === "claude" && !memory.prompts.has(key)) return "turn";
    if (runtime === "codex" && (ended?.key !== key || ended.how === "interrupted")) return "turn";
    const next = runtime === "codex" ? { ...openTurn(hook, at), isAssumed: true } : followingTurn(key, at);
    return { state: { ...before, turn: next }, revisions: [started(before, next)], remember };
  }
  // The turn that is open takes it.
  if (runtime === "codex") return "turn";
  const known = withKey(turn, memory, key);
  // Queued in an earlier turn and reported late: it now comes after this one.
  const isLate = known.key !== key && memory.prompts.has(key);
  if (known.key !== key && !isLate) return "turn";
  const isQueued = isQueuedPrompt(before, memory, hook);
  const next = { ...known, isAssumed: turn.isAssumed && isLate, hasQueued: turn.hasQueued || isQueued };
  const status = next.isWaiting ? "waiting" : "started";
  return {
    state: { ...before, turn: next },
    revisions: [turnRevision(before, next, status, PROMPT)],
    remember,
  };
}

/** What follows the closed turn in `state` if a prompt was queued after it; adds the revision. */
export function withQueued(
  state: HookState,
  turn: OpenTurn | null,
  revisions: Revision[],
  at: string,
): HookState {
  if (turn?.hasQueued !== true) return state;
  const next = followingTurn(turn.key, at);
  revisions.push(started(state, next));
  return { ...state, turn: next };
}

/** A turn whose id wasn't known gets it from its first event. */
export function withKey(turn: OpenTurn, memory: Memory, key: string): OpenTurn {
  return turn.key === "" && !memory.turns.has(key) ? { ...turn, key } : turn;
}

/**
 * Nothing has shown the assumed turn, and the terminal is silent, so there is none. Null if none is
 * assumed.
 */
export function refuteTurn(
  before: HookState,
  at: string,
): { state: HookState; revisions: Revision[] } | null {
  const { turn } = before;
  if (turn === null || !turn.isAssumed || turn.isWaiting) return null;
  const { state, revisions } = closeChildren(before, "TurnSuperseded", inBackground(before));
  revisions.push(turnRevision(state, turn, "completed", "TurnSuperseded"));
  return { state: { ...state, turn: null, at }, revisions };
}

/** Codex: its screen says that the turn failed, which no hook reports. */
export function failTurn(
  before: HookState,
  trouble: string,
  at: string,
): { state: HookState; revisions: Revision[] } | null {
  const { turn } = before;
  if (turn === null) return null;
  const { state, revisions } = closeChildren(before, "TurnSuperseded", () => true);
  revisions.push(turnRevision(state, turn, "failed", "TurnSuperseded"));
  return { state: { ...state, turn: null, ended: { how: "failed", at, key: turn.key, trouble } }, revisions };
}

function followingTurn(key: string, at: string): OpenTurn {
  return {
    key: "",
    name: `${key}.next`,
    turn_id: "",
    started_at: at,
    isWaiting: false,
    hasQueued: false,
    isAssumed: true,
  };
}

function started(state: HookState, turn: OpenTurn): Revision {
  return turnRevision(state, turn, "started", PROMPT);
}
