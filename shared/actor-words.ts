/**
 * An Actor's state in the words of its row, in a browser and in an editor. The daemon decides the
 * state; this only chooses the words.
 */

import { NOT_CONNECTED, RUNS_UNTOLD } from "./names.ts";
import type { ActorWithPresence } from "./operations/actors.ts";
import { titleOf } from "./voice.ts";

/** How much a state asks for attention. */
export type Tone = "quiet" | "good" | "attention" | "bad";

type State = ActorWithPresence["presence"]["state"];

/** A state's icon (a codicon), word and tone. */
interface StateWords {
  icon:
    | "sync"
    | "bell-dot"
    | "circle-filled"
    | "warning"
    | "loading"
    | "circle-outline"
    | "error"
    | "circle-slash";
  word: string;
  tone: Tone;
}

const WORDS: Record<State, StateWords> = {
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

export function actorWords({ state, reason }: Presence): StateWords {
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

/**
 * What its row says. An Actor that waits says what for, because that also tells that it waits, and
 * whether it is connected is in the tooltip. What the ticker above shows (`inTicker`) isn't said
 * twice.
 */
export function rowWords(presence: Presence, inTicker: boolean): { word: string; reason: string } {
  const { word } = actorWords(presence);
  const reason = actorReason(presence);
  if (presence.state === "waiting" && reason !== "" && !inTicker)
    return { word: reason.replace(`; ${NOT_CONNECTED}`, ""), reason: "" };
  const isSaid = inTicker && (presence.state === "working" || presence.state === "waiting");
  return { word, reason: isSaid ? "" : reason };
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

/** The name people see: the title where there is one that can be nobody else's, else the id. */
export function actorName(actor: { id: string; title: string }): string {
  return titleOf(actor.title, actor.id);
}
