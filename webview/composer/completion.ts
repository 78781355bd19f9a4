/**
 * Completion in the composer: `@` finds Actors and the aliases for several, `#` finds Groups. Pure.
 */

import { actorName } from "../../shared/actor-words.ts";
import { shownName } from "../../shared/foreign-text.ts";
import { placeOf, remoteName } from "../../shared/message-parties.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { GroupSummary } from "../../shared/operations/groups.ts";
import { isInboxOnly, isOnlyNamed } from "../../shared/typed-actors.ts";
import { labelled } from "../../shared/voice.ts";
import type { IconName } from "../controls/icons.ts";
import { type Draft, GROUP_REFERENCE, type RemotePlace } from "../state/draft.ts";
import { ALIASES } from "../state/mention.ts";
import type { RemoteGroup } from "../state/remote-groups.ts";

export interface Trigger {
  sign: "@" | "#";
  /** What was typed after the sign. */
  query: string;
  /** The sign's place in the text. */
  start: number;
}

export interface Candidate {
  /** `remote-group` is mentioned in a message, `remote` receives it. */
  kind: "actor" | "alias" | "group" | "remote" | "remote-group";
  /** What goes to the daemon: an Actor id, an alias with its @, or a Group id. */
  value: string;
  label: string;
  detail: string;
  icon: IconName;
  /** Where it is, at another instance. */
  place?: RemotePlace;
}

const SHOWN = 8;

/** The word with a sign that the caret is in or right after; null when there is none. */
export function triggerAt(text: string, caret: number): Trigger | null {
  const before = text.slice(0, caret);
  const match = /(?:^|[\s(])([@#])([\p{L}\p{N}_-]*)$/u.exec(before);
  if (match === null) return null;
  const query = match[2] ?? "";
  return { sign: match[1] === "@" ? "@" : "#", query, start: caret - query.length - 1 };
}

/**
 * Lower is better; null is no match: the start of a name, the start of a word in it, anywhere in
 * it.
 */
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

function placeFor({ instanceId, instanceName, groupId, title }: RemoteGroup): RemotePlace {
  return { instance_id: instanceId, instance_name: instanceName, group_id: groupId, title };
}

/** Who may get a message there: its Actors as far as known, and its person. */
function recipientsIn(remote: RemoteGroup): Candidate[] {
  const at = placeOf(remote.title, remote.instanceName);
  const place = placeFor(remote);
  const actors = remote.actors.map((actor): Candidate => {
    const label = remoteName(actor.id, { [actor.id]: actor.title });
    const detail = [at, label === actor.id ? "" : shownName(actor.id), actor.enabled ? "" : "stopped"];
    return {
      kind: "remote",
      value: actor.id,
      label,
      detail: detail.filter((part) => part !== "").join(" · "),
      icon: "plug",
      place,
    };
  });
  const person = { value: "user", label: remoteName("user", undefined), detail: `of ${at}` };
  return [...actors, { kind: "remote", ...person, icon: "plug", place }];
}

/** At most eight candidates, best first, in the order the lists have. */
export function candidates(
  trigger: Trigger,
  actors: readonly ActorWithPresence[],
  groups: readonly GroupSummary[],
  remotes: readonly RemoteGroup[] = [],
): Candidate[] {
  const found: { candidate: Candidate; score: number }[] = [];
  const offer = (score: number | null, candidate: Candidate) => {
    if (score !== null) found.push({ candidate, score });
  };
  if (trigger.sign === "@") {
    for (const actor of actors) {
      const label = actorName(actor);
      const detail = [
        label === actor.id ? "" : actor.id,
        actor.role,
        actor.enabled ? "" : "stopped",
        isInboxOnly(actor) ? "messages wait in its Inbox" : "",
      ];
      offer(rank(trigger.query, actor.id, label), {
        kind: "actor",
        value: actor.id,
        label,
        detail: detail.filter((part) => part !== "").join(" · "),
        icon: "hubot",
      });
    }
    if (actors.length > 1) {
      const left = actors.filter(isOnlyNamed).map(actorName);
      for (const alias of ALIASES) {
        const label = alias.value.slice(1);
        const isPart = left.length === 0 || alias.value === "@foreman";
        offer(rank(trigger.query, label), {
          kind: "alias",
          value: alias.value,
          label,
          detail: isPart ? alias.detail : `${alias.detail} except ${left.join(", ")}`,
          icon: "organization",
        });
      }
    }
    for (const remote of remotes) {
      for (const recipient of recipientsIn(remote))
        offer(
          rank(trigger.query, recipient.value, recipient.label, remote.title, remote.instanceName),
          recipient,
        );
    }
  } else {
    for (const group of groups) {
      offer(rank(trigger.query, group.title), {
        kind: "group",
        value: group.group_id,
        label: labelled(group.title),
        detail: group.topic.split("\n", 1)[0] ?? "",
        icon: "comment-discussion",
      });
    }
    for (const remote of remotes) {
      offer(rank(trigger.query, remote.title, remote.instanceName), {
        kind: "remote-group",
        value: remote.groupId,
        label: labelled(remote.title),
        detail: `at ${labelled(remote.instanceName)} · mentioned only, not sent there`,
        icon: "plug",
        place: placeFor(remote),
      });
    }
  }
  return found
    .sort((a, b) => a.score - b.score)
    .slice(0, SHOWN)
    .map(({ candidate }) => candidate);
}

/**
 * The text without the typed word, and the caret's new place. The chosen name stays in a sentence,
 * and with `keep` everywhere.
 */
export function complete(
  text: string,
  trigger: Trigger,
  label: string,
  keep = false,
): { text: string; caret: number } {
  const end = trigger.start + 1 + trigger.query.length;
  const before = text.slice(0, trigger.start);
  const after = text.slice(end);
  const alone = before.trim() === "" && !keep;
  const inserted = alone ? "" : `${trigger.sign}${label}${after.startsWith(" ") ? "" : " "}`;
  const rest = alone ? after.trimStart() : after;
  return { text: before + inserted + rest, caret: before.length + inserted.length };
}

/**
 * What a choice from the list changes in the draft. A message goes to one Group only. Mentioning
 * another Group doesn't change that.
 */
export function choice(draft: Readonly<Draft>, { kind, value, place }: Candidate): Partial<Draft> {
  if (kind === "group") {
    // The slots are this Group's.
    const refs = draft.refs.filter((one) => one.kind === GROUP_REFERENCE);
    return { elsewhere: value, remote: null, to: [], replyTo: null, quote: null, refs };
  }
  if (kind === "remote-group" && place !== undefined) {
    // A message to another instance carries no references.
    if (draft.remote !== null) return {};
    const rest = draft.refs.filter(
      (one) =>
        one.kind !== GROUP_REFERENCE ||
        one.group_id !== place.group_id ||
        one.instance_id !== place.instance_id,
    );
    return { refs: [...rest, { kind: GROUP_REFERENCE, ...place }] };
  }
  const remote = place ?? null;
  const same =
    draft.elsewhere === null &&
    draft.remote?.group_id === remote?.group_id &&
    draft.remote?.instance_id === remote?.instance_id;
  const kept = same && !draft.carried ? draft.to.filter((id) => id !== value) : [];
  // Another Group's person can't share a message with Actors.
  const to = remote !== null && (value === "user" || kept.includes("user")) ? [value] : [...kept, value];
  const reply = remote === null ? {} : { replyTo: null, quote: null, refs: [] };
  return { to, remote, elsewhere: null, ...reply };
}
