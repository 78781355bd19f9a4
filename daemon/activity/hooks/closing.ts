/**
 * Ends what is open when its session, turn or process ends, or a person interrupts
 * (docs/protocol.md#activity-events).
 */
import { type HookState, isOpen, type OpenAgent, type OpenOperation, type Revision } from "./hook-state.ts";

/** Event types of what was closed from outside; the status is `failed`. */
export type Closing = "SessionEnded" | "TurnSuperseded" | "UserInterrupt";

/**
 * Claude may still report the end of an operation that was closed with its turn. This many are
 * remembered.
 */
const LATE_OPERATIONS = 64;

interface Closed {
  state: HookState;
  revisions: Revision[];
}

export function operationRevision(
  state: HookState,
  { id, tool_name: toolName, turn_id: turnId, started_at: startedAt }: OpenOperation,
  status: Revision["status"],
  eventType: string,
): Revision {
  return {
    kind: "tool",
    status,
    event_type: eventType,
    session_id: state.session?.id ?? "",
    turn_id: turnId,
    operation_id: id,
    tool_name: toolName,
    part: toolName === "" ? "tool" : toolName,
    key: id,
    started_at: startedAt,
  };
}

export function agentRevision(
  state: HookState,
  { id, turn_id: turnId, started_at: startedAt }: OpenAgent,
  status: Revision["status"],
  eventType: string,
): Revision {
  const sessionId = state.session?.id ?? "";
  const names = { operation_id: id, tool_name: "", part: "subagent", key: id };
  return {
    kind: "subagent",
    status,
    event_type: eventType,
    session_id: sessionId,
    turn_id: turnId,
    ...names,
    started_at: startedAt,
  };
}

export function turnRevision(
  state: HookState,
  turn: { name: string; turn_id: string; started_at: string },
  status: Revision["status"],
  eventType: string,
): Revision {
  return {
    kind: "turn",
    status,
    event_type: eventType,
    session_id: state.session?.id ?? "",
    turn_id: turn.turn_id,
    operation_id: "",
    tool_name: "",
    part: "turn",
    key: turn.name,
    started_at: turn.started_at,
  };
}

/**
 * Closes the open operations that `which` picks. Codex's fence forgets them, Claude's waits for
 * their real end.
 */
export function closeOperations(
  state: HookState,
  eventType: Closing,
  which: (operation: OpenOperation) => boolean = () => true,
): Closed {
  const ending = state.operations.filter((operation) => isOpen(operation) && which(operation));
  if (ending.length === 0) return { state, revisions: [] };
  const gone = new Set(ending);
  const rest = state.operations.filter((operation) => !gone.has(operation));
  const late =
    state.runtime === "claude" && eventType !== "SessionEnded"
      ? ending.map((operation) => ({ ...operation, closed: true }))
      : [];
  const closed = [...rest.filter(({ closed }) => closed), ...late].slice(-LATE_OPERATIONS);
  return {
    state: { ...state, operations: [...rest.filter(isOpen), ...closed] },
    revisions: ending.map((operation) => operationRevision(state, operation, "failed", eventType)),
  };
}

export function agentTurn(agent: OpenAgent): { name: string; turn_id: string; started_at: string } {
  const { turn_id: turnId, started_at: startedAt, turn_started_at: turnStartedAt } = agent;
  return { name: turnId, turn_id: turnId, started_at: turnStartedAt ?? startedAt };
}

/** Which subagents continue when their turn ends. */
export type Survives = (agent: OpenAgent) => boolean;

const nobody: Survives = () => false;

/**
 * Closes everything below the turn: operations, subagents and their turns, except below those that
 * survive it.
 */
export function closeChildren(before: HookState, eventType: Closing, survives: Survives = nobody): Closed {
  const staying = before.agents.filter(survives);
  const ids = new Set(staying.map(({ id }) => id));
  const { state, revisions } = closeOperations(
    before,
    eventType,
    ({ agent_id: agentId }) => !ids.has(agentId),
  );
  for (const agent of state.agents) {
    if (ids.has(agent.id)) continue;
    if (agent.turn_started_at !== null)
      revisions.push(turnRevision(state, agentTurn(agent), "failed", eventType));
    revisions.push(agentRevision(state, agent, "failed", eventType));
  }
  return { state: { ...state, agents: staying }, revisions };
}

/** The children and then the turn itself. */
export function closeTurn(
  before: HookState,
  eventType: Closing,
  at: string,
  survives: Survives = nobody,
): Closed {
  const { state, revisions } = closeChildren(before, eventType, survives);
  if (state.turn === null) return { state, revisions };
  revisions.push(turnRevision(state, state.turn, "failed", eventType));
  const how = eventType === "UserInterrupt" ? "interrupted" : "failed";
  return { state: { ...state, turn: null, ended: { how, at, key: state.turn.key } }, revisions };
}

/**
 * Runtimes whose subagent tool ends at once while the subagent keeps working. A tool that waits for
 * its subagent is still open.
 */
const SPAWNS: ReadonlySet<string> = new Set(["Agent", "Task"]);

/**
 * For a turn whose end says nothing about subagents: they work in the background unless the turn
 * waits for one.
 */
export function inBackground(state: HookState): Survives {
  const waits = state.operations.some(
    (operation) => isOpen(operation) && operation.agent_id === "" && SPAWNS.has(operation.tool_name),
  );
  return () => !waits;
}

/** Turn, children and the session, after the process is gone or another session took its place. */
export function closeSession(before: HookState, at: string): Closed {
  const { state, revisions } = closeTurn(before, "SessionEnded", at);
  const { session } = state;
  if (session === null) return { state, revisions };
  revisions.push(sessionRevision(session, "failed", "SessionEnded"));
  return { state: { ...state, session: null, operations: [], ended: null }, revisions };
}

export function sessionRevision(
  session: { id: string; started_at: string },
  status: Revision["status"],
  eventType: string,
): Revision {
  const names = { turn_id: "", operation_id: "", tool_name: "", part: "session", key: "" };
  return {
    kind: "session",
    status,
    event_type: eventType,
    session_id: session.id,
    ...names,
    started_at: session.started_at,
  };
}
