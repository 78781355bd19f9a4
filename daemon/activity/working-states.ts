/**
 * The working states of all running Actors. They are derived once per second, and only while
 * something runs. A change is recorded in the ledger, and so is the end of a running Actor
 * (WRK-001, WRK-009).
 */

import { type Clock, type Timer, timestamp } from "../../platform/clock.ts";
import { errorFields, errorKind, type Log } from "../../platform/log.ts";
import type { EventData } from "../../shared/events.ts";
import type { StoredActor } from "../../shared/model.ts";
import type { OpenGroup } from "../groups/group.ts";
import type { Launch, LaunchEnd, Launches } from "./launches.ts";
import { type Derived, derive, type Evidence } from "./working-state.ts";

/** What there is to know of an Actor's hooks. */
export type HookEvidence = Pick<Evidence, "hooks" | "storeProblem" | "trouble">;

export interface WorkingStatesDependencies {
  clock: Clock;
  log: Log;
  launches: Launches;
  find(groupId: string): OpenGroup | undefined;
  evidenceOf(group: OpenGroup, actor: StoredActor, launch: Launch): HookEvidence;
  /** Called before each look at a launch. */
  check(launch: Launch): void;
  /** A state or its reason changed. */
  changed(groupId: string, actorId: string): void;
}

export interface WorkingState extends Derived {
  since: string;
  last_activity: string | null;
}

interface Entry extends WorkingState {
  launch: Launch | null;
  /** State that the ledger knows. */
  noted: Derived["state"] | null;
  /** The ledger couldn't take it the last time. */
  isRefused: boolean;
}

const EVERY_MS = 1000;

export class WorkingStates {
  readonly #deps: WorkingStatesDependencies;
  /** By Group, then Actor. */
  readonly #entries = new Map<string, Map<string, Entry>>();
  #timer: Timer | null = null;
  readonly #stops: (() => void)[];
  #noting: Promise<void> = Promise.resolve();

  constructor(deps: WorkingStatesDependencies) {
    this.#deps = deps;
    this.#stops = [
      deps.launches.onStarted(() => this.look()),
      deps.launches.onEnded((launch, end) => this.#ended(launch, end)),
    ];
    this.look();
  }

  /** The state of an Actor whose runner is a terminal. */
  of(groupId: string, actor: StoredActor): WorkingState {
    const entry = this.#entries.get(groupId)?.get(actor.id);
    if (entry !== undefined && entry.state !== "stopped") return entry;
    const end = this.#deps.launches.lastEnd(groupId, actor.id);
    const reason = end?.reason ?? entry?.reason ?? (actor.enabled ? "not running" : "disabled");
    const since = end?.at ?? entry?.since ?? actor.updated_at;
    return { state: "stopped", reason, since, last_activity: entry?.last_activity ?? null };
  }

  /** Derives all states now and, as long as something runs, again in one second. */
  look(): void {
    this.#timer?.cancel();
    this.#timer = null;
    const running = this.#deps.launches.running();
    const changed = new Map<OpenGroup, Map<string, Entry>>();
    for (const launch of running) {
      const group = this.#deps.find(launch.group_id);
      const actor = group?.record.actors.find(
        ({ id, generation }) => id === launch.actor_id && generation === launch.generation,
      );
      if (group === undefined || actor === undefined) continue;
      const entry = this.#derive(group, actor, launch);
      if (entry.noted !== entry.state) put(changed, group, actor.id, entry);
    }
    this.#note(changed);
    if (running.length > 0) {
      this.#timer = this.#deps.clock.after(EVERY_MS, () => this.look(), { background: true });
    }
  }

  /** Actors that are gone, or a Group that is, have no state. */
  forget(groupId: string, actors: readonly StoredActor[]): void {
    const entries = this.#entries.get(groupId);
    if (entries === undefined) return;
    const there = new Set(actors.map(({ id }) => id));
    for (const id of entries.keys()) if (!there.has(id)) entries.delete(id);
    if (entries.size === 0) this.#entries.delete(groupId);
  }

  /** Resolves when the ledger has taken what was noted. */
  settled(): Promise<void> {
    return this.#noting;
  }

