/**
 * What the bench returns: figures that each compare two things timed in the same run
 * (docs/measured.md).
 */

export interface Figure {
  name: string;
  /** Of `value` and `against_value`. */
  unit: string;
  value: number;
  /** What it is compared with. */
  against: string;
  against_value: number;
  /** `value / against_value`: what `goal` and `floor` speak of. */
  ratio: number;
  goal: number;
  /** Worse than this counts as not done. */
  floor: number;
  better: "higher" | "lower";
  /** The ratio is not worse than the floor. */
  holds: boolean;
}

export interface BenchOptions {
  /** Few and small rounds: shows that every figure can be measured, not what it is worth. */
  short: boolean;
  /** What `--only` selects: figures whose name doesn't contain it aren't measured. */
  only: string;
}

/**
 * One or several figures that are measured together. `run` throws when a figure could not be
 * measured at all.
 */
export interface Measurement {
  /** Names of the figures, as `--only` matches them. */
  figures: readonly string[];
  /** It needs a browser, some an editor too: a short run has it only when `--only` names it. */
  needsBrowser?: true;
  run(options: BenchOptions): Promise<Figure[]>;
}

type Comparison = Omit<Figure, "ratio" | "holds">;

/** Fills in the ratio and whether it holds. */
export function compare(comparison: Comparison): Figure {
  const ratio = comparison.value / comparison.against_value;
  if (!Number.isFinite(ratio))
    throw new Error(`${comparison.name}: ${comparison.value} / ${comparison.against_value}`);
  const holds = comparison.better === "higher" ? ratio >= comparison.floor : ratio <= comparison.floor;
  const { name, unit, value, against, against_value: againstValue, goal, floor, better } = comparison;
  return { name, unit, value, against, against_value: againstValue, ratio, goal, floor, better, holds };
}

/**
 * A figure whose goal is a number of its own unit and no ratio: it is compared with 1 of that unit.
 */
export function absolute(figure: Omit<Comparison, "against_value">): Figure {
  return compare({ ...figure, against_value: 1 });
}

export function median(values: readonly number[]): number {
  if (values.length === 0) throw new Error("no rounds");
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/**
 * Runs the sides in turn, `rounds` times, reversing the order in each round, so that neither a slow
 * minute of the machine nor the order favors a side. Returns the median of each side.
 */
export async function interleave<Side extends string>(
  rounds: number,
  sides: Record<Side, () => number | Promise<number>>,
): Promise<Record<Side, number>> {
  const names = Object.keys(sides) as Side[];
  const results = new Map<Side, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      results.get(name)!.push(await sides[name]());
    }
  }
  return Object.fromEntries(names.map((name) => [name, median(results.get(name)!)])) as Record<Side, number>;
}
