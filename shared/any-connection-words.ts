/**
 * What a connection of any kind says to people: with whom, how it came about, its state, and how it
 * is ended. Pure.
 */

import type { Tone } from "./actor-words.ts";
import { shownName } from "./foreign-text.ts";
import type { Connection } from "./operations/connect.ts";
import type { ResultOf } from "./operations/registry.ts";
import { labelled } from "./voice.ts";

const KINDS = {
  account: "your account",
  external: "another account",
  direct: "Direct",
} satisfies Record<Connection["kind"], string>;

/** How it came about. */
export function kindWord(kind: Connection["kind"]): string {
  return KINDS[kind];
}

const WORDS = {
  reached: { icon: "pass", word: "reached", tone: "good" },
  not_tried: { icon: "sync", word: "not asked yet", tone: "quiet" },
  unreachable: { icon: "warning", word: "can’t be reached", tone: "attention" },
  no_route: { icon: "circle-outline", word: "has no address", tone: "quiet" },
  unconfirmed: { icon: "question", word: "not confirmed", tone: "attention" },
  pending: { icon: "clock", word: "pending", tone: "attention" },
  ended: { icon: "circle-slash", word: "ended", tone: "quiet" },
} as const satisfies Record<Connection["state"], { icon: string; word: string; tone: Tone }>;

export function connectionLook(state: Connection["state"]): (typeof WORDS)[Connection["state"]] {
  return WORDS[state];
}

export function connectionStateWord(state: Connection["state"]): string {
  return WORDS[state].word;
}

/** What the state means now, or what to do. */
export function connectionSentence({ state, error, remote, kind }: Connection): string {
  switch (state) {
    case "reached":
      return kind === "account"
        ? "Your Groups there and here can write to each other."
        : "Both Groups can write to each other.";
    case "not_tried":
      return "svc is asking it for its Groups.";
    case "unreachable":
      return `${error === null ? "" : `${shownName(error)} `}Check that svc runs there and that ${shownName(remote?.public_origin ?? "its address")} leads to it. svc keeps trying, and messages wait for up to 15 minutes.`;
    case "no_route":
      return "It can write to this instance, but nothing can be sent to it: it has no address. Set one there with 'svc origin set https://HOST'.";
    case "unconfirmed":
      return "The account service hasn’t confirmed it lately, so nothing is sent. Messages wait for up to 15 minutes.";
    case "pending":
      return "It waits for its approval.";
    case "ended":
      return "It has ended. Messages that arrived stay.";
  }
}

/** "Lab at office", or the instance alone if all of its Groups are meant. */
export function connectionName({ remote }: Pick<Connection, "remote">): string {
  if (remote === null) return "no one yet";
  const name = labelled(remote.name ?? remote.instance_id);
  return remote.title === null ? name : `${labelled(remote.title)} at ${name}`;
}

/** With how many Groups of other accounts a Group is connected. Null isn't zero (SNAP-014). */
export function sharedCount(
  summary: ResultOf<"connect_status">["group_connections"],
  groupId: string,
  now: number,
): number | null {
  if (summary === null || Date.parse(summary.expires_at) <= now) return null;
  return summary.counts[groupId] ?? null;
}
