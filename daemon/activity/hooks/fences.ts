/**
 * The fences (docs/protocol.md#runtime-activity): whether an event of a launch counts, and what it
 * changes. The launch fence comes earlier; here are session, turn and operation. Claude's turn
 * hooks only observe: they show turns but open and close no fence for its tools. Codex's turns are
 * exact.
 */
import {
  agentRevision,
  agentTurn,
  closeChildren,
  closeOperations,
  closeSession,
  closeTurn,
  inBackground,
  operationRevision,
  type Survives,
  sessionRevision,
  turnRevision,
} from "./closing.ts";
import { furtherPrompt, isFurtherPrompt, openTurn, withKey, withQueued } from "./further-turns.ts";
import type { Hook } from "./hook.ts";
import { type HookState, isOpen, type Memory, type OpenOperation } from "./hook-state.ts";
import type { Accepted, Fence } from "./verdict.ts";

const nothing = (): void => {};

/** Judges one event at `at` (UTC ISO 8601). Changes nothing itself. */
export function judge(before: HookState, memory: Memory, hook: Hook, at: string): Accepted | Fence {
  if (hook.event === "SessionStart") return startSession(before, memory, hook, at);
  if (before.session?.id === hook.session_id) return counted(judgeInSession(before, memory, hook, at), at);
  if (!isPromptedAgain(memory, hook)) return "session";
  const taken = takeSession(before, memory, hook, at);
  const accepted = judgeInSession(taken.state, memory, hook, at);
  if (typeof accepted === "string") return accepted;
  const remember = (): void => {
    taken.remember();
    accepted.remember();
  };
  return counted({ ...accepted, revisions: [...taken.revisions, ...accepted.revisions], remember }, at);
}

function counted(judged: Accepted | Fence, at: string): Accepted | Fence {
  return typeof judged === "string" ? judged : { ...judged, state: { ...judged.state, at } };
}

/**
 * Claude: leaving its agents view starts two sessions at the same time, a fork of the conversation
 * and an empty one. Their hooks come in either order, so the last one to start needn't be the one
 * that goes on. A prompt tells.
 */
function isPromptedAgain(memory: Memory, hook: Hook): boolean {
  const isPrompt = hook.event === "UserPromptSubmit" && hook.agent_id === "";
  return isPrompt && hook.runtime === "claude" && memory.setAside.has(hook.session_id);
}

/** What an interrupt in Claude's terminal ends; null if nothing is in progress. */
export function inferInterrupt(before: HookState, at: string): Omit<Accepted, "remember"> | null {
  const survives = inBackground(before);
  const isQuiet = before.agents.every(survives) && !before.operations.some(isOfTurn);
  if (before.turn === null && isQuiet) return null;
  const { state, revisions } = closeTurn(before, "UserInterrupt", at, survives);
  return { state: withQueued(state, before.turn, revisions, at), revisions };
}

function isOfTurn(operation: OpenOperation): boolean {
  return isOpen(operation) && operation.agent_id === "";
}

function judgeInSession(before: HookState, memory: Memory, hook: Hook, at: string): Accepted | Fence {
  switch (hook.event) {
    case "SessionEnd":
      return endSession(before, memory, hook, at);
    case "UserPromptSubmit":
      return hook.agent_id === ""
        ? startTurn(before, memory, hook, at)
        : startAgentTurn(before, memory, hook, at);
    case "PreToolUse":
      return startOperation(before, memory, hook, at);
    case "PermissionRequest":
      return holdOperation(before, hook);
    case "PostToolUse":
    case "PostToolUseFailure":
      return endOperation(before, memory, hook, at);
    case "PostToolBatch":
      return endBatch(before, memory, hook, at);
    case "SubagentStart":
      return startAgent(before, memory, hook, at);
    case "SubagentStop":
      return endAgent(before, hook);
    case "Notification":
      return hook.status === "waiting"
        ? holdTurn(before, memory, hook, at)
        : endTurn(before, memory, hook, at);
    case "Interrupt":
      return interruptTurn(before, hook, at);
    default:
      return endTurn(before, memory, hook, at);
  }
}

function startSession(before: HookState, memory: Memory, hook: Hook, at: string): Accepted | Fence {
  // An open session may be compacted or cleared. It stays the same session.
  if (before.session?.id === hook.session_id) return "session";
  if (memory.sessions.has(hook.session_id) && hook.source !== "resume") return "session";
  return takeSession(before, memory, hook, at);
}

/** The hook's session is the current one from now on. */
function takeSession(before: HookState, memory: Memory, hook: Hook, at: string): Accepted {
  const { state, revisions } = closeSession(before, at);
  const session = { id: hook.session_id, started_at: at };
  revisions.push(sessionRevision(session, "started", hook.event));
  const previous = before.session?.id;
  return {
    state: { ...state, session, ended: null, at },
    revisions,
    remember() {
      if (previous === undefined) return;
      memory.sessions.add(previous);
      memory.setAside.add(previous);
    },
  };
}

