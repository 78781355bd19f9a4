/** An Actor's state as its row says it. The daemon decides the state; this only finds the words. */

import { shownName } from "../../shared/foreign-text.ts";
import { NOT_CONNECTED } from "../../shared/names.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { IconName } from "../icons.ts";
import type { Tone } from "./delivery-words.ts";

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

interface Presence {
  state: State;
  reason: string;
}

export function actorWords({ state, reason }: Presence): { icon: IconName; word: string; tone: Tone } {
  const isAbsent = state === "unavailable" && reason.startsWith(NOT_CONNECTED);
  return isAbsent ? { ...WORDS.unavailable, word: NOT_CONNECTED } : WORDS[state];
}

/** Reasons that the word itself says already. */
const SAID = new Set(["", "connected", "disabled", "stopped", "works", "working", NOT_CONNECTED]);

/** Why it is in that state, where the word alone leaves a question. */
export function actorReason({ state, reason }: Presence): string {
  if (SAID.has(reason)) return "";
  return state === "unavailable" && reason.startsWith(`${NOT_CONNECTED}; `)
    ? reason.slice(NOT_CONNECTED.length + 2)
    : reason;
}

/** The daemon runs it, in a terminal. */
export function hasTerminal(actor: { runner: ActorWithPresence["runner"] }): boolean {
  return actor.runner === "pty";
}

/** The name people see: the title where there is one, else the id. */
export function actorName(actor: { id: string; title: string }): string {
  return shownName(actor.title === "" ? actor.id : actor.title);
}
