/** Which version of a runtime's program is installed: the program says so itself. */

import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files.ts";
import type { Processes } from "../../platform/processes.ts";
import type { ProjectFiles } from "../../platform/project-files.ts";
import type { RuntimeEntry } from "./catalogue.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const VERSION_MS = 5000;
/** So long, a program that didn't answer doesn't delay a start again. */
const SILENT_MS = 600_000;
const VERSION = /\d+\.\d+(?:\.\d+)*(?:[-+][\w.-]+)?/;
/** Programs that are remembered. */
const KNOWN_MAX = 64;

/** Null if it doesn't come in time. The program gets `environment`, by default this process's. */
export async function versionOf(
  processes: Pick<Processes, "outputOf">,
  file: string,
  { versionArguments }: Pick<RuntimeEntry, "versionArguments">,
  environment?: Environment,
): Promise<string | null> {
  const output = await processes.outputOf(file, versionArguments, VERSION_MS, environment);
  return output === null ? null : (VERSION.exec(output)?.[0] ?? null);
}

/** Whether a version is this one or a later one; compares numbers only. */
export function isSince(version: string, first: string): boolean {
  const [one, other] = [version, first].map((text) => text.split(/[-+]/)[0]!.split(".").map(Number));
  for (const [at, least] of other!.entries()) {
    const part = one![at] ?? 0;
    if (part !== least) return part > least;
  }
  return true;
}

interface VersionsDependencies {
  clock: Clock;
  files: Files;
  projects: ProjectFiles;
  processes: Pick<Processes, "outputOf">;
}

/** Asks each program once for each state of its file, and later again if it didn't answer. */
export class ProgramVersions {
  readonly #deps: VersionsDependencies;
  readonly #known = new Map<string, { version: string | null; until: number }>();

  constructor(deps: VersionsDependencies) {
    this.#deps = deps;
  }

  /** Null if the program doesn't say it in time. */
  async of(
    file: string,
    entry: Pick<RuntimeEntry, "versionArguments">,
    environment?: Environment,
  ): Promise<string | null> {
    const { clock, files, projects, processes } = this.#deps;
    // An update replaces the file, or the link to it.
    const canonical = projects.canonical(file) ?? file;
    const status = files.stat(canonical);
    const key = [canonical, status?.inode, status?.modifiedMs, status?.bytes].join(" ");
    const known = this.#known.get(key);
    if (known !== undefined && clock.monotonic() < known.until) return known.version;
    const version = await versionOf(processes, file, entry, environment);
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    const until = version === null ? clock.monotonic() + SILENT_MS : Number.POSITIVE_INFINITY;
    this.#known.set(key, { version, until });
    return version;
  }
}
