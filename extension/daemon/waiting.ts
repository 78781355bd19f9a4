/** What waits for the person, over all Groups, oldest first. */
import { actorReason, hasTerminal } from "../../shared/actor-words.ts";
import { awaitsApproval } from "../../shared/connections-brief.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { DirectRelation } from "../../shared/operations/direct.ts";
import type { Question } from "../../shared/operations/questions.ts";
import type { AccountShown, Instance } from "./instance.ts";

export type Waiting =
  | { kind: "actor"; groupId: string; actor: ActorWithPresence; since: string | null; reason: string }
  /** What an agent asks, and can be answered here. */
  | { kind: "question"; groupId: string; actor: ActorWithPresence; question: Question; since: string }
  /** Requests to the person whose Actors do something else meanwhile. */
  | { kind: "requests"; groupId: string; count: number; since: null }
  /** An instance that joined the account. It concerns no Group. */
  | { kind: "joined"; groupId: null; joined: AccountShown["joined"][number]; since: string }
  | { kind: "connection"; groupId: string; relation: DirectRelation; since: null };

/** Identifies the item while it waits. Another wait of the same Actor is another item. */
export function keyOf(item: Waiting): string {
  switch (item.kind) {
    case "actor":
      return `actor ${item.groupId} ${item.actor.id} ${item.actor.generation} ${item.since} ${item.reason}`;
    case "question":
      return `question ${item.question.question_id}`;
    case "requests":
      return `requests ${item.groupId}`;
    case "connection":
      return `connection ${item.relation.id}`;
    case "joined":
      return `joined ${item.joined.device_id}`;
  }
}

export function waitingItems(instance: Instance): Waiting[] {
  const items: Waiting[] = [];
  for (const { summary, actors, questions } of instance.groups) {
    const groupId = summary.group_id;
    const waiting = (actors ?? []).filter(({ presence }) => presence.attention);
    for (const actor of actors ?? []) {
      const { attention, since } = actor.presence;
      const asked = questions.filter((one) => one.actor_id === actor.id);
      for (const question of asked)
        items.push({ kind: "question", groupId, actor, question, since: question.asked_at });
      // What it waits for is its question.
      if (attention && asked.length === 0)
        items.push({ kind: "actor", groupId, actor, since, reason: actorReason(actor.presence) });
    }
    // An idle Actor whose last turn failed needs a person, too, and isn't counted twice.
    const others = summary.attention - waiting.length;
    if (others > 0) items.push({ kind: "requests", groupId, count: others, since: null });
  }
  for (const relation of instance.relations)
    if (awaitsApproval(relation))
      items.push({ kind: "connection", groupId: relation.local.group_id, relation, since: null });
  for (const joined of instance.account?.joined ?? [])
    items.push({ kind: "joined", groupId: null, joined, since: joined.at });
  return items.sort((a, b) => order(a) - order(b));
}

/** What has no time comes last. */
function order({ since }: Waiting): number {
  return since === null ? Number.MAX_SAFE_INTEGER : Date.parse(since);
}

/** What a click on the item does. */
export function remedyOf(item: Waiting): "question" | "terminal" | "workbench" | "connections" | "account" {
  if (item.kind === "joined") return "account";
  if (item.kind === "question") return "question";
  if (item.kind === "connection") return "connections";
  return item.kind === "actor" && hasTerminal(item.actor) ? "terminal" : "workbench";
}
