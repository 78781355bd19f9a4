/** Everything that is left to chance, from one seed: streams with names, so that one more draw here changes nothing there. */
import { createHash } from "node:crypto";
import type { Random } from "../../platform/random.ts";

export class Chance {
  readonly #name: string;
  readonly #state: Uint32Array;

  constructor(name: string) {
    this.#name = name;
    const digest = createHash("sha256").update(name).digest();
    this.#state = Uint32Array.from([0, 4, 8, 12], (at) => digest.readUInt32LE(at));
  }

  /** An independent stream. */
  stream(name: string): Chance {
    return new Chance(`${this.#name}/${name}`);
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
    return least + Math.floor(this.fraction() * (most - least + 1));
  }

  /** Mostly small, now and then up to `most`: how long things take. */
  duration(least: number, most: number): number {
    return Math.round(least + (most - least) * this.fraction() ** 4);
  }

  one<Item>(items: readonly Item[]): Item {
    return items[this.between(0, items.length - 1)]!;
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
    return Uint8Array.from({ length: count }, () => this.#next() & 255);
  }
}

/** What a simulated daemon draws. */
export class SimulatedRandom implements Random {
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
