/** Chance with a seed, so that a failed run can be repeated: `WITHSTAND_SEED=<seed> npm run test:withstand`. */
import { randomInt } from "node:crypto";

export class Seeded {
  readonly seed: number;
  #state: number;

  constructor(seed: number) {
    this.seed = seed;
    this.#state = seed >>> 0;
  }

  /** From `WITHSTAND_SEED`, else fresh. */
  static fromEnvironment(): Seeded {
    const given = Number(process.env["WITHSTAND_SEED"]);
    return new Seeded(Number.isSafeInteger(given) && given > 0 ? given : randomInt(1, 2 ** 31));
  }

  /** Another stream that follows from this one's seed and a name. */
  fork(name: string): Seeded {
    let hash = this.seed >>> 0;
    for (const character of name) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193) >>> 0;
    return new Seeded(hash);
  }

  /** 0 to 1, without 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer from 0 to `limit` - 1. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]!;
  }
}

/** Runs `body`; a failure names the seed that repeats it. */
export async function withSeed(seeded: Seeded, body: () => Promise<void>): Promise<void> {
  try {
    await body();
  } catch (error) {
    if (error instanceof Error)
      error.message = `${error.message}\n(repeat with WITHSTAND_SEED=${seeded.seed})`;
    throw error;
  }
}
