/**
 * The seam between the runtimes, which start processes and own terminals, and activity, which believes hook events only from a process that
 * runs now. `daemon/runtimes` implements `Launches` and gives it to `Activity.start`; what it has to tell goes through `LaunchReports`.
 *
 * The order at a launch: the token is written and its digest committed (`pid` null), the process is spawned, the pid is committed. A hook that
 * arrives in between waits for the pid (`settled`).
 */
import type { Runtime } from "../../shared/model.ts";

/** One start of an Actor's process. A restart is a new one, with another token. */
export interface Launch {
  readonly group_id: string;
  readonly actor_id: string;
  /** Of the Actor. */
  readonly generation: string;
  readonly runtime: Runtime;
  /** SHA-256 of the launch token, base64: what `Caller.launch` and `LaunchTokens` call the token's digest. */
  readonly token_digest: string;
  /** Null between the token and the spawned process. */
  readonly pid: number | null;
  /** UTC ISO 8601 with milliseconds. */
  readonly started_at: string;
  /** This launch was given our hooks: a verified runtime with its own command line. */
  readonly has_hooks: boolean;
}

/** Why a launch's process is gone, in words for people: "exited with code 1", "stopped". */
export interface LaunchEnd {
  readonly reason: string;
}

/** What the runtimes know of their processes. Everything answers at once, from memory or one small file. */
export interface Launches {
  /** The launch whose process this daemon runs for the Actor now; null when it runs none. */
  current(groupId: string, actorId: string): Launch | null;
  /**
   * The launch identity as committed to the Home: null when there is none, "corrupt" when the file isn't what it should be. Activity
   * believes hooks only while it agrees with `current` on runtime, pid and token (WRK-003, WRK-007).
   */
  committed(groupId: string, actorId: string): Launch | "corrupt" | null;
  /** Resolves when the launch that is being started has its pid or has failed; at once when none is being started. */
  settled(groupId: string, actorId: string): Promise<void>;
  /** The process that was spawned lives: the system tells its parent when it ends. */
  isAlive(launch: Launch): boolean;
  /** Why an Actor's process isn't there, also when an earlier daemon ran it; null when none was started, or one runs. */
  lastEnd(groupId: string, actorId: string): { at: string; reason: string } | null;
  /** All launches that run now. */
  running(): readonly Launch[];
  /** Seconds since the terminal last wrote something; null when that isn't known. */
  quietSeconds(launch: Launch): number | null;
  /** Whether its screen shows a question for a person; false where that can't be told. */
  asks(launch: Launch): boolean;
  /** What its screen says that a person has to do before it goes on, in words; empty when nothing. */
  needs(launch: Launch): string;
  /** The lines that its screen shows now. */
  screen(launch: Launch): readonly string[];
  /** A process was started (pid committed) or is gone. Returns the way to stop listening. */
  onStarted(listener: (launch: Launch) => void): () => void;
  onEnded(listener: (launch: Launch, end: LaunchEnd) => void): () => void;
}

/**
 * A UserPromptSubmit without agent_id came from this launch: the runtime has a prompt. `prompt` is its text, to be compared in memory with
 * message ids and discarded; it must not be stored or logged. `isQueued`: it only went into the runtime's input queue, behind a turn; an
 * `InputListener` is told when it is taken out. Told once per hook, also when the activity store can't be written.
 */
export type PromptListener = (launch: Launch, prompt: string, isQueued: boolean) => void;

/**
 * What became of a launch's input queue. `joined`: the turn that runs has taken everything in it. `next`: that turn has ended, and what was queued
 * makes the next one. `begun`: that next turn has shown itself.
 */
export type InputStep = "joined" | "next" | "begun";
export type InputListener = (launch: Launch, step: InputStep) => void;

/** An accepted hook of the runtime itself named its session. */
export interface SessionReport {
  readonly session_id: string;
  /** Where the runtime says that it keeps the session; null when it doesn't. */
  readonly transcript_path: string | null;
  /** The hook told of a prompt. */
  readonly isPrompt: boolean;
}

export type SessionListener = (launch: Launch, report: SessionReport) => void;

/** What activity offers the runtimes. */
export interface LaunchReports {
  /** Returns the way to stop listening. */
  onPrompt(listener: PromptListener): () => void;
  /** Returns the way to stop listening. */
  onInput(listener: InputListener): () => void;
  onSession(listener: SessionListener): () => void;
  /** A person is about to type in the terminal: a question that is on its screen now may be gone at once. */
  typed(launch: Launch): void;
  /**
   * A person or Actor interrupted in the terminal: Ctrl-C, or a lone Esc, outside a bracketed paste. Activity decides whether that ends the
   * turn: Claude has no hook for it, Codex tells by itself.
   */
  interrupted(launch: Launch): void;
  /** What the launch does as its hooks tell at this moment. */
  doing(launch: Launch): "stopped" | "idle" | "working" | "waiting" | "unavailable";
}
