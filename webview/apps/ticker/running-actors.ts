/**
 * Actors of all Groups that do something or wait for the person, with what each does right now.
 * Activity is followed only for Groups that have such Actors.
 */
import type { TickerItem } from "../../../shared/activity/projection.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { ActorWithPresence } from "../../../shared/operations/actors.ts";
import { Store } from "../../controls/store.ts";
import type { Host } from "../../hosts/host.ts";
import { Activity } from "../../state/activity.ts";
import { GroupsStore } from "../../state/group-list.ts";

type State = ActorWithPresence["presence"]["state"];
/** In the order in which they are listed. */
const RUNNING: readonly State[] = ["waiting", "stalled", "working", "starting"];
/** Room for the Groups and the connection. */
const MOST_GROUPS = LIMITS.webview.followed - 4;

export interface RunningActor {
  groupId: string;
  groupTitle: string;
  actor: ActorWithPresence;
  items: readonly TickerItem[];
}

interface Known {
  actors: readonly ActorWithPresence[];
  activity: Activity | null;
  reading: boolean;
  again: boolean;
}

export class RunningActors extends Store {
  readonly #host: Host;
  readonly #groups: GroupsStore;
  readonly #known = new Map<string, Known>();

  constructor(host: Host) {
    super();
    this.#host = host;
    this.#groups = new GroupsStore(host, (groupId) => {
      if (groupId !== null) this.#read(groupId);
      else for (const id of this.#known.keys()) this.#read(id);
    });
    this.#groups.subscribe(() => this.#onGroups());
  }

  open(): void {
    this.#groups.open();
  }

  close(): void {
    this.#groups.close();
    for (const { activity } of this.#known.values()) activity?.close();
    this.#known.clear();
  }

  get loaded(): boolean {
    return this.#groups.loaded && [...this.#known.values()].every(({ reading }) => !reading);
  }

  /** Those that wait for the person first, each state by the time since when. */
  get list(): RunningActor[] {
    const rank = ({ actor }: RunningActor) => RUNNING.indexOf(actor.presence.state);
    const since = ({ actor }: RunningActor) => actor.presence.since ?? "";
    return this.#groups.list
      .flatMap(({ group_id: groupId, title }) => {
        const known = this.#known.get(groupId);
        return (known?.actors ?? []).map((actor) => ({
          groupId,
          groupTitle: title,
          actor,
          items: known?.activity?.of(actor.id) ?? [],
        }));
      })
      .filter((one) => rank(one) >= 0 || one.items.length > 0)
      .sort((one, other) => order(rank(one)) - order(rank(other)) || since(one).localeCompare(since(other)));
  }

  #onGroups(): void {
    const there = new Set(this.#groups.list.map(({ group_id: groupId }) => groupId));
    for (const [groupId, { activity }] of this.#known) {
      if (there.has(groupId)) continue;
      activity?.close();
      this.#known.delete(groupId);
    }
    for (const groupId of there) {
      if (this.#known.has(groupId)) continue;
      this.#known.set(groupId, { actors: [], activity: null, reading: false, again: false });
      this.#read(groupId);
    }
    this.changed();
  }

  /** Reads a Group's Actors, once more if something changed in the meantime. */
  #read(groupId: string): void {
    const known = this.#known.get(groupId);
    if (known === undefined) return;
    known.again = known.reading;
    if (known.reading) return;
    known.reading = true;
    this.#host
      .call("actor_list", { group_id: groupId })
      .then(({ actors }) => {
        known.actors = actors;
      })
      // Offline or gone: the stream says when to read again.
      .catch(() => {})
      .finally(() => {
        known.reading = false;
        if (this.#known.get(groupId) !== known) return;
        this.#follow(groupId, known);
        this.changed();
        if (known.again) this.#read(groupId);
      });
  }

  #follow(groupId: string, known: Known): void {
    const isRunning = known.actors.some(({ presence }) => RUNNING.includes(presence.state));
    if (!isRunning) {
      // What has just ended stays for its seconds.
      if (known.activity !== null && known.actors.every(({ id }) => known.activity?.of(id).length === 0)) {
        known.activity.close();
        known.activity = null;
      }
      return;
    }
    const followed = [...this.#known.values()].filter(({ activity }) => activity !== null).length;
    if (known.activity !== null || followed >= MOST_GROUPS) return;
    known.activity = new Activity();
    known.activity.subscribe(() => {
      this.changed();
      this.#follow(groupId, known);
    });
    known.activity.open(this.#host, groupId);
  }
}

/** Whoever only has something that just ended comes last. */
function order(rank: number): number {
  return rank < 0 ? RUNNING.length : rank;
}
