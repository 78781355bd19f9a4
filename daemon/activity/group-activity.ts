/** One Group's channel: its Actors' stores, their common limit, the view, and its followers. */

import type { Clock, Timer } from "../../platform/clock.ts";
import type { Files } from "../../platform/files.ts";
import type { Random } from "../../platform/random.ts";
import type { RuntimeActivityEvent } from "../../shared/activity/event.ts";
import { isTerminal } from "../../shared/activity/status.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { StoredActor } from "../../shared/model.ts";
import type { OpenGroup } from "../groups/group.ts";
import { ActorStore, type Change, type Content } from "./actor-store.ts";
import type { HookState, Revision } from "./hooks/hook-state.ts";
import type { ActivityRecord } from "./record-slots.ts";
import { RecordsFile } from "./records-file.ts";

export interface ActivityListener {
  /** Accepted events that are committed, in order. */
  events(events: readonly RuntimeActivityEvent[]): void;
  /** The Group is gone. */
  gone(): void;
}

export interface GroupActivityDependencies {
  files: Files;
  clock: Clock;
  random: Random;
  /** Wall time in milliseconds. */
  machineStartedAt: number;
}

const RECORD_MS = LIMITS.activity.recordSeconds * 1000;
/** How late an old record may be removed from the disk. */
const PRUNE_MS = 30_000;
const SNAPSHOT_MS = LIMITS.activity.snapshotSeconds * 1000;

export class GroupActivity {
  readonly group: OpenGroup;
  readonly #deps: GroupActivityDependencies;
  readonly #stores = new Map<string, { generation: string; store: ActorStore }>();
  readonly #listeners = new Set<ActivityListener>();
  #timer: Timer | null = null;

  constructor(group: OpenGroup, deps: GroupActivityDependencies) {
    this.group = group;
    this.#deps = deps;
  }

