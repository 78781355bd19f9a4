/** Simulated time: what happens next, and the clocks of daemons, which may go wrong. */
import type { Clock, Timer } from "../../platform/clock.ts";
import { Chance } from "../support/chance.ts";
import { Turns } from "./turns.ts";

interface Happening {
  at: number;
  order: number;
  task: () => void;
}

const START = Date.parse("2026-01-01T00:00:00.000Z");

export class World {
  readonly chance: Chance;
  readonly turns = new Turns();
  /** A binary heap by time, then by order. */
  readonly #next: Happening[] = [];
  #order = 0;
  /** True milliseconds since the beginning. */
  time = 0;
  /** Happenings so far. */
  steps = 0;
  readonly story: string[] = [];
  /** Looks at everything after every turn. */
  look: () => void = () => {};

  constructor(seed: number) {
    this.chance = new Chance(`seed ${seed}`);
  }

  /** True time as a clock that is right shows it. */
  get now(): number {
    return START + this.time;
  }

  /** Tells what happens, for whoever reads the story of a seed. */
  tell(what: string): void {
    const seconds = (this.time / 1000).toFixed(3).padStart(9);
    this.story.push(`${seconds} ${what}`);
  }

  after(milliseconds: number, task: () => void): Timer {
    this.#order += 1;
    const happening: Happening = { at: this.time + Math.max(0, milliseconds), order: this.#order, task };
    push(this.#next, happening);
    return { cancel: () => void (happening.task = nothing) };
  }

  /** Goes on until `end`, or until `enough`. */
  async run(end: number, enough: () => boolean = () => false): Promise<void> {
    await this.turns.rest(this.look);
    while (!enough()) {
      const next = this.#next[0];
      if (next === undefined || next.at > end) break;
      pop(this.#next);
      if (next.task === nothing) continue;
      this.time = next.at;
      this.steps += 1;
      next.task();
      await this.turns.rest(this.look);
    }
    if (!enough()) this.time = Math.max(this.time, end);
  }
}

function nothing(): void {}

function isBefore(one: Happening, other: Happening): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}

function push(heap: Happening[], item: Happening): void {
  let at = heap.push(item) - 1;
  while (at > 0) {
    const parent = (at - 1) >>> 1;
    if (!isBefore(item, heap[parent]!)) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = item;
}

function pop(heap: Happening[]): void {
  const last = heap.pop()!;
  if (heap.length === 0) return;
  let at = 0;
  for (;;) {
    let child = at * 2 + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
    if (!isBefore(heap[child]!, last)) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = last;
}

/** One machine's wall clock: off by something, and made to jump. */
export interface Wall {
  offset: number;
}

/** The clock of one run of a daemon. Ends with it: what was put off never happens. */
export class SimulatedClock implements Clock {
  readonly #world: World;
  readonly #wall: Wall;
  readonly #begin: number;
  isOver = false;

  constructor(world: World, wall: Wall) {
    this.#world = world;
    this.#wall = wall;
    this.#begin = world.time - 1000;
  }

  now(): number {
    return Math.round(this.#world.now + this.#wall.offset);
  }

  monotonic(): number {
    return this.#world.time - this.#begin;
  }

  after(milliseconds: number, task: () => void): Timer {
    return this.#world.after(milliseconds, () => {
      if (!this.isOver) task();
    });
  }
}
