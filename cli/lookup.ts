/**
 * Resolves what people type to ids: a Group by its unique title, an event by the beginning of its
 * id.
 */
import type { DaemonClient } from "../client/client.ts";
import { closest } from "../shared/closest.ts";
import { Refusal } from "../shared/errors.ts";
import { oneLine } from "./output.ts";
import { UsageError } from "./usage-error.ts";

const GROUP_ID = /^g_[0-9a-f]{12}$/;
/** Fewer digits of an event's id are treated as a mistake. */
const EVENT_PREFIX = /^[0-9a-f]{4,31}$/;
/** Entries of a list in an error. */
const SHOWN = 5;

interface Titled {
  group_id: string;
  title: string;
}

/** A few Groups, one per line, and how to see the rest. */
export function listed(groups: readonly Titled[]): string {
  const lines = groups
    .slice(0, SHOWN)
    .map(({ group_id: groupId, title }) => `  ${groupId}  ${oneLine(title)}`);
  const more = groups.length - lines.length;
  return [...lines, ...(more > 0 ? [`  and ${more} more: svc group list`] : [])].join("\n");
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
  if (GROUP_ID.test(typed) || client.actsAsActor) return typed;
  const { groups } = await client.result("group_list", {});
  const found = groups.filter(({ title }) => fold(title) === fold(typed));
  const [only] = found;
  if (only === undefined) {
    const title = closest(
      typed,
      groups.map((group) => group.title),
    );
    throw new Refusal("group_not_found", {
      specifics: `There is no Group '${oneLine(typed)}'.`,
      ...(title === null ? {} : { remedy: `Did you mean '${oneLine(title)}'?` }),
    });
  }
  if (found.length > 1)
    throw new UsageError(
      `${found.length} Groups are called '${oneLine(typed)}'. Use the id of one:\n${listed(found)}`,
    );
  return only.group_id;
}

/**
 * The event whose id begins with `typed`. Throws a UsageError if several do, or the Refusal
 * `event_not_found` if none does.
 */
export async function eventNamed(client: DaemonClient, groupId: string, typed: string): Promise<string> {
  const prefix = typed.toLowerCase();
  if (!EVENT_PREFIX.test(prefix)) return typed;
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