  /** Loads what is on disk, so that it counts and is removed in time. */
  load(): void {
    if (this.#deps.files.stat(this.group.paths.runtimeActivity) === null) return;
    for (const actor of this.group.record.actors) {
      try {
        if (this.storeOf(actor).committed().records.size > 0) this.#armPruning();
      } catch {
        // Viewers are told of a damaged file.
      }
    }
  }

  storeOf({ id, generation }: Pick<StoredActor, "id" | "generation">): ActorStore {
    const known = this.#stores.get(id);
    if (known?.generation === generation) return known.store;
    const { files, machineStartedAt } = this.#deps;
    const path = this.group.paths.runtimeActivityFile(id);
    const file = new RecordsFile({ files, path, generation, machineStartedAt });
    const store = new ActorStore(file, (events) => this.#tell(events));
    this.#stores.set(id, { generation, store });
    return store;
  }

  /** Records of removed Actors are removed with them. */
  actorsChanged(): void {
    const there = new Map(this.group.record.actors.map(({ id, generation }) => [id, generation]));
    for (const [id, { generation }] of this.#stores) {
      if (there.get(id) !== generation) this.#stores.delete(id);
    }
  }

  follow(listener: ActivityListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Active records and what ended in the last 15 s, oldest first (ACT-046). Throws
   * runtime_activity_unavailable (ACT-039).
   */
  snapshot(): RuntimeActivityEvent[] {
    const now = this.#deps.clock.now();
    const events: RuntimeActivityEvent[] = [];
    for (const actor of this.group.record.actors) {
      const store = this.storeOf(actor);
      for (const { event } of store.committed().records.values()) {
        const age = now - Date.parse(event.ts);
        if (age >= RECORD_MS) this.#prune(store, now);
        if (age < (isTerminal(event.status) ? SNAPSHOT_MS + 1 : RECORD_MS)) events.push(event);
      }
    }
    return events.sort((one, other) => (one.ts < other.ts ? -1 : one.ts > other.ts ? 1 : 0));
  }

  /**
   * Applies revisions to an Actor's content at `ts`. If the Group is full, it makes room: first
   * finished activities go, then waiting ones. Throws limit_reached if only started activities are
   * left (HOOK-015).
   */
  change(actor: StoredActor, content: Content, hooks: HookState, revisions: Revision[], ts: string): Change {
    const records = new Map(withoutOld(content.records, Date.parse(ts)));
    const events = revisions.map((revision) => this.#event(actor, hooks, revision, ts));
    const own = this.storeOf(actor);
    events.forEach((event, index) => {
      // The latest revision goes to the end, because the map is in the order of revisions.
      records.delete(event.activity_id);
      records.set(event.activity_id, { event, started_at: revisions[index]!.started_at });
    });
    let over = this.#count(own) + records.size - LIMITS.activity.records;
    const fresh = new Set(events.map(({ activity_id: activityId }) => activityId));
    const newest = events.at(-1)?.activity_id;
    for (; over > 0; over -= 1) this.#makeRoom(own, records, fresh, newest);
    return { content: { hooks, records }, events };
  }

  /**
   * A timestamp that is never before an earlier one of this content, whatever the wall clock does.
   */
  timestampAfter({ hooks }: Content): string {
    const now = new Date(this.#deps.clock.now()).toISOString();
    return hooks !== null && hooks.at > now ? hooks.at : now;
  }

  close(): void {
    this.#timer?.cancel();
    for (const listener of this.#listeners) listener.gone();
    this.#listeners.clear();
  }

  async settled(): Promise<void> {
    await Promise.all([...this.#stores.values()].map(({ store }) => store.settled()));
  }

  /** Records of the other Actors. */
  #count(except: ActorStore): number {
    let count = 0;
    for (const { store } of this.#stores.values()) {
      if (store !== except) count += store.latest.records.size;
    }
    return count;
  }

  /**
   * Activities that this change ended count as ended, except its newest event. Otherwise the end of
   * a turn with that many tools could never be kept.
   */
  #makeRoom(
    own: ActorStore,
    records: Map<string, ActivityRecord>,
    fresh: ReadonlySet<string>,
    newest: string | undefined,
  ): void {
    const isFresh = ({ event }: ActivityRecord): boolean => fresh.has(event.activity_id);
    const orders: ((record: ActivityRecord) => boolean)[] = [
      (record) => isTerminal(record.event.status) && !isFresh(record),
      ({ event }) => isTerminal(event.status) && event.activity_id !== newest,
      (record) => record.event.status === "waiting" && !isFresh(record),
    ];
    for (const isVictim of orders) {
      let oldest: { record: ActivityRecord; store: ActorStore | null } | null = null;
      const consider = (record: ActivityRecord | null | undefined, store: ActorStore | null): void => {
        if (record && (oldest === null || record.event.ts < oldest.record.event.ts))
          oldest = { record, store };
      };
      consider(first(records.values(), isVictim), null);
      for (const { store } of this.#stores.values()) {
        if (store !== own) consider(store.oldest(isVictim), store);
      }
      const victim = oldest as { record: ActivityRecord; store: ActorStore | null } | null;
      if (victim === null) continue;
      if (victim.store === null) records.delete(victim.record.event.activity_id);
      else victim.store.evict((record) => record === victim.record);
      return;
    }
    const limit = LIMITS.activity.records;
    const specifics = `The Group has ${limit} activities in progress, which is the limit.`;
    throw new Refusal("limit_reached", { specifics, details: { limit } });
  }

  #event(
    { id: actorId }: StoredActor,
    { runtime }: HookState,
    revision: Revision,
    ts: string,
  ): RuntimeActivityEvent {
    const {
      kind,
      status,
      event_type: eventType,
      session_id: sessionId,
      turn_id: turnId,
      operation_id: operationId,
      tool_name: toolName,
      started_at: startedAt,
    } = revision;
    return {
      v: 1,
      id: this.#deps.random.uuid(),
      ts,
      group_id: this.group.group_id,
      actor_id: actorId,
      runtime,
      activity_id: `${runtime}:${sessionId}:${revision.part}:${revision.key}`,
      kind,
      status,
      event_type: eventType,
      session_id: sessionId,
      turn_id: turnId,
      operation_id: operationId,
      tool_name: toolName,
      duration_ms: isTerminal(status) ? Math.max(0, Date.parse(ts) - Date.parse(startedAt)) : null,
    };
  }

  #tell(events: readonly RuntimeActivityEvent[]): void {
    this.#armPruning();
    if (events.length === 0) return;
    for (const listener of this.#listeners) listener.events(events);
  }

  /** Old records are removed from the disk too, not only from the view (ACT-045). */
  #armPruning(): void {
    if (this.#timer !== null) return;
    this.#timer = this.#deps.clock.after(
      PRUNE_MS,
      () => {
        this.#timer = null;
        const now = this.#deps.clock.now();
        for (const { store } of this.#stores.values()) this.#prune(store, now);
      },
      { background: true },
    );
  }

  #prune(store: ActorStore, now: number): void {
    if (store.latest.records.size === 0) return;
    const pruned = (content: Content): Change | null => {
      const records = withoutOld(content.records, now);
      return records.size === content.records.size ? null : { content: { ...content, records }, events: [] };
    };
    try {
      store.submit(pruned).catch(() => {});
    } catch {
      // Viewers are told of a damaged file.
    }
    if (store.latest.records.size > 0) this.#armPruning();
  }
}

function first<T>(values: Iterable<T>, isWanted: (value: T) => boolean): T | null {
  for (const value of values) if (isWanted(value)) return value;
  return null;
}

function withoutOld(records: Content["records"], now: number): Content["records"] {
  // Texts of instants sort in the order of the instants.
  const oldest = new Date(now - RECORD_MS).toISOString();
  for (const { event } of records.values()) {
    if (event.ts <= oldest) return new Map([...records].filter(([, one]) => one.event.ts > oldest));
  }
  return records;
}
