/**
 * Which Group a command means if none is named (docs/cli.md): an Actor's own, the one bound to this
 * directory, or the only one.
 */
import { realpathSync } from "node:fs";
import { sep } from "node:path";
import type { DaemonClient } from "../client/client.ts";
import { listed } from "./lookup.ts";
import { UsageError } from "./usage-error.ts";

/** Length of the scope path that contains the directory, or -1. */
function nearness(scopes: readonly { path: string }[], directory: string): number {
  let nearest = -1;
  for (const { path } of scopes)
    if (directory === path || directory.startsWith(path.endsWith(sep) ? path : path + sep))
      nearest = Math.max(nearest, path.length);
  return nearest;
}

/** If no Group stands out, throws a UsageError that lists the Groups. */
export async function selectGroup(client: DaemonClient): Promise<string> {
  if (client.actsAsActor) {
    const { actor } = await client.result("whoami", {});
    if (actor) return actor.group_id;
  }
  const { groups } = await client.result("group_list", {});
  const [only] = groups;
  if (only === undefined)
    throw new UsageError(
      "There is no Group yet. Create one with 'svc attach' in a project directory, or 'svc group create TITLE'.",
    );
  if (groups.length === 1) return only.group_id;
  const directory = realpathSync(process.cwd());
  let nearest = 0;
  let bound: string[] = [];
  for (const { group_id: groupId } of groups) {
    const shown = await client.call("group_show", { group_id: groupId });
    // The Group was deleted in the meantime, so nothing is bound to it.
    const near = shown.ok ? nearness(shown.result.scopes, directory) : -1;
    if (near > nearest) {
      nearest = near;
      bound = [groupId];
    } else if (near === nearest && near > 0) bound.push(groupId);
  }
  if (bound.length === 1 && bound[0] !== undefined) return bound[0];
  const choices = groups.filter(({ group_id: groupId }) => bound.length === 0 || bound.includes(groupId));
  throw new UsageError(`Which Group? Use --group with its id or title:\n${listed(choices)}`);
}
