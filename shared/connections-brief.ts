/**
 * A Group's connections as its header sums them up, and what a Direct one is in a word. The rest of
 * the words is in connection-words.ts, which no first load needs. Pure.
 */

import type { Tone } from "./actor-words.ts";
import { connectionName, connectionStateWord } from "./any-connection-words.ts";
import { directStateWords } from "./direct-words.ts";
import type { Connection } from "./operations/connect.ts";
import type { DirectRelation } from "./operations/direct.ts";
import { labelled } from "./voice.ts";

/** Codicons. */
export type Icon =
  | "pass"
  | "warning"
  | "circle-outline"
  | "clock"
  | "sync"
  | "history"
  | "circle-slash"
  | "question"
  | "bell-dot"
  | "plug";

export interface ConnectionWords {
  icon: Icon;
  word: string;
  tone: Tone;
  /** What it means now, or what to do. */
  sentence: string;
}

/** "Lab at office", as the other side calls itself. */
export function peerName({ remote }: Pick<DirectRelation, "remote">): string {
  return remote === null ? "no one yet" : `${labelled(remote.title)} at ${labelled(remote.name)}`;
}

/** The time for approval is running, and a person here has to compare words. */
export function awaitsApproval({ state, remote, initiated, expired, current }: DirectRelation): boolean {
  return state === "pending" && remote !== null && !initiated && !expired && current;
}

export function isPast({ state }: Pick<DirectRelation, "state">): boolean {
  return state === "revoked" || state === "expired";
}

/** A connection as its Group's header sums it up. */
interface Brief {
  name: string;
  /** Where the other side is. */
  place: string;
  word: string;
  standing: "online" | "offline" | "refused" | "unknown";
}

function directBrief(relation: DirectRelation): Brief {
  const { online, error, remote } = relation;
  return {
    name: peerName(relation),
    place: labelled(remote?.name ?? ""),
    word: directStateWords(relation),
    standing: online ? (error === null ? "online" : "refused") : "offline",
  };
}

function externalBrief(connection: Connection): Brief {
  const { state, remote } = connection;
  return {
    name: connectionName(connection),
    place: labelled(remote?.title ?? remote?.name ?? ""),
    word: connectionStateWord(state),
    standing: state === "reached" ? "online" : state === "not_tried" ? "unknown" : "offline",
  };
}

/**
 * A Group's connections in a word for its header, Direct ones and those to other accounts; null
 * when none is live or pending.
 */
export function connectionsInBrief(
  relations: readonly DirectRelation[],
  external: readonly Connection[] = [],
): ConnectionWords | null {
  const living = relations.filter((relation) => !isPast(relation));
  const came = living.find(awaitsApproval);
  if (came !== undefined) {
    const sentence = `${peerName(came)} wants to connect: compare the words, then approve or refuse.`;
    return { icon: "bell-dot", tone: "attention", word: "approve", sentence };
  }
  const all = [
    ...living.filter(({ state }) => state === "active").map(directBrief),
    ...external.filter(({ state }) => state !== "ended").map(externalBrief),
  ];
  if (all.length === 0) {
    if (living.length === 0) return null;
    return { icon: "clock", tone: "quiet", word: "pending", sentence: "A connection waits to be approved." };
  }
  const names = all.map(({ name, word }) => `${name}: ${word}`).join("\n");
  const [first] = all;
  const place = all.length === 1 ? first!.place : null;
  const count = (standing: Brief["standing"]) => all.filter((one) => one.standing === standing).length;
  const said = (one: string, several: string, standing: Brief["standing"]) =>
    place === null ? `${count(standing)} ${several}` : `${place} ${one}`;
  if (count("offline") > 0)
    return {
      icon: "warning",
      tone: "attention",
      word: said("offline", `of ${all.length} offline`, "offline"),
      sentence: names,
    };
  if (count("refused") > 0)
    return {
      icon: "warning",
      tone: "attention",
      word: said("refuses", `of ${all.length} refused`, "refused"),
      sentence: names,
    };
  if (count("online") === 0)
    return {
      icon: "sync",
      tone: "quiet",
      word: said("not asked yet", "not asked yet", "unknown"),
      sentence: names,
    };
  return { icon: "plug", tone: "good", word: said("online", "online", "online"), sentence: names };
}
