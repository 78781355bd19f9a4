/**
 * The seam between the runtimes, which start processes and own terminals, and activity, which
 * believes hook events only from a process that runs now. `daemon/runtimes` implements `Launches`,
 * which activity is made with; what activity has to tell goes through `LaunchReports`.
 *
 * The order of a launch: the token is written and its digest committed (`pid` null), the process is
 * spawned, the pid is committed. A hook that arrives in between waits for the pid (`settled`).
 */
import type { Runtime } from "../../shared/model.ts";

/** One start of an Actor's process. A restart is a new launch with another token. */
export interface Launch {
  readonly group_id: string;
  readonly actor_id: string;
  /** Of the Actor. */
  readonly generation: string;
  readonly runtime: Runtime;
  /**
   * SHA-256 of the launch token, base64. `Caller.launch` and `LaunchTokens` call it the token's
   * digest.
   */
  readonly token_digest: string;
  /** Null between the token and the spawned process. */
  readonly pid: number | null;
  /** UTC ISO 8601 with milliseconds. */
  readonly started_at: string;
  /** This launch got our hooks: a verified runtime with its own command line. */
  readonly has_hooks: boolean;
}

/** Why a launch's process is gone, in words for people: "exited with code 1", "stopped". */
export interface LaunchEnd {
  readonly reason: string;
}

/**
 * What the runtimes know about their processes. Everything answers at once, from memory or one
 * small file.
 */
export interface Launches {
  /** The launch whose process this daemon runs for the Actor now; null when it runs none. */
  current(groupId: string, actorId: string): Launch | null;
  /**
   * The launch identity as committed to the Home. Null if there is none, "corrupt" if the file
   * isn't valid. Activity believes hooks only while it agrees with `current` on runtime, pid and
   * token (WRK-003, WRK-007).
   */
  committed(groupId: string, actorId: string): Launch | "corrupt" | null;
  /** Resolves when the starting launch has its pid or has failed; at once if none is starting. */
  settled(groupId: string, actorId: string): Promise<void>;
  /** Whether the spawned process lives: the system tells its parent when it ends. */
  isAlive(launch: Launch): boolean;
  /**
   * Why an Actor's process isn't there, even if an earlier daemon ran it. Null if none was started,
   * or one runs.
   */
  lastEnd(groupId: string, actorId: string): { at: string; reason: string } | null;
  /** All launches that run now. */
  running(): readonly Launch[];
  /** Seconds since the terminal's last output; null if unknown. */
  quietSeconds(launch: Launch): number | null;
  /** Whether its screen shows a question for a person; false if that can't be known. */
  asks(launch: Launch): boolean;
  /** What its screen says a person must do before it continues, in words; empty if nothing. */
  needs(launch: Launch): string;
  /** The lines that its screen shows now. */
  screen(launch: Launch): readonly string[];
  /** A process was started (pid committed) or is gone. Returns a function that stops listening. */
  onStarted(listener: (launch: Launch) => void): () => void;
  onEnded(listener: (launch: Launch, end: LaunchEnd) => void): () => void;
}

/**
 * A UserPromptSubmit without agent_id came from this launch: the runtime has a prompt. `prompt` is
 * its text. It is compared in memory with message ids and discarded, and must not be stored or
 * logged. `isQueued`: it only went into the runtime's input queue after a turn; an `InputListener`
 * is told when it is taken out. Called once per hook, even if the activity store can't be written.
 */
export type PromptListener = (launch: Launch, prompt: string, isQueued: boolean) => void;

/**
 * What happened to a launch's input queue. `joined`: the running turn has taken everything in it.
 * `next`: that turn has ended, and the queued prompts make the next one. `begun`: that next turn
 * has shown itself.
 */
export type InputStep = "joined" | "next" | "begun";
export type InputListener = (launch: Launch, step: InputStep) => void;

/** An accepted hook of the runtime itself named its session. */
export interface SessionReport {
  readonly session_id: string;
  /** Where the runtime says it keeps the session; null if it doesn't. */
  readonly transcript_path: string | null;
  /** The hook reported a prompt. */
  readonly isPrompt: boolean;
}

export type SessionListener = (launch: Launch, report: SessionReport) => void;

/** What activity offers to the runtimes. */
export interface LaunchReports {
  /** Returns a function that stops listening. */
  onPrompt(listener: PromptListener): () => void;
  /** Returns a function that stops listening. */
  onInput(listener: InputListener): () => void;
  onSession(listener: SessionListener): () => void;
  /** What an Actor does, or why, has changed. */
  onPresence(listener: (groupId: string, actorId: string) => void): () => void;
  /**
   * A person is about to type in the terminal: a question that is on its screen now may be gone at
   * once.
   */
  typed(launch: Launch): void;
  /**
   * A person or Actor interrupted in the terminal: Ctrl-C, or a lone Esc, outside a bracketed
   * paste. Activity decides whether that ends the turn. Claude has no hook for it; Codex reports it
   * itself.
   */
  interrupted(launch: Launch): void;
  /**
   * Whether the last that was reported of an Actor in this generation is work that hasn't ended,
   * even by a process that is gone and to an earlier daemon.
   */
  isInWork(groupId: string, actor: { id: string; generation: string }): boolean;
  /** What the launch is doing right now, by its hooks. */
  doing(launch: Launch): "stopped" | "idle" | "working" | "waiting" | "unavailable";
}