function endSession(before: HookState, memory: Memory, hook: Hook, at: string): Accepted {
  const { state, revisions } = closeTurn(before, "SessionEnded", at);
  const session = before.session!;
  revisions.push(sessionRevision(session, "completed", hook.event));
  return {
    state: { ...state, session: null, operations: [], ended: null },
    revisions,
    remember() {
      memory.sessions.add(session.id);
      memory.setAside.delete(session.id);
    },
  };
}

function startTurn(before: HookState, memory: Memory, hook: Hook, at: string): Accepted | Fence {
  if (isFurtherPrompt(before, memory, hook)) return furtherPrompt(before, memory, hook, at);
  const { state, revisions } = closeTurn(before, "TurnSuperseded", at, inBackground(before));
  const turn = openTurn(hook, at);
  revisions.push(turnRevision(state, turn, "started", hook.event));
  return {
    state: { ...state, turn },
    revisions,
    remember: () => {
      memory.turns.add(turn.key);
      memory.prompts.add(turn.key);
    },
  };
}

/** A subagent's first prompt belongs to its start. A further one is a separate turn. */
function startAgentTurn(before: HookState, memory: Memory, hook: Hook, at: string): Accepted | Fence {
  const { agent_id: agentId, turn_id: turnId, turn_key: turnKey } = hook;
  const seen = `${agentId} ${turnKey}`;
  const agent = before.agents.find(({ id }) => id === agentId);
  if (agent === undefined || agent.turn_id === turnId || memory.agents.has(seen)) return "turn";
  const { state, revisions } = closeOperations(
    before,
    "TurnSuperseded",
    (operation) => operation.agent_id === agentId,
  );
  if (agent.turn_started_at !== null)
    revisions.push(turnRevision(state, agentTurn(agent), "failed", "TurnSuperseded"));
  const next = { ...agent, turn_id: turnId, turn_started_at: at };
  revisions.push(turnRevision(state, agentTurn(next), "started", hook.event));
  return {
    state: { ...state, agents: state.agents.map((one) => (one.id === agentId ? next : one)) },
    revisions,
    remember: () => memory.agents.add(seen),
  };
}

/**
 * Codex: whether the event belongs to the turn that is open, of the runtime or of the subagent it
 * names.
 */
function isInTurn(state: HookState, hook: Hook): boolean {
  if (hook.runtime === "claude") return true;
  if (hook.agent_id === "") return state.turn?.key === hook.turn_key;
  return state.agents.some(({ id, turn_id: turnId }) => id === hook.agent_id && turnId === hook.turn_id);
}

/**
 * Claude: a tool of the runtime itself shows that a turn is running, whatever its turn hooks said,
 * and that nothing waits for a person.
 */
function withActiveTurn(state: HookState, memory: Memory, hook: Hook, at: string): HookState {
  if (hook.runtime !== "claude" || hook.agent_id !== "") return state;
  if (state.turn === null) {
    // A tool's hook of an interrupted turn may have been on its way, or the key meant something
    // else. The terminal decides.
    const { ended } = state;
    const isAssumed = ended?.how === "interrupted" && ended.key !== "" && ended.key === hook.turn_key;
    return { ...state, turn: { ...openTurn(hook, at), isAssumed } };
  }
  const turn = withKey(state.turn, memory, hook.turn_key);
  return { ...state, turn: { ...turn, isWaiting: false, isAssumed: turn.isAssumed && turn.key === "" } };
}

/**
 * Claude: all tools that the model asked for have finished. The next request takes up what was
 * queued after the turn.
 */
function endBatch(before: HookState, memory: Memory, hook: Hook, at: string): Accepted | Fence {
  if (hook.agent_id !== "") return "ignored";
  if (isOfEarlierTurn(before, memory, hook)) return "turn";
  const state = withActiveTurn(before, memory, hook, at);
  if (state.turn === null) return "ignored";
  return { state: { ...state, turn: { ...state.turn, hasQueued: false } }, revisions: [], remember: nothing };
}

function startOperation(before: HookState, memory: Memory, hook: Hook, at: string): Accepted | Fence {
  const { operation_id: id, tool_name: toolName, agent_id: agentId, turn_id: turnId } = hook;
  if (!isInTurn(before, hook)) return "turn";
  if (memory.operations.has(id)) return "operation";
  const operation = {
    id,
    tool_name: toolName,
    agent_id: agentId,
    turn_id: turnId,
    started_at: at,
    status: "started" as const,
    closed: false,
  };
  const state = withActiveTurn(before, memory, hook, at);
  return {
    state: { ...state, operations: [...state.operations, operation] },
    revisions: [operationRevision(state, operation, "started", hook.event)],
    remember: () => memory.operations.add(id),
  };
}

function holdOperation(before: HookState, hook: Hook): Accepted | Fence {
  if (!isInTurn(before, hook)) return "turn";
  const held = before.operations.findLast(
    (operation) =>
      isOpen(operation) && operation.tool_name === hook.tool_name && operation.agent_id === hook.agent_id,
  );
  if (held === undefined) return "operation";
  const next = { ...held, status: "waiting" as const };
  return {
    state: {
      ...before,
      operations: before.operations.map((operation) => (operation === held ? next : operation)),
    },
    revisions: [operationRevision(before, next, "waiting", hook.event)],
    remember: nothing,
  };
}

