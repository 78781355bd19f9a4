/**
 * What is told when an Actor's process ended with requests in its hands: those who asked get one
 * notice each, and the Actor one for when it runs again, unless the request itself comes again.
 * Nothing is told of requests that it never got, or had finished its turn on.
 */
import type { NewEvent } from "../../ledger/types.ts";
import type { GroupChat } from "../../messaging/group-chat.ts";
import { INTERRUPTED_NOTICE, RESUME_NOTICE, UNCONFIRMED_NOTICE } from "../../messaging/kinds.ts";

type Obligation = NonNullable<ReturnType<GroupChat["projection"]["obligations"]["get"]>>;

/** Taken before anything is settled. */
export interface InHand {
  actor_id: string;
  generation: string;
  /** Of the launch: each is told once. */
  mark: string;
  /** It was in a turn. */
  isInWork: boolean;
  /** Messages that were handed to it and aren't settled. */
  claimed: ReadonlySet<string>;
  /** Open requests that it had. */
  requests: readonly Obligation[];
}

export function takeInHand(
  chat: GroupChat,
  actor: { actor_id: string; generation: string; mark: string },
  isInWork: boolean,
): InHand {
  const { actor_id: actorId, generation } = actor;
  const queue = chat.projection.queue(actorId, generation);
  const claimed = new Set(queue?.claimed.keys());
  const requests = [...chat.projection.obligations.all()].filter(({ id, ordinal, owed }) => {
    if (owed.get(actorId)?.generation !== generation) return false;
    const isWaiting = queue === undefined || queue.pending.has(ordinal) || queue.returned.has(id);
    return claimed.has(id) || (isInWork && !isWaiting);
  });
  return { ...actor, isInWork, claimed, requests };
}

/** In words, for the Actor's row: why its process ended, and what that interrupted. */
export function endWords(reason: string, { isInWork, requests }: InHand): string {
  if (!isInWork && requests.length === 0) return reason;
  if (requests.length === 0) return `${reason} while it was working`;
  return `${reason} while it had ${requests.length === 1 ? "a request" : `${requests.length} requests`}`;
}

/**
 * Records the notices, once for each launch and request. Call it when what was handed over is
 * settled. `reason` in words. Throws storage_full or storage_failed.
 */
export async function tellInterrupted(chat: GroupChat, inHand: InHand, reason: string): Promise<void> {
  const { actor_id: actorId, generation, mark } = inHand;
  const queue = chat.projection.queue(actorId, generation);
  const events: NewEvent[] = [];
  const notify = (kind: string, to: string, toGeneration: string, about: string, words: Words): void => {
    if (isTold(chat, about, kind, actorId, mark)) return;
    events.push(
      chat.event("system.notify", "system", {
        kind,
        ...words,
        target_actor_id: to,
        priority: "normal",
        context: { actor_generation: toGeneration, interrupted_actor_id: actorId, launch: mark },
        related_event_id: about,
      }),
    );
  };
  for (const { id, asker } of inHand.requests) {
    // It was answered or withdrawn while its process ended.
    if (chat.projection.obligations.get(id)?.owed.get(actorId)?.generation !== generation) continue;
    const comesAgain = queue?.returned.has(id) === true;
    const to = askerHere(chat, asker);
    if (to !== null) {
      const then = comesAgain ? "It gets the request again" : "It is told of the request";
      notify(INTERRUPTED_NOTICE, to.id, to.generation, id, {
        title: `${actorId} was interrupted while it had your request`,
        message: `The reason: ${reason}. ${queue === undefined ? "The request stays open." : `${then} when it runs again.`}`,
      });
    }
    if (!comesAgain && queue !== undefined && !queue.isToldOf(id)) {
      notify(RESUME_NOTICE, actorId, generation, id, {
        title: "Your work was interrupted",
        message: `The reason: ${reason}. The request ${id} is still open: finish it and answer it, or say why you can't.`,
      });
    }
  }
  for (const id of inHand.claimed) {
    if (!isUnconfirmed(chat, id, actorId)) continue;
    notify(UNCONFIRMED_NOTICE, "", "", id, {
      title: `It isn't known whether ${actorId} got a message`,
      message: `The reason: ${reason}, and no history of its agent says so. To deliver it again: svc deliver ${id} --to ${actorId} --force-ambiguous`,
    });
  }
  if (events.length > 0) await chat.ledger.appendAll(events);
}

interface Words {
  title: string;
  message: string;
}

function isTold(chat: GroupChat, about: string, kind: string, actorId: string, mark: string): boolean {
  const ordinal = chat.ledger.ordinalOf(about);
  if (ordinal === undefined) return true;
  return chat.ledger.readMany(chat.ledger.related(ordinal)).some((event) => {
    if (event.kind !== "system.notify" || event.data.kind !== kind) return false;
    const { interrupted_actor_id: of, launch } = event.data.context;
    return of === actorId && launch === mark;
  });
}

/** Whether the last that is known of this delivery is that nothing proves it. */
function isUnconfirmed(chat: GroupChat, id: string, actorId: string): boolean {
  const ordinal = chat.ledger.ordinalOf(id);
  if (ordinal === undefined || chat.ledger.read(ordinal).kind !== "chat.message") return false;
  const last = chat.ledger
    .readMany(chat.ledger.related(ordinal))
    .findLast((event) => event.kind === "runtime.delivery" && event.data.actor_id === actorId);
  return last?.kind === "runtime.delivery" && last.data.state === "ambiguous";
}

/** The person, or the Actor of this Group that asked, if it is still the same; otherwise null. */
function askerHere(
  chat: GroupChat,
  { author, generation }: Obligation["asker"],
): {
  id: string;
  generation: string;
} | null {
  if (author === "user") return { id: "", generation: "" };
  const actor = chat.group.record.actors.find(({ id }) => id === author);
  return actor?.generation === generation ? { id: author, generation } : null;
}
