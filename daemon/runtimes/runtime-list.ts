/** What is installed on this machine, and what works with it (`svc runtime list`). */

import type { Processes } from "../../platform/processes.ts";
import type { RuntimeDescription } from "../../shared/operations/actors.ts";
import { CATALOGUE, type RuntimeEntry } from "./catalogue.ts";
import { missingFor, type Surroundings } from "./missing.ts";
import { type Environment, versionOf } from "./program-version.ts";

/**
 * Looks each program up in `path`. A version that doesn't come in time is null.
 * Without `around`, nobody is told about logins and trust. `environment` is what the programs run
 * with; by default, this process's.
 */
export async function listRuntimes(
  processes: Processes,
  path: string,
  around: Surroundings | null,
  environment?: Environment,
): Promise<RuntimeDescription[]> {
  return Promise.all(CATALOGUE.map((entry) => describe(processes, path, entry, around, environment)));
}

async function describe(
  processes: Processes,
  path: string,
  entry: RuntimeEntry,
  around: Surroundings | null,
  environment: Environment | undefined,
): Promise<RuntimeDescription> {
  const found = entry.programs
    .map((program) => processes.locate(program, path, "/"))
    .find((file) => file !== null);
  return {
    runtime: entry.runtime,
    title: entry.title,
    command: entry.programs[0] ?? null,
    installed: found !== undefined,
    path: found ?? null,
    version: found === undefined ? null : await versionOf(processes, found, entry, environment),
    tools: entry.mcp !== "none",
    activity: entry.hooks !== "none",
    proof: entry.evidence !== "none",
    missing: missingOf(entry, found !== undefined, around),
  };
}

/** What its files say matters only once there is a program. */
function missingOf(
  entry: RuntimeEntry,
  isInstalled: boolean,
  around: Surroundings | null,
): RuntimeDescription["missing"] {
  if (!isInstalled) return entry.programs.length > 0 ? ["program"] : [];
  return around === null ? [] : missingFor(entry.runtime, around);
}
