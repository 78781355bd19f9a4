/**
 * When those who are written to get a message, in words: before it is sent in the composer, and
 * after it was sent on the command line. Pure.
 */
import { actorName, hasTerminal } from "./actor-words.ts";
import type { Group, MessageMode } from "./model.ts";
import { NOT_CONNECTED } from "./names.ts";
import type { ActorWithPresence } from "./operations/actors.ts";
import { isInboxOnly } from "./typed-actors.ts";

export interface Arrival {
  sentence: string;
  /** False when the daemon would refuse it. */
  possible: boolean;
  tone: "quiet" | "attention";
  /** Someone doesn't get it now. */
  waits: boolean;
}

/**
 * Whether the Actor can't take a message now. An Actor in a terminal may be `unavailable` only
 * because it doesn't report what it does. One that asked the person waits, connected or not.
 */
export function isAbsent(actor: ActorWithPresence): boolean {
  const { state, reason } = actor.presence;
  if (state === "stopped" || state === "failed") return true;
  if (hasTerminal(actor)) return false;
  return state === "unavailable" || (state === "waiting" && reason.endsWith(NOT_CONNECTED));
}

/**
 * Nothing is typed into its terminal while a person's answer is due there. Others take it at once.
 */
function isHeld(actor: ActorWithPresence): boolean {
  return actor.presence.state === "waiting" && hasTerminal(actor);
}

/** "foreman", "foreman and docs", "foreman, docs and 3 more". */
export function named(actors: readonly { id: string; title: string }[]): string {
  const names = actors.map(actorName);
  if (names.length <= 1) return names[0] ?? "";
  if (names.length === 2) return `${names[0]} and ${names[1]}`;
  if (names.length === 3) return `${names[0]}, ${names[1]} and ${names[2]}`;
  return `${names[0]}, ${names[1]} and ${names.length - 2} more`;
}

/** For at least one Actor. */
export function arrival(
  meant: readonly ActorWithPresence[],
  mode: MessageMode,
  group: Pick<Group, "state"> | null,
): Arrival {
  const who = named(meant);
  const several = meant.length > 1;
  if (mode === "mail") return later(`Mail: ${who} won’t be interrupted; it waits in the Inbox.`);
  const enabled = meant.filter((actor) => actor.enabled);
  if (enabled.length === 0)
    return {
      ...later(`${who} ${several ? "are" : "is"} stopped. Enable ${several ? "them" : "it"}, or send Mail.`),
      possible: false,
      tone: "attention",
    };
  const off = meant.filter((actor) => !actor.enabled);
  if (off.length > 0) {
    const one = off.length === 1;
    const stopped = `${named(off)} ${one ? "is stopped and gets" : "are stopped and get"} it once enabled.`;
    return after(arrival(enabled, mode, group), stopped);
  }
  const untyped = enabled.filter(isInboxOnly);
  const typed = enabled.filter((actor) => !isInboxOnly(actor));
  if (typed.length === 0)
    return later(
      `Waits in the ${untyped.length > 1 ? "Inboxes" : "Inbox"} of ${named(untyped)}. Nothing is typed there.`,
    );
  if (untyped.length > 0)
    return after(arrival(typed, mode, group), `For ${named(untyped)}, it waits in the Inbox.`);
  const asks = mode === "request_reply" ? ` and ${several ? "each owes" : "owes"} you a reply` : "";
  if (group?.state === "paused" || group?.state === "stopped") {
    const due = mode === "request_reply" ? ". The reply counts as due from now" : "";
    return {
      ...later(`The Group is ${group.state}, so the message waits until it starts${due}.`),
      tone: "attention",
    };
  }
  const absent = enabled.filter(isAbsent);
  const present = enabled.filter((actor) => !absent.includes(actor));
  if (absent.length > 0) {
    const one = absent.length === 1;
    const [here, once] = absent.every(hasTerminal) ? ["running", "started"] : ["connected", "connected"];
    const away = `${named(absent)} ${one ? "isn’t" : "aren’t"} ${here}`;
    return present.length === 0
      ? later(`${away}. ${one ? "It gets" : "They get"} this once ${once}${asks}.`)
      : after(arrival(present, mode, group), `${away} and ${one ? "gets" : "get"} it once ${once}.`);
  }
  const held = present.filter(isHeld);
  if (held.length > 0) {
    const free = present.filter((actor) => !held.includes(actor));
    const one = held.length === 1;
    const waits = `${named(held)} ${one ? "waits" : "wait"} for you in ${one ? "its terminal" : "their terminals"}`;
    return free.length === 0
      ? later(`${waits}. ${one ? "It gets" : "They get"} this afterwards${asks}.`)
      : after(arrival(free, mode, group), `${waits} and ${one ? "gets" : "get"} it afterwards.`);
  }
  const isBusy = present.some((actor) => actor.presence.state === "working");
  const interrupts = isBusy ? `, while working${asks === "" ? "" : ","}` : "";
  return {
    sentence: `${who} ${several ? "get" : "gets"} it now${interrupts}${asks}.`,
    possible: true,
    tone: "quiet",
    waits: false,
  };
}

function later(sentence: string): Arrival {
  return { sentence, possible: true, tone: "quiet", waits: true };
}

/** For others it is different. */
function after(first: Arrival, sentence: string): Arrival {
  return { ...first, sentence: `${first.sentence} ${sentence}`, waits: true };
}
