/** Groups as shown to the outside. */
import type { Group } from "../../shared/model.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { GroupSummary } from "../../shared/operations/groups.ts";
import type { OpenGroup } from "./group.ts";

/** What messaging counts. */
export interface GroupCounts {
  unread: number;
  first_unread: string | null;
  attention: number;
  last_event: { id: string; ts: string } | null;
}

export function summaryOf(group: OpenGroup, counts: GroupCounts): GroupSummary {
  const {
    group_id: groupId,
    title,
    topic,
    state,
    created_at: createdAt,
    updated_at: updatedAt,
    actors,
  } = group.record;
  const { unread, first_unread: firstUnread, attention, last_event: lastEvent } = counts;
  return {
    group_id: groupId,
    title,
    topic,
    state,
    created_at: createdAt,
    updated_at: updatedAt,
    actors: actors.length,
    unread,
    first_unread: firstUnread,
    attention,
    last_event: lastEvent,
    ...(group.ledger.damage === null ? {} : { damage: group.ledger.damage }),
  };
}

/** The exhibit shows who is there, not how they are run or where on this machine. */
export function viewFor(group: OpenGroup, caller: Caller): Group {
  const view = group.view();
  if (caller.kind !== "exhibit") return view;
  return {
    ...view,
    scopes: view.scopes.map((scope) => ({ ...scope, path: scope.label, git_remote: null })),
    actors: view.actors.map((actor) => ({ ...actor, command: [], env: {}, private_env: [] })),
  };
}
