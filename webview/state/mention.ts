/**
 * A name typed at the start of a message, as `@reviewer please look`: it addresses the Actor as if
 * it had been picked from the list. Pure.
 */

import { actorName } from "../../shared/actor-words.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { Draft } from "./draft.ts";

export const ALIASES = [
  { value: "@foreman", detail: "the first Actor" },
  { value: "@peers", detail: "every enabled peer" },
  { value: "@all", detail: "every enabled Actor" },
] as const;

export type Mention =
  /** An Actor id, or an alias with its @. */
  | { kind: "recipient"; value: string }
  /** A name that no Actor has, or several. */
  | { kind: "unknown"; name: string };

/** Characters that continue a name, so that it isn't the whole name. */
const WORD = /^[\p{L}\p{N}_-]/u;

interface Named {
  value: string;
  name: string;
}

function namesOf(actors: readonly ActorWithPresence[]): Named[] {
  const own = actors.flatMap((actor) =>
    [...new Set([actor.id, actorName(actor)])].map((name) => ({ value: actor.id, name })),
  );
  return actors.length > 1 ? [...own, ...ALIASES.map(({ value }) => ({ value, name: value.slice(1) }))] : own;
}

/**
 * Who is named at the start of the text; null when it doesn't begin with `@` and a name. The
 * longest name wins, then an id.
 */
export function mentionIn(text: string, actors: readonly ActorWithPresence[]): Mention | null {
  const word = /^\s*@([\p{L}\p{N}_-]+)/u.exec(text);
  if (word === null) return null;
  const rest = text.slice(text.indexOf("@") + 1);
  const lower = rest.toLowerCase();
  const fits = namesOf(actors).filter(
    ({ name }) => lower.startsWith(name.toLowerCase()) && !WORD.test(rest.slice(name.length)),
  );
  const longest = Math.max(0, ...fits.map(({ name }) => name.length));
  const best = fits.filter(({ name }) => name.length === longest);
  const id = best.find(({ value, name }) => value === name && rest.startsWith(value));
  const values = new Set(id === undefined ? best.map(({ value }) => value) : [id.value]);
  const [value] = values;
  if (value === undefined || values.size > 1) return { kind: "unknown", name: word[1]! };
  return { kind: "recipient", value };
}

/** Where a draft goes. */
export type Destination = Pick<Draft, "to" | "elsewhere" | "remote">;

/**
 * Who gets the draft: those who were picked, and whom its text names at the start. Who only got the
 * message before gives way to a name; otherwise names mean nothing in another Group.
 */
export function addressedBy(draft: Readonly<Draft>, actors: readonly ActorWithPresence[]): Destination {
  const { to, elsewhere, remote } = draft;
  const isElsewhere = elsewhere !== null || remote !== null;
  const mention = isElsewhere && !draft.carried ? null : mentionIn(draft.text, actors);
  if (mention?.kind !== "recipient") return { to, elsewhere, remote };
  if (!draft.carried && to.includes(mention.value)) return { to, elsewhere, remote };
  return { to: [...(draft.carried ? [] : to), mention.value], elsewhere: null, remote: null };
}
