/**
 * Resolves what people type to ids: a Group, an Actor or a Group of another instance by its unique
 * title, an instance by its unique name, an event or a Direct connection by the beginning of its
 * id.
 */

import type { DaemonClient, Envelope } from "../client/client.ts";
import { closest } from "../shared/closest.ts";
import { Refusal } from "../shared/errors.ts";
import { quotedName } from "../shared/foreign-text.ts";
import { ID_PATTERNS } from "../shared/id-patterns.ts";
import { LIMITS } from "../shared/limits.ts";
import type { DirectRelation } from "../shared/operations/direct.ts";
import type { ResultOf } from "../shared/operations/registry.ts";
import { labelled } from "../shared/voice.ts";
import { UsageError } from "./usage-error.ts";

/** Fewer digits of an event's id are treated as a mistake. */
const EVENT_PREFIX = /^[0-9a-f]{4,32}$/;
/** Entries of a list in an error. */
const SHOWN = 5;

export const NO_GROUP =
  "There is no Group yet. Create one with 'svc attach' in a project directory, or 'svc group create TITLE'.";

interface Titled {
  group_id: string;
  title: string;
}

/** A few Groups, one per line, and how to see the rest. */
export function listed(groups: readonly Titled[]): string {
  const lines = groups
    .slice(0, SHOWN)
    .map(({ group_id: groupId, title }) => `  ${groupId}  ${labelled(title)}`);
  const more = groups.length - lines.length;
  return [...lines, ...(more > 0 ? [`  and ${more} more: 'svc group list'`] : [])].join("\n");
}

/** The form in which two titles count as the same. */
function fold(title: string): string {
  return title.normalize("NFC").trim().toLowerCase();
}

/**
 * The id of the Group that `typed` names by id, or by title if no other Group has it. An Actor may
 * not list Groups, so for an Actor the daemon judges everything. Throws a UsageError for an
 * ambiguous title, or the Refusal `group_not_found`.
 */
export async function groupNamed(client: DaemonClient, typed: string): Promise<string> {
  if (ID_PATTERNS.group.test(typed) || client.actsAsActor) return typed;
  const { groups } = await client.result("group_list", {});
  const found = groups.filter(({ title }) => fold(title) === fold(typed));
  const [only] = found;
  if (only === undefined) {
    const title = closest(
      typed,
      groups.map((group) => group.title),
    );
    throw new Refusal("group_not_found", {
      specifics: `There is no Group '${quotedName(typed)}'.`,
      ...(title === null ? {} : { remedy: `Did you mean '${quotedName(title)}'?` }),
    });
  }
  if (found.length > 1)
    throw new UsageError(
      `${found.length} Groups are called '${quotedName(typed)}'. Use the id of one:\n${listed(found)}`,
    );
  return only.group_id;
}

/**
 * The event whose id begins with `typed`. Throws a UsageError if several do or it can't be a part
 * of an id, or the Refusal `event_not_found` if none does.
 */
export async function eventNamed(client: DaemonClient, groupId: string, typed: string): Promise<string> {
  const prefix = typed.toLowerCase();
  if (!EVENT_PREFIX.test(prefix))
    throw new UsageError(
      `'${quotedName(typed)}' isn't an event id. Type an id, or its first 4 or more characters, as 'svc tail' shows it.`,
    );
  if (ID_PATTERNS.event.test(prefix)) return prefix;
  const { event_ids: eventIds } = await client.result("ledger_find", { group_id: groupId, prefix });
  const [only] = eventIds;
  if (only === undefined)
    throw new Refusal("event_not_found", { specifics: `No event id in this Group begins with '${prefix}'.` });
  if (eventIds.length === 1) return only;
  const shown = eventIds.slice(0, SHOWN).map((id) => `  ${id}`);
  if (eventIds.length > SHOWN) shown.push("  and more");
  throw new UsageError(
    `More than one event id begins with '${prefix}'. Type more of it:\n${shown.join("\n")}`,
  );
}

/**
 * The id of the Actor that `typed` names by id, or by title if no other Actor of the Group has it.
 * The daemon judges everything else. Throws a UsageError for an ambiguous title.
 */
export async function actorNamed(client: DaemonClient, groupId: string, typed: string): Promise<string> {
  const listed = await client.call("actor_list", { group_id: groupId });
  const actors = listed.ok ? listed.result.actors : [];
  if (actors.some(({ id }) => id === typed)) return typed;
  const lines = actors
    .filter(({ title }) => fold(title) === fold(typed))
    .map(({ id, title }): Choice => [id, title]);
  return only("Actors", typed, lines) ?? typed;
}

/** An id and what is shown beside it. */
type Choice = readonly [id: string, title: string];

/** The only choice; undefined if there is none. Throws a UsageError if there are several. */
function only(what: string, typed: string, choices: readonly Choice[]): string | undefined {
  if (choices.length <= 1) return choices[0]?.[0];
  const shown = choices.slice(0, SHOWN).map(([id, title]) => `  ${labelled(id)}  ${labelled(title)}`);
  if (choices.length > SHOWN) shown.push("  and more");
  throw new UsageError(
    `${choices.length} ${what} are called '${quotedName(typed)}'. Use the id of one:\n${shown.join("\n")}`,
  );
}

