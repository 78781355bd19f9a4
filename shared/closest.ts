/** Suggests a name for one that was typed and doesn't exist. */
import { quotedName } from "./foreign-text.ts";

/**
 * How many characters differ, are missing, are extra or are swapped with their neighbor (optimal
 * string alignment).
 */
function distance(one: string, other: string): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const same = one[row - 1] === other[column - 1];
      let least = Math.min(last[column - 1]! + (same ? 0 : 1), last[column]! + 1, current[column - 1]! + 1);
      if (row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1])
        least = Math.min(least, before[column - 2]! + 1);
      current.push(least);
    }
    before = last;
    last = current;
  }
  return last[other.length]!;
}

/** Longer names aren't compared, because the work grows with the square. */
const LONGEST = 64;

/**
 * The candidate nearest to `typed`: one with at most a third of its characters wrong, or the only
 * one that begins with it. Ignores case. Null if none is near.
 */
export function closest(typed: string, candidates: Iterable<string>): string | null {
  const wanted = typed.trim().toLowerCase();
  if (wanted === "" || wanted.length > LONGEST) return null;
  let nearest: { name: string; far: number } | null = null;
  const begun: string[] = [];
  for (const name of candidates) {
    if (name.length > LONGEST) continue;
    const known = name.toLowerCase();
    if (known.startsWith(wanted)) begun.push(name);
    const far = distance(wanted, known);
    if (far <= Math.max(wanted.length, known.length) / 3 && (nearest === null || far < nearest.far))
      nearest = { name, far };
  }
  return nearest?.name ?? (begun.length === 1 ? begun[0]! : null);
}

/** ` Did you mean 'coder'?`, or nothing. */
export function didYouMean(typed: string, candidates: Iterable<string>, prefix = ""): string {
  const name = closest(typed, candidates);
  return name === null ? "" : ` Did you mean '${prefix}${quotedName(name)}'?`;
}
