/**
 * What the hooks of one launch have reported: who runs, and which session, turn, operations and
 * subagents are open. Immutable: each change creates a new one.
 */
import type { ActivityKind, ActivityStatus } from "../../../shared/activity/event.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { HookRuntime } from "./hook.ts";

export interface OpenOperation {
  id: string;
  tool_name: string;
  agent_id: string;
  turn_id: string;
  started_at: string;
  status: "started" | "waiting";
  /** The turn's end closed it for viewers. Claude may still report how it really ended. */
  closed: boolean;
}

export interface OpenAgent {
  id: string;
  turn_id: string;
  started_at: string;
  /** A further prompt of the same subagent, shown as a separate turn; null during its first. */
  turn_started_at: string | null;
}

export interface OpenTurn {
  /** Identifies it; empty until its events have said. */
  key: string;
  /** Last part of its activity_id. */
  name: string;
  turn_id: string;
  started_at: string;
  isWaiting: boolean;
  /**
   * Claude: a prompt was queued after it that no answer has taken up yet. It runs as a separate
   * turn, whose start no hook reports.
   */
  hasQueued: boolean;
  /**
   * Inferred from earlier events, and not yet shown by one of its own. A silent terminal refutes
   * it.
   */
  isAssumed: boolean;
}

export interface HookState {
  runtime: HookRuntime;
  pid: number;
  token_digest: string;
  session: { id: string; started_at: string } | null;
  turn: OpenTurn | null;
  operations: readonly OpenOperation[];
  agents: readonly OpenAgent[];
  /** How the last turn ended; null before the first. */
  ended: {
    how: "completed" | "failed" | "interrupted";
    at: string;
    key: string;
    /** Why it failed, in words; absent if unknown. */
    trouble?: string;
  } | null;
  /** When the last accepted event came. */
  at: string;
}

/** A new revision of one activity. */
export interface Revision {
  kind: ActivityKind;
  status: ActivityStatus;
  event_type: string;
  session_id: string;
  turn_id: string;
  operation_id: string;
  tool_name: string;
  /** Third part of the activity_id: the tool's label, or the kind. */
  part: string;
  /** Fourth part of the activity_id. */
  key: string;
  started_at: string;
}

export function initialState(
  launch: { pid: number; token_digest: string },
  runtime: HookRuntime,
  at: string,
): HookState {
  const { pid, token_digest: tokenDigest } = launch;
  return {
    runtime,
    pid,
    token_digest: tokenDigest,
    session: null,
    turn: null,
    operations: [],
    agents: [],
    ended: null,
    at,
  };
}

/** A set that forgets its oldest members. */
class Remembered {
  readonly #members = new Set<string>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  has(member: string): boolean {
    return this.#members.has(member);
  }

  add(member: string): void {
    this.#members.add(member);
    if (this.#members.size <= this.#most) return;
    for (const oldest of this.#members) {
      this.#members.delete(oldest);
      return;
    }
  }

  delete(member: string): void {
    this.#members.delete(member);
  }
}

/**
 * What was there once and must not come again, within one launch. A rollback keeps it, because no
 * hook is sent twice on purpose.
 */
export class Memory {
  readonly operations = new Remembered(LIMITS.activity.remembered.operations);
  readonly turns = new Remembered(LIMITS.activity.remembered.turns);
  /** Turns whose own prompt was reported. Another one was queued. */
  readonly prompts = new Remembered(LIMITS.activity.remembered.turns);
  readonly sessions = new Remembered(LIMITS.activity.remembered.sessions);
  /** Those of the sessions that gave way to another one without an end of their own. */
  readonly setAside = new Remembered(LIMITS.activity.remembered.sessions);
  /** Subagents (Claude), or their turns (Codex). */
  readonly agents = new Remembered(LIMITS.activity.remembered.subagents);
}

export function isOpen(operation: OpenOperation): boolean {
  return !operation.closed;
}
