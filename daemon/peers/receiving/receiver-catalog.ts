/**
 * Operation `catalog`: which Groups and Actors a peer may write to; no paths, commands or histories
 * (CAT-001 to CAT-007).
 */
import { LIMITS } from "../../../shared/limits.ts";
import { isOnlyNamed } from "../../../shared/typed-actors.ts";
import type { CatalogPage } from "../../../shared/wire/v1/peer.ts";
import type { OpenGroup } from "../../groups/group.ts";

type Entry = CatalogPage["groups"][number];

const { catalog, catalogPageBytes } = LIMITS.connect;
/** `{"groups":[],"next":""}` with the longest cursor. */
const FRAME_BYTES = 256;

/**
 * The page after `after` of Groups in the order of their ids. It ends early before it gets too
 * large.
 */
export function catalogPage(groups: readonly OpenGroup[], after: string | null): CatalogPage {
  const page: Entry[] = [];
  let bytes = FRAME_BYTES;
  for (const group of groups) {
    if (after !== null && group.group_id <= after) continue;
    const entry = entryOf(group);
    bytes += Buffer.byteLength(JSON.stringify(entry)) + 1;
    if (page.length === catalog.groups || (bytes > catalogPageBytes && page.length > 0)) {
      return { groups: page, next: page.at(-1)!.group_id };
    }
    page.push(entry);
  }
  return { groups: page, next: null };
}

function entryOf(group: OpenGroup): Entry {
  const { group_id: groupId, title, actors } = group.record;
  return {
    group_id: groupId,
    title,
    // Messages from other instances never reach a command that isn't marked as reading prompts.
    actors: actors
      .filter((actor) => !isOnlyNamed(actor))
      .map(({ id, title, generation, enabled }) => ({
        id,
        title,
        generation,
        enabled,
        role: group.roleOf(id),
      })),
  };
}
