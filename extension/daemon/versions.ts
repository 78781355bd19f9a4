/** How the running daemon's version relates to this extension's. */

/** Negative when `one` is older than `other`. Both are `MAJOR.MINOR.PATCH`, and more is ignored. */
export function compareVersions(one: string, other: string): number {
  const parts = (version: string) => version.split(/[.+-]/).slice(0, 3).map(Number);
  const [ours, theirs] = [parts(one), parts(other)];
  for (const [at, number] of ours.entries()) {
    const difference = number - (theirs[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