function endOperation(before: HookState, memory: Memory, hook: Hook, at: string): Accepted | Fence {
  if (!isInTurn(before, hook)) return "turn";
  const ended = before.operations.find(
    ({ id, agent_id: agentId }) => id === hook.operation_id && agentId === hook.agent_id,
  );
  if (ended === undefined) return "operation";
  const state = {
    ...before,
    operations: before.operations.filter((operation) => operation !== ended),
  };
  return {
    // The late end of something that the turn's end closed says nothing about a turn.
    state: ended.closed ? state : withActiveTurn(state, memory, hook, at),
    revisions: [operationRevision(before, ended, hook.status, hook.event)],
    remember: nothing,
  };
}

function startAgent(before: HookState, memory: Memory, hook: Hook, at: string): Accepted | Fence {
  const { agent_id: id, turn_id: turnId, runtime } = hook;
  const seen = runtime === "codex" ? `${id} ${turnId}` : id;
  if (memory.agents.has(seen) || before.agents.some((agent) => agent.id === id)) {
    return runtime === "codex" ? "turn" : "operation";
  }
  const agent = { id, turn_id: turnId, started_at: at, turn_started_at: null };
  return {
    state: { ...before, agents: [...before.agents, agent] },
    revisions: [agentRevision(before, agent, "started", hook.event)],
    remember: () => memory.agents.add(seen),
  };
}

function endAgent(before: HookState, hook: Hook): Accepted | Fence {
  const agent = before.agents.find(({ id }) => id === hook.agent_id);
  if (agent === undefined) return "operation";
  if (!isInTurn(before, hook)) return "turn";
  const { state, revisions } = closeOperations(
    before,
    "TurnSuperseded",
    (operation) => operation.agent_id === agent.id,
  );
  if (agent.turn_started_at !== null)
    revisions.push(turnRevision(state, agentTurn(agent), "completed", hook.event));
  revisions.push(agentRevision(state, agent, "completed", hook.event));
  return {
    state: { ...state, agents: state.agents.filter((one) => one !== agent) },
    revisions,
    remember: nothing,
  };
}

/** Claude: a late event of an earlier prompt doesn't affect the current one. */
function isOfEarlierTurn(state: HookState, memory: Memory, { turn_key: key }: Hook): boolean {
  return key !== "" && key !== state.turn?.key && memory.turns.has(key);
}

function holdTurn(before: HookState, memory: Memory, hook: Hook, at: string): Accepted | Fence {
  if (isOfEarlierTurn(before, memory, hook)) return "turn";
  const key = hook.turn_key;
  const turn = { ...withKey(before.turn ?? openTurn(hook, at), memory, key), isWaiting: true };
  return {
    state: { ...before, turn },
    revisions: [turnRevision(before, turn, "waiting", hook.event)],
    remember: () => key !== "" && memory.turns.add(key),
  };
}

/**
 * Claude lists the subagents that continue. With Codex all of them continue, and each end is
 * reported.
 */
function goesOn({ runtime, background }: Hook): Survives {
  return ({ id }) => runtime === "codex" || background?.includes(id) === true;
}

/**
 * The end of a turn closes what is still open below it, because some tools never report their end.
 */
function endTurn(before: HookState, memory: Memory, hook: Hook, at: string): Accepted | Fence {
  // Subagents never open or close the turn.
  if (hook.agent_id !== "") return "ignored";
  const { turn } = before;
  if (turn === null || !isInTurn(before, hook) || isOfEarlierTurn(before, memory, hook)) return "turn";
  const { state, revisions } = closeChildren(before, "TurnSuperseded", goesOn(hook));
  revisions.push(turnRevision(state, turn, hook.status, hook.event));
  const how = hook.status === "failed" ? "failed" : "completed";
  const key = hook.turn_key === "" ? turn.key : hook.turn_key;
  const why = hook.trouble === "" ? {} : { trouble: hook.trouble };
  const over = { ...state, turn: null, ended: { how, at, key, ...why } } as const;
  return {
    // A notification says that it is waiting. Nothing else follows from it.
    state: hook.event === "Notification" ? over : withQueued(over, { ...turn, key }, revisions, at),
    revisions,
    remember: () => {
      memory.turns.add(turn.key);
      memory.turns.add(key);
      // If a turn wasn't announced, every prompt counts as a further one.
      if (turn.name !== turn.key) memory.prompts.add(key);
    },
  };
}

function interruptTurn(before: HookState, hook: Hook, at: string): Accepted | Fence {
  if (hook.agent_id !== "") return "ignored";
  const { turn } = before;
  if (turn === null || !isInTurn(before, hook)) return "turn";
  const { state, revisions } = closeChildren(before, "UserInterrupt", () => true);
  revisions.push(turnRevision(state, turn, "failed", hook.event));
  const ended = { how: "interrupted", at, key: turn.key } as const;
  return { state: { ...state, turn: null, ended }, revisions, remember: nothing };
}