/** What to say when nothing is called `typed`, with the closest of what there is. */
function notCalled(what: string, typed: string, choices: readonly Choice[]): Refusal {
  const title = closest(
    typed,
    choices.map(([, one]) => one),
  );
  return new Refusal("connect_not_granted", {
    specifics: `${what} '${quotedName(typed)}'.`,
    remedy: title === null ? "'svc connect' lists what there is." : `Did you mean '${quotedName(title)}'?`,
  });
}

const INSTANCE_ID = /^12D3KooW[1-9A-HJ-NP-Za-km-z]{44}$/;

/**
 * The id of the instance that `typed` names by id, or by the name it gives itself if no other
 * instance that this Group may write to has it. Throws a UsageError for an ambiguous name, or the
 * Refusal `connect_not_granted`, `connect_unavailable` while the account's instances aren't known.
 */
export async function instanceNamed(client: DaemonClient, groupId: string, typed: string): Promise<string> {
  if (typed === "" || INSTANCE_ID.test(typed)) return typed;
  const found = await client.result("connect_catalog", { group_id: groupId });
  if (!("instances" in found)) return typed;
  // An instance may have one name in the account and another in a connection.
  const choices = [...found.instances, ...found.external_groups.map(({ instance }) => instance)].map(
    ({ instance_id: instanceId, display_name: name }): Choice => [instanceId, name ?? ""],
  );
  const called = new Map(choices.filter(([, name]) => fold(name) === fold(typed)));
  const named = only("instances", typed, [...called]);
  if (named !== undefined) return named;
  const { status, account_error: error } = found;
  if (status === "unavailable")
    throw new Refusal("connect_unavailable", error === null ? {} : { specifics: error });
  throw notCalled("This Group isn't connected to an instance", typed, choices);
}

/**
 * The id of the Group of another instance that `typed` names by id, or by title if this Group may
 * write to no other Group of that title there. Throws as `instanceNamed`.
 */
export async function remoteGroupNamed(
  client: DaemonClient,
  groupId: string,
  instanceId: string,
  typed: string,
): Promise<string> {
  if (typed === "" || ID_PATTERNS.group.test(typed)) return typed;
  const { choices, others } = await remoteGroups(client, groupId, instanceId);
  // Ids of other programs' Groups may look like anything.
  if (choices.length === 0 || choices.some(([id]) => id === typed)) return typed;
  const named = only(
    "Groups of that instance",
    typed,
    choices.filter(([, title]) => fold(title) === fold(typed)),
  );
  if (named !== undefined) return named;
  if (!others) throw notCalled("This Group isn't connected to a Group", typed, choices);
  throw new Refusal("connect_not_granted", {
    specifics: `This Group has no connection of its own to a Group '${quotedName(typed)}' of that instance.`,
    remedy: "Name any other Group of it by its id.",
  });
}

/**
 * The Groups of an instance that this one may write to, as far as they are known. `others`: there
 * are more, because it is of the same account, but the daemon lists only those that this Group is
 * connected to by itself.
 */
async function remoteGroups(
  client: DaemonClient,
  groupId: string,
  instanceId: string,
): Promise<{ choices: Choice[]; others: boolean }> {
  const found = await client.result("connect_catalog", { group_id: groupId });
  if (!("external_groups" in found)) return { choices: [], others: false };
  const external = found.external_groups.filter(({ instance }) => instance.instance_id === instanceId);
  if (external.length > 0) {
    const others = found.instances.some((instance) => instance.instance_id === instanceId);
    return { choices: external.map(({ group_id: id, title }) => [id, title]), others };
  }
  const choices: Choice[] = [];
  for (let after: string | null = ""; after !== null; ) {
    const input = { group_id: groupId, instance_id: instanceId, limit: LIMITS.connect.catalog.groups };
    const page: Envelope<ResultOf<"connect_catalog">> = await client.call("connect_catalog", {
      ...input,
      ...(after === "" ? {} : { after }),
    });
    if (!page.ok || !("catalog" in page.result)) break;
    for (const { group_id: id, title } of page.result.catalog?.groups ?? []) choices.push([id, title]);
    after = page.result.next;
  }
  return { choices, others: false };
}

/** Fewer characters of a connection's id are treated as a mistake. */
const RELATION_PREFIX = /^direct-[0-9a-f]{4}[0-9a-f-]*$/;

/**
 * The Group's Direct connection that `typed` names by the beginning of its id, or by the title or
 * name of the other side. Throws a UsageError if it names several, or the Refusal
 * `direct_not_found`.
 */
export async function relationNamed(
  client: DaemonClient,
  groupId: string,
  typed: string,
): Promise<DirectRelation> {
  const { relations } = await client.result("connect_direct_status", { group_id: groupId });
  const names = ({ id, remote }: DirectRelation): boolean =>
    RELATION_PREFIX.test(typed)
      ? id.startsWith(typed)
      : remote !== null && [remote.title, remote.name].some((name) => fold(name) === fold(typed));
  const found = relations.filter(names);
  const named = only(
    "connections",
    typed,
    found.map(({ id, remote, state }) => [id, `${state}, ${remote?.title ?? ""}`]),
  );
  const relation = relations.find(({ id }) => id === named);
  if (relation === undefined) throw new Refusal("direct_not_found", { details: { id: typed } });
  return relation;
}
