/** The Groups that the viewer may see, with the counts that the daemon keeps; and what the global stream says of their Actors. */
import type { GroupSummary } from "../../shared/operations/groups.ts";
import type { Host, Release } from "../host.ts";
import { Store } from "./store.ts";

/** A Group that is being reset goes and comes again; nobody is to be led away from it meanwhile. */
const GONE_AFTER_MS = 600;

export class GroupsStore extends Store {
  readonly #host: Pick<Host, "call" | "watchGroups">;
  #groups = new Map<string, GroupSummary>();
  #release: Release | null = null;
  /** Said to be gone, but perhaps only for the moment. */
  readonly #leaving = new Set<string>();
  #reading = 0;
  readonly #onActors: (groupId: string | null) => void;
  loaded = false;

  /** `onActors` is told whose Actors changed; null after a break, when any may have (WRK-012). */
  constructor(
    host: Pick<Host, "call" | "watchGroups">,
    onActors: (groupId: string | null) => void = () => {},
  ) {
    super();
    this.#host = host;
    this.#onActors = onActors;
  }

  /** By title, so that nothing moves under the pointer when messages come. */
  get list(): GroupSummary[] {
    return [...this.#groups.values()].sort(
      (a, b) =>
        a.title.localeCompare(b.title, undefined, { numeric: true }) || a.group_id.localeCompare(b.group_id),
    );
  }

  find(groupId: string | null): GroupSummary | undefined {
    return groupId === null ? undefined : this.#groups.get(groupId);
  }

  /** What needs the person, over all Groups. */
  get attention(): number {
    let sum = 0;
    for (const group of this.#groups.values()) sum += group.attention;
    return sum;
  }

  open(): void {
    this.#release ??= this.#host.watchGroups({
      restart: () => {
        void this.refresh();
        this.#onActors(null);
      },
      actors: this.#onActors,
      group: (summary) => {
        this.#leaving.delete(summary.group_id);
        this.#groups.set(summary.group_id, summary);
        this.changed();
      },
      gone: (groupId) => {
        this.#leaving.add(groupId);
        setTimeout(() => this.#leave(groupId), GONE_AFTER_MS);
      },
    });
  }

  close(): void {
    this.#release?.();
    this.#release = null;
  }

  #leave(groupId: string): void {
    if (this.#leaving.delete(groupId) && this.#groups.delete(groupId)) this.changed();
  }

  /** The whole list again: a new connection may have missed a Group that went. */
  async refresh(): Promise<void> {
    const reading = ++this.#reading;
    try {
      const { groups } = await this.#host.call("group_list", {});
      if (reading !== this.#reading) return;
      this.#groups = new Map(groups.map((group) => [group.group_id, group]));
      this.loaded = true;
      this.changed();
    } catch {
      // The connection says so; the next one reads again.
    }
  }
}
