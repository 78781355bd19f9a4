/**
 * The Groups that the viewer may see, with the counts that the daemon keeps; and what the global
 * stream says about their Actors.
 */
import type { GroupSummary } from "../../shared/operations/groups.ts";
import type { Release } from "../../shared/stream-client/listeners.ts";
import { Store } from "../controls/store.ts";
import type { Host } from "../hosts/host.ts";

/**
 * Changes within this time are shown together, because each Group is reported separately when a
 * connection begins.
 */
const TOGETHER_MS = 50;
/** Created once: creating one costs more than sorting with it. */
const COLLATOR = new Intl.Collator(undefined, { numeric: true });

type Order = (a: GroupSummary, b: GroupSummary) => number;

const byId: Order = (a, b) => (a.group_id === b.group_id ? 0 : a.group_id < b.group_id ? -1 : 1);
const byTitle: Order = (a, b) => COLLATOR.compare(a.title, b.title) || byId(a, b);

/** When something last happened there. Times of one format compare as texts. */
function activeAt(group: GroupSummary): string {
  return group.last_event?.ts ?? group.created_at;
}

/** Latest first. */
export const byActivity: Order = (a, b) =>
  activeAt(a) === activeAt(b) ? byId(a, b) : activeAt(a) > activeAt(b) ? -1 : 1;

/** What needs the person, then what they haven't read, then the rest, each latest first. */
export const byAttention: Order = (a, b) =>
  b.attention - a.attention || Number(b.unread > 0) - Number(a.unread > 0) || byActivity(a, b);

const ORDERS = { title: byTitle, activity: byActivity, attention: byAttention } as const;
export type GroupOrder = keyof typeof ORDERS;

/** A choice that was remembered. */
export function readOrder(kept: unknown): GroupOrder {
  return kept === "activity" || kept === "attention" ? kept : "title";
}

export class GroupsStore extends Store {
  readonly #host: Pick<Host, "call" | "watchGroups">;
  #groups = new Map<string, GroupSummary>();
  /** By title unless the person chose otherwise, because then nothing moves when messages come. */
  #order: GroupOrder = "title";
  #sorted: GroupSummary[] = [];
  #telling: ReturnType<typeof setTimeout> | null = null;
  #release: Release | null = null;
  #reading = 0;
  /** What the stream said while the list was being read: it is newer than the list. */
  #heard: Map<string, GroupSummary> | null = null;
  readonly #onActors: (groupId: string | null) => void;
  loaded = false;

  /**
   * `onActors` gets the Group whose Actors changed; null after a break, when any may have
   * (WRK-012).
   */
  constructor(
    host: Pick<Host, "call" | "watchGroups">,
    onActors: (groupId: string | null) => void = () => {},
  ) {
    super();
    this.#host = host;
    this.#onActors = onActors;
  }

  get list(): readonly GroupSummary[] {
    return this.#sorted;
  }

  get order(): GroupOrder {
    return this.#order;
  }

  sort(order: GroupOrder): void {
    this.#order = order;
    this.#sorted = this.#sorted.toSorted(ORDERS[order]);
    this.changed();
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
        this.#heard?.set(summary.group_id, summary);
        this.#put(summary);
        this.#tell();
      },
      gone: (groupId) => this.forget(groupId),
    });
  }

  close(): void {
    this.#release?.();
    this.#release = null;
    if (this.#telling !== null) clearTimeout(this.#telling);
  }

  /**
   * Puts the Group in its place. Only a new one, or one that moves, needs a search for it.
   */
  #put(summary: GroupSummary): void {
    const before = this.#groups.get(summary.group_id);
    this.#groups.set(summary.group_id, summary);
    const sorted = [...this.#sorted];
    const at = before === undefined ? -1 : sorted.indexOf(before);
    const order = ORDERS[this.#order];
    if (before !== undefined && order(before, summary) === 0) sorted[at] = summary;
    else {
      if (at >= 0) sorted.splice(at, 1);
      let [low, high] = [0, sorted.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (order(sorted[middle]!, summary) < 0) low = middle + 1;
        else high = middle;
      }
      sorted.splice(low, 0, summary);
    }
    this.#sorted = sorted;
  }

  #tell(): void {
    this.#telling ??= setTimeout(() => {
      this.#telling = null;
      this.changed();
    }, TOGETHER_MS);
  }

  /** It is gone, as the daemon says or because the person deleted it here. */
  forget(groupId: string): void {
    this.#heard?.delete(groupId);
    if (!this.#groups.delete(groupId)) return;
    this.#sorted = this.#sorted.filter((group) => group.group_id !== groupId);
    this.changed();
  }

  /** Reads the whole list again, because a new connection may have missed a Group's removal. */
  async refresh(): Promise<void> {
    const reading = ++this.#reading;
    const heard = (this.#heard = new Map<string, GroupSummary>());
    try {
      const { groups } = await this.#host.call("group_list", {});
      if (reading !== this.#reading) return;
      this.#heard = null;
      this.#groups = new Map(groups.map((group) => [group.group_id, group]));
      this.#sorted = groups.toSorted(ORDERS[this.#order]);
      for (const summary of heard.values()) this.#put(summary);
      this.loaded = true;
      this.changed();
    } catch {
      // The connection shows that. The next one reads again.
    }
  }
}
