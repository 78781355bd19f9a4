/**
 * Everything that waits for the person now, over all Groups, and what began to. Every window and
 * phone is told from here, so that each wait has one name everywhere.
 */
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../platform/clock.ts";
import { Signal } from "../../platform/signal.ts";
import { awaitsApproval } from "../../shared/connections-brief.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { StoredActor } from "../../shared/model.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { DirectRelation } from "../../shared/operations/direct.ts";
import type { NotificationKind } from "../../shared/operations/notification-kinds.ts";
import type { NeedsYouItem } from "../../shared/operations/notifications.ts";
import type { OpenGroup } from "../groups/group.ts";
import type { GroupChat } from "../messaging/group-chat.ts";

export interface NeedsYouSources {
  clock: Clock;
  /** The Group with its messages, if it is open. */
  find(groupId: string): Pick<GroupChat, "group" | "projection"> | undefined;
  /** What an Actor in a terminal does. */
  workingState(
    groupId: string,
    actor: StoredActor,
  ): Pick<ActorWithPresence["presence"], "state" | "reason" | "since" | "attention" | "questions">;
  /** All Direct connections, as far as they can be read. */
  relations(): readonly DirectRelation[];
}

/** The wait that an Actor is in. Its reason may change meanwhile. */
interface Wait {
  generation: string;
  kind: NotificationKind;
  key: string;
}

const FORGET_MS = LIMITS.notifications.forgetSeconds * 1000;
/** Where connections are kept among the Groups. */
const CONNECTIONS = "";

export class NeedsYou {
  readonly #sources: NeedsYouSources;
  /** By Group, then key. */
  readonly #items = new Map<string, ReadonlyMap<string, NeedsYouItem>>();
  /** By Group, then Actor. */
  readonly #waits = new Map<string, ReadonlyMap<string, Wait>>();
  /** The person's requests of each Group, as last looked at. */
  readonly #revisions = new Map<string, number>();
  /** Monotonic time at which what no longer waits ended. */
  readonly #past = new Map<string, number>();
  readonly #changed = new Signal<[entered: readonly NeedsYouItem[]]>();

  constructor(sources: NeedsYouSources) {
    this.#sources = sources;
  }

  /** Something began to wait, changed or no longer waits. Returns the way to stop listening. */
  onChange(listener: (entered: readonly NeedsYouItem[]) => void): () => void {
    return this.#changed.on(listener);
  }

