/**
 * Everything that is left to chance, from one seed: streams with names, so that one more draw here
 * changes nothing there. A failed run of the long suites is repeated by `WITHSTAND_SEED=<seed> npm
 * run test:withstand`.
 */
import { createHash, randomInt } from "node:crypto";
import type { Random } from "../../platform/random.ts";

export class Chance {
  /** The seed and the names of the streams that led here. */
  readonly name: string;
  readonly #state: Uint32Array;

  constructor(name: string) {
    this.name = name;
    const digest = createHash("sha256").update(name).digest();
    this.#state = Uint32Array.from([0, 4, 8, 12], (at) => digest.readUInt32LE(at));
  }

  /** An independent stream. */
  stream(name: string): Chance {
    return new Chance(`${this.name}/${name}`);
  }

  /** xoshiro128++. */
  #next(): number {
    const s = this.#state;
    const sum = (s[0]! + s[3]!) >>> 0;
    const result = (((sum << 7) | (sum >>> 25)) + s[0]!) >>> 0;
    const t = (s[1]! << 9) >>> 0;
    s[2]! ^= s[0]!;
    s[3]! ^= s[1]!;
    s[1]! ^= s[2]!;
    s[0]! ^= s[3]!;
    s[2]! ^= t;
    s[3] = (s[3]! << 11) | (s[3]! >>> 21);
    return result;
  }

  /** At least 0, below 1. */
  fraction(): number {
    return this.#next() / 2 ** 32;
  }

  /** Whether something of this probability happens. */
  happens(probability: number): boolean {
    return this.fraction() < probability;
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  /** A whole number from 0 to `limit` - 1. */
  below(limit: number): number {
    return Math.floor(this.fraction() * limit);
  }

  /** Mostly small, now and then up to `most`: how long things take. */
  duration(least: number, most: number): number {
    return Math.round(least + (most - least) * this.fraction() ** 4);
  }

  one<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]!;
  }

  /** One of the names, by weight. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const names = Object.keys(weights) as Name[];
    let left = this.fraction() * names.reduce((sum, name) => sum + weights[name], 0);
    for (const name of names) {
      left -= weights[name];
      if (left < 0) return name;
    }
    return names.at(-1)!;
  }

  bytes(count: number): Uint8Array {
    const bytes = new Uint8Array(count);
    for (let at = 0; at < count; at += 1) bytes[at] = this.#next() & 255;
    return bytes;
  }
}

/** What a daemon, or a part of it, draws. */
export class SeededRandom implements Random {
  readonly #chance: Chance;

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  bytes(count: number): Uint8Array {
    return this.#chance.bytes(count);
  }

  uuid(): string {
    const bytes = Buffer.from(this.#chance.bytes(16));
    bytes[6] = (bytes[6]! & 15) | 64;
    bytes[8] = (bytes[8]! & 63) | 128;
    const hex = bytes.toString("hex");
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
  }
}

/** A number for one run of a long suite: `WITHSTAND_SEED`, else fresh. */
export function seedOfRun(): number {
  const given = Number(process.env["WITHSTAND_SEED"]);
  return Number.isSafeInteger(given) && given > 0 ? given : randomInt(1, 2 ** 31);
}

/** Runs `body` with the seed of the run; a failure names it. */
export async function withSeed(body: (chance: Chance, seed: number) => Promise<void>): Promise<void> {
  const seed = seedOfRun();
  try {
    await body(new Chance(String(seed)), seed);
  } catch (error) {
    if (error instanceof Error) error.message = `${error.message}\n(repeat with WITHSTAND_SEED=${seed})`;
    throw error;
  }
}
