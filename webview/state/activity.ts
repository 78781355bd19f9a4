/**
 * What each Actor of the open Group is doing with its tools. The rules are in
 * shared/activity/projection.ts. This file has the timer.
 */
import { Ticker, type TickerItem } from "../../shared/activity/projection.ts";
import type { Release } from "../../shared/stream-client/listeners.ts";
import { Store } from "../controls/store.ts";
import type { Host } from "../hosts/host.ts";

export class Activity extends Store {
  readonly #ticker = new Ticker();
  readonly #now: () => number;
  #items: ReadonlyMap<string, readonly TickerItem[]> = new Map();
  #release: Release | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(now: () => number = Date.now) {
    super();
    this.#now = now;
  }

  open(host: Pick<Host, "watchActivity">, groupId: string): void {
    this.#release = host.watchActivity(groupId, {
      restored: (events) => {
        this.#ticker.restore(events, this.#now());
        this.#show();
      },
      event: (event) => {
        this.#ticker.apply(event, this.#now(), { live: true });
        this.#show();
      },
    });
  }

  /** Oldest change first. */
  of(actorId: string): readonly TickerItem[] {
    return this.#items.get(actorId) ?? [];
  }

  /** Leaving a Group clears it (TICK-010). */
  close(): void {
    this.#release?.();
    this.#release = null;
    this.#ticker.clear();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #show(): void {
    const now = this.#now();
    this.#items = this.#ticker.items(now);
    if (this.#timer !== null) clearTimeout(this.#timer);
    const next = this.#ticker.nextChange(now);
    this.#timer = next === null ? null : setTimeout(() => this.#show(), next + 1);
    this.changed();
  }
}
