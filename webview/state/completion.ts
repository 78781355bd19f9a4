/** Completion in the composer: `@` finds Actors and the aliases for several, `#` finds Groups. Pure. */
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { GroupSummary } from "../../shared/operations/groups.ts";
import type { IconName } from "../icons.ts";
import { actorName } from "./actor-words.ts";

export interface Trigger {
  sign: "@" | "#";
  /** What was typed after the sign. */
  query: string;
  /** Where the sign stands in the text. */
  start: number;
}

export interface Candidate {
  kind: "actor" | "alias" | "group";
  /** What goes to the daemon: an Actor id, an alias with its @, or a Group id. */
  value: string;
  label: string;
  detail: string;
  icon: IconName;
}

export const ALIASES = [
  { value: "@foreman", detail: "the first Actor" },
  { value: "@peers", detail: "all but the foreman" },
  { value: "@all", detail: "every enabled Actor" },
] as const;

const SHOWN = 8;

/** The word with a sign that the caret stands in or right behind; null when there is none. */
export function triggerAt(text: string, caret: number): Trigger | null {
  const before = text.slice(0, caret);
  const match = /(?:^|[\s(])([@#])([\p{L}\p{N}_-]*)$/u.exec(before);
  if (match === null) return null;
  const query = match[2] ?? "";
  return { sign: match[1] === "@" ? "@" : "#", query, start: caret - query.length - 1 };
}

/** Lower is better; null is no match: the start of a name, the start of a word in it, anywhere in it. */
function rank(query: string, ...names: string[]): number | null {
  const wanted = query.toLowerCase();
  let best: number | null = null;
  for (const name of names) {
    const lower = name.toLowerCase();
    const at = lower.indexOf(wanted);
    if (at < 0) continue;
    const score = at === 0 ? 0 : /[\s_-]/.test(lower[at - 1] ?? "") ? 1 : 2;
    if (best === null || score < best) best = score;
  }
  return best;
}

/** At most eight candidates, best first, in the order the lists have. */
export function candidates(
  trigger: Trigger,
  actors: readonly ActorWithPresence[],
  groups: readonly GroupSummary[],
): Candidate[] {
  const found: { candidate: Candidate; score: number }[] = [];
  const offer = (score: number | null, candidate: Candidate) => {
    if (score !== null) found.push({ candidate, score });
  };
  if (trigger.sign === "@") {
    for (const actor of actors) {
      const label = actorName(actor);
      const detail = [label === actor.id ? "" : actor.id, actor.role, actor.enabled ? "" : "stopped"];
      offer(rank(trigger.query, actor.id, label), {
        kind: "actor",
        value: actor.id,
        label,
        detail: detail.filter((part) => part !== "").join(" · "),
        icon: "hubot",
      });
    }
    if (actors.length > 1) {
      for (const alias of ALIASES) {
        const label = alias.value.slice(1);
        offer(rank(trigger.query, label), {
          kind: "alias",
          value: alias.value,
          label,
          detail: alias.detail,
          icon: "organization",
        });
      }
    }
  } else {
    for (const group of groups) {
      offer(rank(trigger.query, group.title), {
        kind: "group",
        value: group.group_id,
        label: group.title,
        detail: group.topic.split("\n", 1)[0] ?? "",
        icon: "comment-discussion",
      });
    }
  }
  return found
    .sort((a, b) => a.score - b.score)
    .slice(0, SHOWN)
    .map(({ candidate }) => candidate);
}

/** The text without the typed word, and where the caret belongs then. `keep` leaves the chosen name in a sentence. */
export function complete(text: string, trigger: Trigger, label: string): { text: string; caret: number } {
  const end = trigger.start + 1 + trigger.query.length;
  const before = text.slice(0, trigger.start);
  const after = text.slice(end);
  const alone = before.trim() === "";
  const inserted = alone ? "" : `${trigger.sign}${label}${after.startsWith(" ") ? "" : " "}`;
  const rest = alone ? after.trimStart() : after;
  return { text: before + inserted + rest, caret: before.length + inserted.length };
}
