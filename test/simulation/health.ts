/** Who has been well, and since when: what starvation of a healthy peer is measured against. */
import type { World } from "./world.ts";

export class Health {
  readonly #world: World;
  /** Troubles by what they trouble: a machine, or the way between two. */
  readonly #troubles = new Map<string, number>();
  /** True time of the last end of a trouble. */
  readonly #since = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Something troubles these machines; returns its end, which may be called again. */
  begin(...names: string[]): () => void {
    for (const name of names) this.#troubles.set(name, (this.#troubles.get(name) ?? 0) + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      for (const name of names) {
        this.#troubles.set(name, this.#troubles.get(name)! - 1);
        this.#since.set(name, this.#world.time);
      }
    };
  }

  /** Since when, in true time, all of these have been well; null when one isn't. */
  since(...names: string[]): number | null {
    if (names.some((name) => (this.#troubles.get(name) ?? 0) > 0)) return null;
    return Math.max(...names.map((name) => this.#since.get(name) ?? 0));
  }
}

/** The way between two machines. */
export function wayOf(one: string, other: string): string {
  return [one, other].sort().join("-");
}