  close(): void {
    this.#timer?.cancel();
    for (const stop of this.#stops.splice(0)) stop();
  }

  #derive(group: OpenGroup, actor: StoredActor, launch: Launch): Entry {
    const { launches, clock } = this.#deps;
    try {
      this.#deps.check(launch);
      const { hooks, storeProblem, trouble } = this.#deps.evidenceOf(group, actor, launch);
      const derived = derive({
        launch,
        committed: launches.committed(group.group_id, actor.id),
        isAlive: launch.pid !== null && launches.isAlive(launch),
        hooks,
        storeProblem,
        trouble,
        quietSeconds: launches.quietSeconds(launch),
        needs: launches.needs(launch),
        now: clock.now(),
      });
      return this.#set(group.group_id, actor.id, derived, launch, hooks?.at ?? null);
    } catch (error) {
      // The others are looked at all the same, and this one again in a second.
      const reason = `svc can't tell what it does (${errorKind(error)}); the daemon's log says where`;
      if (this.#entries.get(group.group_id)?.get(actor.id)?.reason !== reason)
        this.#log("working state", group.group_id, actor.id, error);
      return this.#set(group.group_id, actor.id, { state: "unavailable", reason }, launch, null);
    }
  }

  #log(what: string, groupId: string, actorId: string, error: unknown): void {
    this.#deps.log.warn(what, { group_id: groupId, actor_id: actorId, ...errorFields(error) });
  }

  #set(
    groupId: string,
    actorId: string,
    { state, reason, trouble }: Derived,
    launch: Launch | null,
    lastActivity: string | null,
  ): Entry {
    let entries = this.#entries.get(groupId);
    if (entries === undefined) {
      entries = new Map();
      this.#entries.set(groupId, entries);
    }
    const before = entries.get(actorId);
    const isNew = before?.state !== state;
    const entry: Entry = {
      state,
      reason,
      ...(trouble === undefined ? {} : { trouble }),
      since: before === undefined || isNew ? timestamp(this.#deps.clock) : before.since,
      last_activity: lastActivity ?? before?.last_activity ?? null,
      launch,
      noted: before?.noted ?? null,
      isRefused: before?.isRefused ?? false,
    };
    entries.set(actorId, entry);
    if (isNew || before.reason !== reason) this.#tellChanged(groupId, actorId);
    return entry;
  }

  /** What a listener throws is no matter of the Actor. */
  #tellChanged(groupId: string, actorId: string): void {
    try {
      this.#deps.changed(groupId, actorId);
    } catch (error) {
      this.#log("working state told", groupId, actorId, error);
    }
  }

  #ended({ group_id: groupId, actor_id: actorId }: Launch, { reason }: LaunchEnd): void {
    const group = this.#deps.find(groupId);
    // A late report from an earlier process says nothing about the current one.
    if (group === undefined || this.#deps.launches.current(groupId, actorId) !== null) return;
    const entry = this.#set(groupId, actorId, { state: "stopped", reason }, null, null);
    this.#note(new Map([[group, new Map([[actorId, entry]])]]));
  }

  #note(changed: ReadonlyMap<OpenGroup, ReadonlyMap<string, Entry>>): void {
    for (const [group, entries] of changed) {
      const noted = [...entries].map(([id, entry]) => ({ id, entry, state: entry.state, was: entry.noted }));
      const actors = noted.map(({ id, entry }) => this.#row(id, entry));
      for (const { entry, state } of noted) entry.noted = state;
      const append = async (): Promise<void> => {
        try {
          const scopeKey = group.record.active_scope_key ?? "";
          await group.ledger.append({
            kind: "actor.activity",
            scope_key: scopeKey,
            by: "system",
            data: { actors },
          });
          for (const { id } of noted) this.#current(group, id, (entry) => (entry.isRefused = false));
        } catch (error) {
          for (const { id, was } of noted) {
            this.#current(group, id, (entry) => {
              if (!entry.isRefused) this.#deps.log.warn("actor.activity", errorFields(error));
              entry.isRefused = true;
              entry.noted = was;
            });
          }
        }
      };
      this.#noting = this.#noting.then(append);
    }
  }

  #current({ group_id: groupId }: OpenGroup, actorId: string, change: (entry: Entry) => void): void {
    const entry = this.#entries.get(groupId)?.get(actorId);
    if (entry !== undefined) change(entry);
  }

  #row(
    id: string,
    { state, reason, since, launch, last_activity: lastActivity }: Entry,
  ): EventData<"actor.activity">["actors"][number] {
    const { clock, launches } = this.#deps;
    const hookIdle = lastActivity === null ? null : (clock.now() - Date.parse(lastActivity)) / 1000;
    const quiet = launch === null ? null : launches.quietSeconds(launch);
    const idle = [hookIdle, quiet].filter((seconds) => seconds !== null);
    return {
      id,
      running: launch !== null,
      runner_effective: "pty",
      idle_seconds: idle.length === 0 ? null : Math.max(0, Math.floor(Math.min(...idle))),
      effective_working_state: state,
      effective_working_reason: reason,
      effective_working_updated_at: since,
    };
  }
}

function put(
  changed: Map<OpenGroup, Map<string, Entry>>,
  group: OpenGroup,
  actorId: string,
  entry: Entry,
): void {
  const entries = changed.get(group);
  if (entries === undefined) changed.set(group, new Map([[actorId, entry]]));
  else entries.set(actorId, entry);
}