  /** What waits, as far as the caller may know, newest first. */
  list(caller: Caller): NeedsYouItem[] {
    const all = [...this.#items.values()].flatMap((items) => [...items.values()]);
    return all
      .filter((item) => maySee(caller, item))
      .sort((one, other) => (one.since < other.since ? 1 : -1))
      .slice(0, LIMITS.notifications.items);
  }

  /** The item with this key, if it still waits and the caller may know. */
  find(key: string, caller: Caller): NeedsYouItem | null {
    for (const items of this.#items.values()) {
      const item = items.get(key);
      if (item !== undefined) return maySee(caller, item) ? item : null;
    }
    return null;
  }

  /** It waits, or did a short while ago and is the same when it waits again. */
  isRemembered(key: string): boolean {
    return this.#past.has(key) || [...this.#items.values()].some((items) => items.has(key));
  }

  /** Takes what waits in a Group as known: it began before anyone here looked. */
  know(groupId: string): void {
    this.#look(groupId, true);
  }

  /** A Group's Actors or their states changed. */
  look(groupId: string): void {
    this.#look(groupId, false);
  }

  /** Messages came. Looks again only if a request to the person came or was answered. */
  messages(groupId: string): void {
    const revision = this.#sources.find(groupId)?.projection.obligations.revision;
    if (revision !== this.#revisions.get(groupId)) this.#look(groupId, false);
  }

  forget(groupId: string): void {
    this.#revisions.delete(groupId);
    this.#waits.delete(groupId);
    this.#put(groupId, [], true);
  }

  /** Direct connections changed. */
  connections(isKnown = false): void {
    const { clock } = this.#sources;
    const found: NeedsYouItem[] = [];
    for (const relation of this.#sources.relations()) {
      const group = this.#sources.find(relation.local.group_id)?.group;
      if (!awaitsApproval(relation) || group === undefined) continue;
      const key = keyOf("connection", relation.id);
      found.push({
        ...itemOf(group, key, "connection"),
        since: this.#items.get(CONNECTIONS)?.get(key)?.since ?? new Date(clock.now()).toISOString(),
      });
    }
    this.#put(CONNECTIONS, found, isKnown);
  }

  #look(groupId: string, isKnown: boolean): void {
    const chat = this.#sources.find(groupId);
    if (chat === undefined) {
      this.forget(groupId);
      return;
    }
    const { group, projection } = chat;
    const { actors } = group.record;
    this.#revisions.set(groupId, projection.obligations.revision);
    const found: NeedsYouItem[] = [];
    for (const { id, ts, asker } of projection.obligations.ofPerson) {
      const by = actors.find((actor) => actor.id === asker.author && actor.generation === asker.generation);
      found.push({
        ...itemOf(group, keyOf("request", groupId, id), "request", by),
        event_id: id,
        since: ts,
      });
    }
    const waits = new Map<string, Wait>();
    for (const actor of actors) {
      if (actor.runner !== "pty") continue;
      const { state, reason, since, attention, questions } = this.#sources.workingState(groupId, actor);
      if (!attention) continue;
      // What it asks can arrive before its hooks say that it waits.
      const asksFirst = state !== "waiting" && questions !== undefined;
      const kind = state === "waiting" || asksFirst ? "waiting" : "failed";
      const wait = this.#waitOf(groupId, actor, kind, since ?? "");
      waits.set(actor.id, wait);
      const began = since ?? new Date(this.#sources.clock.now()).toISOString();
      found.push({
        ...itemOf(group, wait.key, kind, actor),
        reason: asksFirst ? "" : reason,
        since: began,
      });
    }
    this.#waits.set(groupId, waits);
    this.#put(groupId, found, isKnown);
  }

  /** The wait that goes on, or a new one. */
  #waitOf(groupId: string, { id, generation }: StoredActor, kind: NotificationKind, since: string): Wait {
    const before = this.#waits.get(groupId)?.get(id);
    if (before?.generation === generation && before.kind === kind) return before;
    return { generation, kind, key: keyOf("actor", groupId, id, generation, kind, since) };
  }

  #put(place: string, found: readonly NeedsYouItem[], isKnown: boolean): void {
    const before: ReadonlyMap<string, NeedsYouItem> = this.#items.get(place) ?? new Map();
    const now = new Map(found.map((item) => [item.key, item]));
    if (isDeepStrictEqual(before, now)) return;
    if (now.size === 0) this.#items.delete(place);
    else this.#items.set(place, now);
    const time = this.#sources.clock.monotonic();
    for (const [key, ended] of this.#past) if (time - ended >= FORGET_MS) this.#past.delete(key);
    for (const key of before.keys()) if (!now.has(key)) this.#past.set(key, time);
    const isNew = ({ key }: NeedsYouItem): boolean => !before.has(key) && !this.#past.has(key);
    this.#changed.tell(isKnown ? [] : found.filter(isNew));
  }
}

/** Whether something is any of the caller's business. Only the owner approves connections. */
function maySee(caller: Caller, item: NeedsYouItem): boolean {
  if (caller.kind === "user") return true;
  return caller.kind === "member" && item.kind !== "connection" && caller.groups.has(item.group_id);
}

function itemOf(
  { group_id: groupId, record }: OpenGroup,
  key: string,
  kind: NotificationKind,
  actor?: Pick<StoredActor, "id" | "title">,
): Omit<NeedsYouItem, "since"> {
  return {
    key,
    kind,
    group_id: groupId,
    group_title: record.title,
    actor: actor === undefined ? null : { id: actor.id, title: actor.title },
    reason: "",
    event_id: null,
  };
}

/** The same in every run of the daemon. */
function keyOf(...parts: string[]): string {
  return `n_${createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 24)}`;
}
