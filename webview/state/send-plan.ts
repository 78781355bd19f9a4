/**
 * What will happen when the person presses Send, said before they do
 * (docs/interface.md#the-composer-never-loses-a-letter). Pure.
 */

import { arrival } from "../../shared/arrival.ts";
import { shownName } from "../../shared/foreign-text.ts";
import type { Group, MessageMode } from "../../shared/model.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { Connection } from "../../shared/operations/connect.ts";
import { isOnlyNamed } from "../../shared/typed-actors.ts";

export interface Plan {
  sentence: string;
  /** False when the daemon would refuse it; the sentence says why. */
  possible: boolean;
  tone: "quiet" | "attention";
}

export interface PlanInput {
  mode: MessageMode;
  /** Actor ids and aliases; empty is the Group's default. */
  to: readonly string[];
  /** A name at the start of the text that names no Actor here, or several. */
  unknown: string | null;
  /** The Group the message goes to instead, by title. */
  elsewhere: string | null;
  /** The Group of another instance that it goes to, by name, and who gets it there. */
  remote: { place: string; to: readonly string[]; state: Connection["state"] | null } | null;
  replyTo: string | null;
  actors: readonly ActorWithPresence[];
  group: Pick<Group, "state" | "settings"> | null;
  /** The Group's history is damaged: nothing is recorded. */
  isDamaged?: boolean;
}

/** What keeps a message from leaving now. */
const TROUBLES: Partial<Record<Connection["state"], string>> = {
  unreachable: "It can’t be reached right now: this waits for up to 15 minutes, then fails.",
  no_route: "It has no address, so nothing can be sent to it: this fails in 15 minutes unless it gets one.",
  unconfirmed: "The account service hasn’t confirmed it lately. Until it does, nothing can be sent.",
  ended: "This connection has ended, so nothing can be sent.",
};

/** Which Actors get it, as the daemon resolves recipients. */
export function addressed(
  input: Pick<PlanInput, "to" | "actors"> & { group: Pick<Group, "settings"> | null },
): ActorWithPresence[] {
  const { actors } = input;
  const wanted =
    input.to.length > 0
      ? input.to
      : [input.group?.settings.default_send_to === "broadcast" ? "@all" : "@foreman"];
  return actors.filter((actor) =>
    wanted.some(
      (to) =>
        to === actor.id ||
        (to === "@all" && actor.enabled && !isOnlyNamed(actor)) ||
        (to === "@foreman" && actor.role === "foreman") ||
        (to === "@peers" && actor.role === "peer" && actor.enabled && !isOnlyNamed(actor)),
    ),
  );
}

export function plan(input: PlanInput): Plan {
  const quiet = (sentence: string): Plan =>
    input.unknown === null
      ? { sentence, possible: true, tone: "quiet" }
      : { sentence: `No Actor is named “${input.unknown}”. ${sentence}`, possible: true, tone: "attention" };
  const refuse = (sentence: string): Plan => ({ sentence, possible: false, tone: "attention" });
  const { mode } = input;
  if (input.isDamaged === true) return refuse("This Group can only be read until its history is repaired.");
  if (input.remote !== null) {
    const { place, to, state } = input.remote;
    const who = to.length === 0 ? "its foreman" : to.join(", ");
    const mailed = mode === "mail" ? " in the Inbox" : "";
    const owed = mode === "request_reply" ? " and owes you a reply" : "";
    const sentence = `Goes to ${place}: ${who} gets it${mailed}${owed}.`;
    const trouble = state === null ? undefined : TROUBLES[state];
    if (trouble === undefined)
      return quiet(`${sentence} Queued here until it can be reached, for up to 15 minutes.`);
    return { sentence: `${trouble} ${sentence}`, possible: true, tone: "attention" };
  }
  if (input.elsewhere !== null) {
    const manner = mode === "mail" ? "its Inbox" : "its foreman";
    return quiet(`Goes to ${input.elsewhere}: ${manner} gets it; a copy stays here.`);
  }
  const meant = addressed(input);
  if (input.actors.length === 0) return refuse("Add an Actor to start.");
  const gone = input.to.filter((to) => !to.startsWith("@") && input.actors.every(({ id }) => id !== to));
  if (gone.length > 0) {
    const names = gone.map(shownName).join(", ");
    return refuse(`${names} ${gone.length > 1 ? "are" : "is"} no longer in this Group. Choose who gets it.`);
  }
  if (meant.length === 0)
    return refuse(
      input.actors.some(isOnlyNamed)
        ? "No Actor here gets messages to everyone. Write to one by name."
        : "None of these recipients is in this Group and enabled.",
    );
  const { sentence, possible, tone } = arrival(meant, mode, input.group);
  return tone === "quiet" ? quiet(sentence) : { sentence, possible, tone };
}
