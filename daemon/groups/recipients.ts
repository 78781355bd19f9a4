/**
 * Resolves what a sender writes to the Actors that are meant (docs/core-model.md#messages). Pure:
 * it depends only on the record.
 *
 * Each recipient is `user`, `@all`, `@peers`, `@foreman`, an Actor's exact id or an Actor's title.
 * Titles count as equal if they differ only in case, in surrounding blanks or in how Unicode
 * composes a character (NFC). A title that two Actors share is ambiguous. Ids come before titles.
 * An alias never includes the sender. For `send` and `request_reply` it includes only enabled
 * Actors. A disabled Actor that is named explicitly is included as long as someone else in the
 * audience is enabled. @all and @peers also leave out custom commands that aren't marked as reading
 * prompts.
 */
import { didYouMean } from "../../shared/closest.ts";
import { Refusal } from "../../shared/errors.ts";
import { quotedName } from "../../shared/foreign-text.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { GroupSettings, MessageMode, StoredActor } from "../../shared/model.ts";
import { isOnlyNamed } from "../../shared/typed-actors.ts";

/** `remote` means a sender that isn't an Actor of this Group. */
export type Sender = { kind: "user" } | { kind: "actor"; actor_id: string } | { kind: "remote" };

/** The fields of an Actor that matter here. For other instances' Actors only these are known. */
type Addressable = Pick<StoredActor, "id" | "title" | "enabled" | "generation"> &
  Partial<Pick<StoredActor, "runner" | "runtime" | "prompts">>;

/** A Group as seen when recipients are resolved. The foreman is first. */
export interface RecipientGroup {
  actors: readonly Addressable[];
  settings: Pick<GroupSettings, "default_send_to">;
}

export interface Audience {
  /** `["user"]`, or Actor ids in order of mention. */
  to: string[];
  /** Generation of each Actor in `to`; empty for the person. */
  to_generations: Record<string, string>;
}

export interface RecipientRequest {
  /** As written; empty means the Group's default. */
  to: readonly string[];
  mode: MessageMode;
  sender: Sender;
}

const ALIASES: ReadonlyMap<string, (place: number) => boolean> = new Map([
  ["@all", () => true],
  ["@peers", (place: number) => place > 0],
  ["@foreman", (place: number) => place === 0],
]);

/** The form in which two titles count as the same. */
function fold(title: string): string {
  return title.normalize("NFC").trim().toLowerCase();
}

function named(actors: readonly Addressable[], recipient: string): Addressable {
  const byId = actors.find((actor) => actor.id === recipient);
  if (byId !== undefined) return byId;
  const folded = fold(recipient);
  const titled = folded === "" ? [] : actors.filter((actor) => fold(actor.title) === folded);
  const [only] = titled;
  if (only !== undefined && titled.length === 1) return only;
  throw new Refusal("invalid_recipient", {
    specifics:
      titled.length > 1
        ? `The title '${quotedName(recipient)}' belongs to ${titled.length} Actors.`
        : `No Actor '${quotedName(recipient)}' in this Group.${didYouMean(recipient, names(actors))}`,
    details: { recipient, matches: titled.map((actor) => actor.id) },
  });
}

/** All names that a recipient may have. */
function names(actors: readonly Addressable[]): string[] {
  const titles = actors.map(({ title }) => title).filter((title) => title !== "");
  return [...actors.map(({ id }) => id), ...titles, ...ALIASES.keys(), "user"];
}

/** Everyone whom the written recipients mean, each once, in order of mention. */
function collect(
  record: RecipientGroup,
  recipients: readonly string[],
  { mode, sender }: RecipientRequest,
): Set<Addressable> {
  const { actors } = record;
  const found = new Set<Addressable>();
  let disabled = 0;
  for (const recipient of recipients) {
    const alias = ALIASES.get(recipient);
    if (alias === undefined) {
      found.add(named(actors, recipient));
      continue;
    }
    for (const [place, actor] of actors.entries()) {
      if (!alias(place) || (sender.kind === "actor" && actor.id === sender.actor_id)) continue;
      if (recipient !== "@foreman" && isOnlyNamed(actor)) continue;
      if (mode === "mail" || actor.enabled) found.add(actor);
      else disabled += 1;
    }
  }
  if (found.size === 0 && disabled === 0) {
    throw new Refusal("concrete_recipients_required", {
      specifics: "No Actor in this Group would get the message.",
    });
  }
  if (mode !== "mail" && ![...found].some((actor) => actor.enabled)) {
    throw new Refusal("no_enabled_recipients", { details: { actors: [...found].map((actor) => actor.id) } });
  }
  return found;
}

/**
 * The concrete audience. Throws Refusal mixed_recipient_kinds, mail_requires_actor_recipient,
 * invalid_recipient, concrete_recipients_required or no_enabled_recipients (MSG-053, MSG-054,
 * MSG-055, LIM-030).
 */
export function resolveRecipients(record: RecipientGroup, request: RecipientRequest): Audience {
  const { to, mode } = request;
  const written = to.length > 0 ? to : [record.settings.default_send_to === "foreman" ? "@foreman" : "@all"];
  if (written.includes("user")) {
    if (written.some((recipient) => recipient !== "user")) throw new Refusal("mixed_recipient_kinds");
    if (mode === "mail") throw new Refusal("mail_requires_actor_recipient");
    return { to: ["user"], to_generations: {} };
  }
  const audience = [...collect(record, written, request)];
  if (audience.length > LIMITS.message.recipients) {
    throw new Refusal("invalid_recipient", {
      specifics: `The message would go to ${audience.length} Actors; the limit is ${LIMITS.message.recipients}.`,
      details: { limit: LIMITS.message.recipients },
    });
  }
  const toGenerations: Record<string, string> = {};
  for (const { id, generation } of audience) toGenerations[id] = generation;
  return { to: audience.map(({ id }) => id), to_generations: toGenerations };
}
