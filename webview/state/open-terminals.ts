/**
 * Which terminals of a Group are open, in which order, how high the drawer is, and whether it fills
 * the page. Remembered per Group and browser.
 */

import { Store } from "../controls/store.ts";
import type { Host } from "../hosts/host.ts";

export const DRAWER = { least: 120, most: 900, usual: 280 } as const;
/** More panes beside each other would be too narrow to read. */
const PANE_WIDTH = 420;

export class Terminals extends Store {
  readonly #host: Pick<Host, "remember" | "recall">;
  readonly #groupId: string;
  #open: string[];
  #height: number;
  /** Where the person writes, or did when the terminal was last in view. */
  readonly #writing = new Set<string>();
  /** The one whose tab is chosen. If there is room, others are beside it. */
  current: string | null;
  /** The terminals fill the page. */
  full = false;

  constructor(host: Pick<Host, "remember" | "recall">, groupId: string) {
    super();
    this.#host = host;
    this.#groupId = groupId;
    const kept = host.recall(`terminals/${groupId}`);
    this.#open = Array.isArray(kept) ? kept.filter((id): id is string => typeof id === "string") : [];
    this.current = this.#open[0] ?? null;
    const height = host.recall("terminals-height");
    this.#height = typeof height === "number" ? clampDrawer(height) : DRAWER.usual;
  }

  get open(): readonly string[] {
    return this.#open;
  }

  get height(): number {
    return this.#height;
  }

  /**
   * The terminals to show in `width` pixels: the current one, and as many neighbours as there is
   * room for.
   */
  shown(width: number): readonly string[] {
    const room = Math.max(1, Math.floor(width / PANE_WIDTH));
    const at = this.current === null ? -1 : this.#open.indexOf(this.current);
    if (at < 0) return this.#open.slice(0, room);
    const from = Math.max(0, Math.min(at, this.#open.length - room));
    return this.#open.slice(from, from + room);
  }

  show(actorId: string): void {
    if (!this.#open.includes(actorId)) this.#keep([...this.#open, actorId]);
    this.current = actorId;
    this.changed();
  }

  close(actorId: string): void {
    const at = this.#open.indexOf(actorId);
    if (at < 0) return;
    this.#keep(this.#open.filter((id) => id !== actorId));
    this.#writing.delete(actorId);
    if (this.current === actorId) this.current = this.#open[at] ?? this.#open[at - 1] ?? null;
    if (this.#open.length === 0) this.full = false;
    this.changed();
  }

  /** Only Actors that still exist and have a terminal keep their place. */
  retain(actorIds: ReadonlySet<string>): void {
    for (const id of this.#open) if (!actorIds.has(id)) this.close(id);
  }

  /** The person begins or ends writing there. */
  writes(actorId: string, writing: boolean): void {
    if (writing) this.#writing.add(actorId);
    else this.#writing.delete(actorId);
  }

  wrote(actorId: string): boolean {
    return this.#writing.has(actorId);
  }

  /** The person wants to see the feed again. */
  restore(): void {
    if (this.full) this.toggleFull();
  }

  toggleFull(): void {
    this.full = !this.full;
    this.changed();
  }

  setHeight(height: number): void {
    this.#height = clampDrawer(height);
    this.#host.remember("terminals-height", this.#height);
    this.changed();
  }

  #keep(open: string[]): void {
    this.#open = open;
    this.#host.remember(`terminals/${this.#groupId}`, open.length === 0 ? null : open);
  }
}

function clampDrawer(height: number): number {
  return Math.round(Math.min(DRAWER.most, Math.max(DRAWER.least, height)));
}
