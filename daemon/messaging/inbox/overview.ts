/** What people and Actors see at a glance: `bootstrap`, counts, and presence in words. */

import { Refusal } from "../../../shared/errors.ts";
import { isMessage } from "../../../shared/events.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { StoredActor } from "../../../shared/model.ts";
import { NOT_CONNECTED } from "../../../shared/names.ts";
import type { ActorWithPresence } from "../../../shared/operations/actors.ts";
import type { CallContext } from "../../../shared/operations/caller.ts";
import type { InputOf, ResultOf } from "../../../shared/operations/registry.ts";
import type { GroupCounts } from "../../groups/group-view.ts";
import type { Chats, GroupChat } from "../group-chat.ts";
import type { Session, Sessions } from "./sessions.ts";

type Presence = ActorWithPresence["presence"];

export function countsOf(chats: Chats, chat: GroupChat): GroupCounts {
  const attention = attentionOf(chats, chat);
  return {
    ...unreadOf(chat),
    attention,
    last_event: chat.lastEvent(),
  };
}

function unreadOf({ projection: { reading }, ledger }: GroupChat) {
  return { unread: reading.count, first_unread: reading.count === 0 ? null : ledger.idOf(reading.at(0)) };
}

/** What the person's reading changes. */
export function readingOf(chats: Chats, chat: GroupChat): ResultOf<"feed_read"> {
  return { ...unreadOf(chat), attention: attentionOf(chats, chat) };
}

/**
 * What needs the person: requests that they haven't answered, and terminal runtimes that wait for
 * them, for example for a permission.
 */
export function attentionOf(chats: Chats, { group, projection }: GroupChat): number {
  const waiting = group.record.actors.filter(
    (actor) => actor.runner === "pty" && chats.workingState(group.group_id, actor).attention,
  );
  return projection.obligations.ofPerson.size + waiting.length;
}

/**
 * For an external Actor: what its sessions do. For one in a terminal: its working state. Only the
 * daemon decides it.
 */
export function presenceOf(chats: Chats, chat: GroupChat, sessions: Sessions, actor: StoredActor): Presence {
  const queue = chat.queueOf(actor);
  const counts = {
    unread_mail: chat.unreadMail(actor),
    pending: (queue?.pending.count ?? 0) + (queue?.returned.size ?? 0),
  };
  if (actor.runner === "pty") {
    const held = counts.pending > 0 ? chat.whyWaiting(actor.id) : "";
    const why = held === "" ? {} : { held };
    return { ...chats.workingState(chat.group.group_id, actor), ...counts, ...why };
  }
  const living = [...sessions.of(chat.group.group_id, actor.id)];
  const lastActivity = living.reduce<string | null>(
    (latest, { lastCall }) => (latest === null || lastCall > latest ? lastCall : latest),
    null,
  );
  const now = doing(chat, actor, living);
  return {
    ...now,
    last_activity: lastActivity,
    attention: now.state === "waiting",
    ...counts,
  };
}

type Doing = Pick<Presence, "state" | "reason" | "since">;

/**
 * If it asked the person something since it last took messages, and they haven't answered, it waits
 * for them, even when its process is gone. Otherwise it works on what it took until it waits for
 * more. If it is silent for long and some of that is still open, it is stalled.
 */
function doing(chat: GroupChat, actor: StoredActor, sessions: Session[]): Doing {
  if (!actor.enabled) return { state: "stopped", reason: "disabled", since: null };
  const { state } = chat.group.record;
  if (!chat.handsOut) return { state: "stopped", reason: `the Group is ${state}`, since: null };
  const [newest] = sessions.sort((a, b) => (a.lastCall < b.lastCall ? 1 : -1));
  const question = chat.projection.obligations.questionOf(actor.id, actor.generation);
  const tookSince = sessions.some(({ took, tookAt }) => took > 0 && (tookAt ?? "") > (question?.ts ?? ""));
  if (question !== undefined && !tookSince) {
    const reason = newest === undefined ? `asks you for a reply; ${NOT_CONNECTED}` : "asks you for a reply";
    return { state: "waiting", reason, since: question.ts };
  }
  if (newest === undefined) return absent(chat, actor);
  const took = sessions.reduce((sum, session) => sum + session.took, 0);
  if (took === 0 || sessions.every(({ took: taken, isQuiet }) => taken === 0 || isQuiet)) {
    if (took > 0 && isOpen(chat, actor, sessions)) {
      return { state: "stalled", reason: `read ${messages(took)}, then silence`, since: newest.lastCall };
    }
    if (sessions.some(({ isWaiting }) => isWaiting)) {
      return { state: "idle", reason: "waits for messages", since: newest.lastCall };
    }
    return { state: "idle", reason: "connected", since: newest.since };
  }
  return { state: "working", reason: `read ${messages(took)}`, since: newest.lastCall };
}

/** Something that it took isn't acknowledged, or someone waits for its reply. */
function isOpen(chat: GroupChat, actor: StoredActor, sessions: readonly Session[]): boolean {
  return (
    sessions.some(({ batches }) => batches.size > 0) ||
    chat.projection.obligations.owes(actor.id, actor.generation)
  );
}

function absent(chat: GroupChat, actor: StoredActor): Doing {
  const again = chat.queueOf(actor)?.claimed.size ?? 0;
  const reason = again === 0 ? "" : `; ${messages(again)} will be delivered again`;
  return { state: "unavailable", reason: `${NOT_CONNECTED}${reason}`, since: chat.inbox(actor.id).leftAt };
}

function messages(count: number): string {
  return count === 1 ? "1 message" : `${count} messages`;
}

export function bootstrap(
  chats: Chats,
  sessions: Sessions,
  input: InputOf<"bootstrap">,
  { caller }: CallContext,
): ResultOf<"bootstrap"> {
  const chat = chats.get(input.group_id);
  if (caller.kind !== "actor") throw new Refusal("permission_denied");
  const me = chat.self(caller);
  const { group } = chat;
  const { record } = group;
  const role = (id: string): "foreman" | "peer" => (record.actors[0]?.id === id ? "foreman" : "peer");
  const scopeKey = me.scope_key ?? record.active_scope_key;
  const queue = chat.queueOf(me);
  const owed: number[] = [];
  for (const obligation of chat.projection.obligations.all()) {
    if (obligation.owed.get(me.id)?.generation !== me.generation) continue;
    if (owed.push(obligation.ordinal) === LIMITS.page.default) break;
  }
  return {
    group: {
      group_id: record.group_id,
      title: record.title,
      topic: record.topic,
      state: record.state,
      project_root: record.scopes.find((scope) => scope.scope_key === scopeKey)?.path ?? null,
    },
    me: { id: me.id, title: me.title, role: role(me.id), runtime: me.runtime },
    actors: record.actors.map((actor) => {
      const { id, title, runtime, enabled } = actor;
      // Questions are for who may answer them.
      const { questions: _questions, ...presence } = presenceOf(chats, chat, sessions, actor);
      return { id, title, role: role(id), runtime, enabled, presence };
    }),
    unread_mail: chat.unreadMail(me),
    pending_messages: queue?.unacknowledged ?? 0,
    open_requests: chat.ledger.readMany(owed.sort((a, b) => a - b)).filter(isMessage),
  };
}
