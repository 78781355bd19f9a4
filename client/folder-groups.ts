/**
 * Which Groups a folder belongs to: those with the nearest attached folder at or above it. A folder
 * in a work tree of Git belongs where the same folder of the attached work tree does.
 */
import { checkoutsAround, nearnessOf } from "../platform/git-checkout.ts";
import type { DaemonClient } from "./client.ts";

/** Ids of the Groups among `groups` that are bound nearest to `folder`, a real path. */
export async function groupsOfFolder(
  client: DaemonClient,
  groups: readonly { group_id: string }[],
  folder: string,
): Promise<string[]> {
  const checkouts = checkoutsAround(folder);
  let nearest = 0;
  let bound: string[] = [];
  for (const { group_id: groupId } of groups) {
    const shown = await client.call("group_show", { group_id: groupId });
    // A Group that was deleted in the meantime has nothing bound to it.
    const scopes = shown.ok ? shown.result.scopes : [];
    const near = Math.max(-1, ...scopes.map(({ path }) => nearnessOf(path, folder, checkouts)));
    if (near > nearest) {
      nearest = near;
      bound = [groupId];
    } else if (near === nearest && near > 0) bound.push(groupId);
  }
  return bound;
}
