/**
 * How the columns are arranged: widths, what is collapsed, which page a narrow window shows. Pure
 * except for what it remembers.
 */

import { Store } from "../../controls/store.ts";
import type { Host } from "../../hosts/host.ts";

/**
 * `wide` has three columns from 1,100 px, `medium` two from 700, `narrow` one with a bar at the
 * bottom.
 */
export type Breadth = "wide" | "medium" | "narrow";
export type Page = "groups" | "feed" | "actors" | "terminals";
export type Side = "groups" | "actors";

export const COLUMN = { least: 180, most: 480, groups: 240, actors: 280 } as const;

export function breadthOf(width: number): Breadth {
  if (width >= 1100) return "wide";
  return width >= 700 ? "medium" : "narrow";
}

export function clampColumn(width: number): number {
  return Math.round(Math.min(COLUMN.most, Math.max(COLUMN.least, width)));
}

interface Arrangement {
  groups: number;
  actors: number;
  collapsed: Side[];
}

export class Layout extends Store {
  readonly #host: Pick<Host, "remember" | "recall">;
  #arrangement: Arrangement;
  breadth: Breadth;
  page: Page = "feed";
  /** What the single side column of a medium window shows. */
  side: Side = "groups";

  constructor(host: Pick<Host, "remember" | "recall">, width: number) {
    super();
    this.#host = host;
    this.#arrangement = readArrangement(host.recall("layout"));
    this.breadth = breadthOf(width);
  }

  width(side: Side): number {
    return this.#arrangement[side];
  }

  collapsed(side: Side): boolean {
    return this.#arrangement.collapsed.includes(side);
  }

  resize(width: number): void {
    const breadth = breadthOf(width);
    if (breadth === this.breadth) return;
    this.breadth = breadth;
    this.changed();
  }

  setWidth(side: Side, width: number): void {
    this.#arrange({ [side]: clampColumn(width) });
  }

  toggle(side: Side): void {
    const { collapsed } = this.#arrangement;
    this.#arrange({
      collapsed: collapsed.includes(side)
        ? collapsed.filter((entry) => entry !== side)
        : [...collapsed, side],
    });
  }

  show(page: Page): void {
    this.page = page;
    if (page === "groups" || page === "actors") this.side = page;
    this.changed();
  }

  #arrange(change: Partial<Arrangement>): void {
    this.#arrangement = { ...this.#arrangement, ...change };
    this.#host.remember("layout", this.#arrangement);
    this.changed();
  }
}

function readArrangement(value: unknown): Arrangement {
  const kept = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  const width = (side: Side) => (typeof kept[side] === "number" ? clampColumn(kept[side]) : COLUMN[side]);
  const collapsed = Array.isArray(kept["collapsed"]) ? kept["collapsed"] : [];
  return {
    groups: width("groups"),
    actors: width("actors"),
    collapsed: (["groups", "actors"] as const).filter((side) => collapsed.includes(side)),
  };
}
