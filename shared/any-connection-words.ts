/**
 * What a connection of any kind says to people: with whom, how it came about, its state, and how it
 * is ended. Pure.
 */
import type { Tone } from "./actor-words.ts";
import { shownName } from "./foreign-text.ts";
import type { Connection } from "./operations/connect.ts";

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

export function connectionStateWord(state: Connection["state"]): string {
  return WORDS[state].word;
}

/** "Lab at office", or the instance alone if all of its Groups are meant. */
export function connectionName({ remote }: Pick<Connection, "remote">): string {
  if (remote === null) return "no one yet";
  const name = shownName(remote.name ?? remote.instance_id);
  return remote.title === null ? name : `${shownName(remote.title)} at ${name}`;
}
