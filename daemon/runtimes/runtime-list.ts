/** What is installed on this machine, and what works with it (`svc runtime list`). */

import type { Processes } from "../../platform/processes.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";
import { CATALOGUE, type RuntimeEntry } from "./catalogue.ts";
import { versionOf } from "./program-version.ts";

type Listed = ResultOf<"runtime_list">["runtimes"][number];

/** Looks each program up in `path`. A version that doesn't come in time is null. */
export async function listRuntimes(processes: Processes, path: string): Promise<Listed[]> {
  return Promise.all(CATALOGUE.map((entry) => describe(processes, path, entry)));
}

async function describe(processes: Processes, path: string, entry: RuntimeEntry): Promise<Listed> {
  const found = entry.programs
    .map((program) => processes.locate(program, path, "/"))
    .find((file) => file !== null);
  return {
    runtime: entry.runtime,
    title: entry.title,
    command: entry.programs[0] ?? null,
    installed: found !== undefined,
    path: found ?? null,
    version: found === undefined ? null : await versionOf(processes, found, entry),
    tools: entry.mcp !== "none",
    activity: entry.hooks !== "none",
    proof: entry.evidence !== "none",
  };
}
