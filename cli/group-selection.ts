/**
 * Which Group a command means if none is named (docs/cli.md): an Actor's own, the one bound to this
 * directory, or the only one.
 */
import { existsSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import type { DaemonClient } from "../client/client.ts";
import { groupsOfFolder } from "../client/folder-groups.ts";
import { Refusal } from "../shared/errors.ts";
import { listed, NO_GROUP } from "./lookup.ts";
import { UsageError } from "./usage-error.ts";

/**
 * The one Group that `folder` belongs to. Throws the Refusal `group_not_found` if there is none or
 * more than one.
 */
export async function groupOfFolder(client: DaemonClient, folder: string): Promise<string> {
  const place = resolve(folder);
  if (!existsSync(place)) throw new Refusal("group_not_found", { specifics: `There is no folder ${place}.` });
  const { groups } = await client.result("group_list", {});
  const bound = await groupsOfFolder(client, groups, realpathSync(place));
  const [only] = bound;
  if (only !== undefined && bound.length === 1) return only;
  throw new Refusal("group_not_found", {
    specifics:
      only === undefined
        ? `The folder ${place} belongs to no Group.`
        : `The folder ${place} belongs to ${bound.length} Groups.`,
    remedy:
      only === undefined
        ? "Attach it: 'svc attach' in that folder."
        : `Name one of them: 'svc mcp --as NAME --group ${only}'.`,
  });
}

/** If no Group stands out, throws a UsageError that lists the Groups. */
export async function selectGroup(client: DaemonClient): Promise<string> {
  if (client.actsAsActor) {
    const { actor } = await client.result("whoami", {});
    if (actor) return actor.group_id;
  }
  const { groups } = await client.result("group_list", {});
  const [only] = groups;
  if (only === undefined) throw new UsageError(NO_GROUP);
  if (groups.length === 1) return only.group_id;
  const bound = await groupsOfFolder(client, groups, realpathSync(process.cwd()));
  if (bound.length === 1 && bound[0] !== undefined) return bound[0];
  const choices = groups.filter(({ group_id: groupId }) => bound.length === 0 || bound.includes(groupId));
  throw new UsageError(`Which Group? Use --group with its id or title:\n${listed(choices)}`);
}
