/** How the running daemon's version relates to this extension's. */
import { PRODUCT_VERSION } from "../../shared/version.ts";
import { plain } from "../plain.ts";

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

/** What is said of a daemon of another version. `running`: the agents that end with it. */
export function versionNotice(version: string, running: readonly string[]): string {
  const is = `The running daemon of svc has version ${plain(version)}, this extension ${PRODUCT_VERSION}.`;
  if (compareVersions(version, PRODUCT_VERSION) > 0) return `${is} Update the extension.`;
  return running.length === 0 ? is : `${is} Restarting it ends ${running.join(", ")}.`;
}
