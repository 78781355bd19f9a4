/** What people and Actors see at a glance: `bootstrap`, counts, and presence in words. */

import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { StoredActor } from "../../../shared/model.ts";
import { NOT_CONNECTED } from "../../../shared/names.ts";
import type { ActorWithPresence } from "../../../shared/operations/actors.ts";
import type { CallContext } from "../../../shared/operations/caller.ts";
import type { InputOf, ResultOf } from "../../../shared/operations/registry.ts";
import type { GroupCounts } from "../../groups/handlers.ts";
import type { GroupRoom, Rooms } from "../group-room.ts";
import type { Session, Sessions } from "../inbox/sessions.ts";

type Presence = ActorWithPresence["presence"];

export function countsOf(rooms: Rooms, room: GroupRoom): GroupCounts {
  const attention = attentionOf(rooms, room);
  return { unread: room.projection.unread.count, attention, last_event: room.lastEvent() };
}

/** What needs the person: requests that they haven't answered, and runtimes in terminals that wait for them, as for a permission. */
export function attentionOf(rooms: Rooms, { group, projection }: GroupRoom): number {
  const waiting = group.record.actors.filter(
    (actor) => actor.runner === "pty" && rooms.workingState(group.group_id, actor).attention,
  );
  return projection.obligations.ofPerson + waiting.length;
}

/** Of an external Actor: what its sessions do; of one that runs in a terminal: its working state. Decided by the daemon and nowhere else. */
export function presenceOf(rooms: Rooms, room: GroupRoom, sessions: Sessions, actor: StoredActor): Presence {
  const queue = room.queueOf(actor);
  const counts = {
    unread_mail: room.unreadMail(actor),
    pending: (queue?.pending.count ?? 0) + (queue?.returned.size ?? 0),
  };
  if (actor.runner === "pty") {
    const held = counts.pending > 0 ? room.whyWaiting(actor.id) : "";
    const why = held === "" ? {} : { held };
    return { ...rooms.workingState(room.group.group_id, actor), ...counts, ...why };
  }
  const living = [...sessions.of(room.group.group_id, actor.id)];
  const lastActivity = living.reduce<string | null>(
    (latest, { lastCall }) => (latest === null || lastCall > latest ? lastCall : latest),
    null,
  );
  const now = doing(room, actor, living);
  return {
    ...now,
    last_activity: lastActivity,
    attention: now.state === "waiting",
    ...counts,
  };
}

type Doing = Pick<Presence, "state" | "reason" | "since">;

/**
 * A request of it that the person hasn't answered, made since it last took something, makes it wait for them, also when its process has
 * gone. What it took is worked on until it waits for more; when it says nothing for long and something of that is still open, it stalls.
 */
function doing(room: GroupRoom, actor: StoredActor, sessions: Session[]): Doing {
  if (!actor.enabled) return { state: "stopped", reason: "disabled", since: null };
  const { state } = room.group.record;
  if (!room.handsOut) return { state: "stopped", reason: `the Group is ${state}`, since: null };
  const [newest] = sessions.sort((a, b) => (a.lastCall < b.lastCall ? 1 : -1));
  const question = room.projection.obligations.questionOf(actor.id, actor.generation);
  const tookSince = sessions.some(({ took, tookAt }) => took > 0 && (tookAt ?? "") > (question?.ts ?? ""));
  if (question !== undefined && !tookSince) {
    const reason = newest === undefined ? `asks you for a reply; ${NOT_CONNECTED}` : "asks you for a reply";
    return { state: "waiting", reason, since: question.ts };
  }
  if (newest === undefined) return absent(room, actor);
  const took = sessions.reduce((sum, session) => sum + session.took, 0);
  if (took === 0 || sessions.every(({ took: taken, isQuiet }) => taken === 0 || isQuiet)) {
    if (took > 0 && isOpen(room, actor, sessions)) {
      return { state: "stalled", reason: `read ${messages(took)}, then silence`, since: newest.lastCall };
    }
    if (sessions.some(({ isWaiting }) => isWaiting)) {
      return { state: "idle", reason: "waits for messages", since: newest.lastCall };
    }
    return { state: "idle", reason: "connected", since: newest.since };
  }
  return { state: "working", reason: `read ${messages(took)}`, since: newest.lastCall };
}

/** Something that it took isn't acknowledged, or somebody waits for its reply. */
function isOpen(room: GroupRoom, actor: StoredActor, sessions: readonly Session[]): boolean {
  return (
    sessions.some(({ batches }) => batches.size > 0) ||
    room.projection.obligations.owes(actor.id, actor.generation)
  );
}

function absent(room: GroupRoom, actor: StoredActor): Doing {
  const again = room.queueOf(actor)?.claimed.size ?? 0;
  const reason = again === 0 ? "" : `; ${messages(again)} will be handed out again`;
  return { state: "unavailable", reason: `${NOT_CONNECTED}${reason}`, since: room.desk(actor.id).leftAt };
}

function messages(count: number): string {
  return count === 1 ? "1 message" : `${count} messages`;
}

export function bootstrap(
  rooms: Rooms,
  sessions: Sessions,
  input: InputOf<"bootstrap">,
  { caller }: CallContext,
): ResultOf<"bootstrap"> {
  const room = rooms.get(input.group_id);
  if (caller.kind !== "actor") throw new Refusal("permission_denied");
  const me = room.self(caller);
  const { group } = room;
  const { record } = group;
  const role = (id: string): "foreman" | "peer" => (record.actors[0]?.id === id ? "foreman" : "peer");
  const scopeKey = me.scope_key ?? record.active_scope_key;
  const queue = room.queueOf(me);
  const owed: number[] = [];
  for (const obligation of room.projection.obligations.all()) {
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
    actors: record.actors.map((actor) => ({
      id: actor.id,
      title: actor.title,
      role: role(actor.id),
      runtime: actor.runtime,
      enabled: actor.enabled,
      presence: presenceOf(rooms, room, sessions, actor),
    })),
    unread_mail: room.unreadMail(me),
    pending_messages: queue?.unacknowledged ?? 0,
    open_requests: room.ledger.readMany(owed.sort((a, b) => a - b)),
  };
}
