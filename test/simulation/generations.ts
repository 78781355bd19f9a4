/** The generations that each Group has had: a reset begins one, and nothing leads back. */
import { LIMITS } from "../../shared/limits.ts";
import { SLACK_MS } from "./account-oracle.ts";
import type { Delivery } from "./delivery.ts";
import type { World } from "./world.ts";

interface Known {
  now: string;
  /** True time at which it was first seen. */
  since: number;
  before: Set<string>;
}

export class Generations {
  readonly #world: World;
  readonly #groups = new Map<string, Known>();

  constructor(world: World) {
    this.#world = world;
  }

  /** The Group's generation as it was seen last; empty for one that nobody has seen. */
  now(groupId: string): string {
    return this.#groups.get(groupId)?.now ?? "";
  }

  /** Notes what the Group is now. False when it is again what it was before a reset. */
  follow(groupId: string, generation: string): boolean {
    const known = this.#groups.get(groupId);
    const since = this.#world.time;
    if (known === undefined) this.#groups.set(groupId, { now: generation, since, before: new Set() });
    else if (known.now !== generation) {
      const isNew = !known.before.has(generation);
      known.before.add(known.now);
      known.now = generation;
      known.since = since;
      return isNew;
    }
    return true;
  }

  /**
   * True time from which a Group says of a message that it never came. It doesn't for as long as
   * messages from before its reset may be under way. `opened`: true time at which it was opened, if
   * all that is known there of the reset's time is that it was before that; null otherwise.
   */
  forgottenAt(groupId: string, opened: number | null): number {
    const known = this.#groups.get(groupId);
    if (known === undefined || known.before.size === 0) return 0;
    return (
      Math.max(known.since, opened ?? 0) +
      (LIMITS.connect.deliverSeconds + LIMITS.connect.skewSeconds) * 1000 +
      SLACK_MS
    );
  }

  /**
   * For how many milliseconds a message had been waiting when its target was reset. Null if it was
   * written for the Group as it is, or in the same moment, by clocks that may differ.
   */
  beforeReset({ target, since }: Pick<Delivery, "target" | "since">): number | null {
    const known = this.#groups.get(target.group_id);
    if (known === undefined || !known.before.has(target.generation)) return null;
    const before = known.since - since;
    return before < SLACK_MS ? null : before;
  }
}
