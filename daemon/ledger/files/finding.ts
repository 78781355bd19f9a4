/** Collects what is wrong with a ledger while it is read. */
import type { LedgerDamage } from "../../../shared/ledger-damage.ts";
import { LIMITS } from "../../../shared/limits.ts";

export class Finding {
  readonly #problems: string[] = [];
  readonly #files = new Set<string>();
  #more = 0;
  #unreadable = 0;
  #missing: readonly number[] = [];
  #unplaced = 0;

  /** `events` are missing by it alone. */
  note(problem: string, file: string, events: number): void {
    this.#files.add(file);
    this.#unreadable += events;
    if (this.#problems.includes(problem)) return;
    if (this.#problems.length < LIMITS.ledgerDamage.problems) this.#problems.push(problem);
    else this.#more += 1;
  }

  /** A line that isn't an event of the Group. */
  badLine(file: string, position: number): void {
    this.note(`${file} has a damaged line at byte ${position}.`, file, 1);
  }

  /** What was recorded and isn't there: places in ascending order, and how many more. */
  expect({ ordinals, unplaced }: { ordinals: readonly number[]; unplaced: number }): void {
    this.#missing = ordinals;
    this.#unplaced = unplaced;
  }

  /** Null when nothing was noted. */
  damage(): LedgerDamage | null {
    if (this.#problems.length === 0) return null;
    const missing = this.#missing.length + this.#unplaced;
    return {
      missing_events: Math.max(missing, this.#unreadable),
      missing: rangesOf(this.#missing),
      files: [...this.#files],
      problems:
        this.#more === 0 ? this.#problems : [...this.#problems, `There are ${this.#more} more problems.`],
    };
  }
}

/** Of ascending numbers; the first of them, if there are many. */
export function rangesOf(ordinals: readonly number[]): { first: number; last: number }[] {
  const ranges: { first: number; last: number }[] = [];
  for (const ordinal of ordinals) {
    const range = ranges.at(-1);
    if (range !== undefined && range.last === ordinal - 1) range.last = ordinal;
    else if (ranges.length === LIMITS.ledgerDamage.ranges) break;
    else ranges.push({ first: ordinal, last: ordinal });
  }
  return ranges;
}
