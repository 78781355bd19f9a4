/** Which Groups a folder belongs to: those with the nearest attached folder at or above it. */
import { sep } from "node:path";
import type { DaemonClient } from "./client.ts";

/** Length of the scope path that contains the folder, or -1. */
function nearness(scopes: readonly { path: string }[], folder: string): number {
  let nearest = -1;
  for (const { path } of scopes)
    if (folder === path || folder.startsWith(path.endsWith(sep) ? path : path + sep))
      nearest = Math.max(nearest, path.length);
  return nearest;
}

/** Ids of the Groups among `groups` that are bound nearest to `folder`, a real path. */
export async function groupsOfFolder(
  client: DaemonClient,
  groups: readonly { group_id: string }[],
  folder: string,
): Promise<string[]> {
  let nearest = 0;
  let bound: string[] = [];
  for (const { group_id: groupId } of groups) {
    const shown = await client.call("group_show", { group_id: groupId });
    // The Group was deleted in the meantime, so nothing is bound to it.
    const near = shown.ok ? nearness(shown.result.scopes, folder) : -1;
    if (near > nearest) {
      nearest = near;
      bound = [groupId];
    } else if (near === nearest && near > 0) bound.push(groupId);
  }
  return bound;
}
