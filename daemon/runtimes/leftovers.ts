/** What an earlier daemon left behind: claims without proof, processes that outlived it, identities. Terminals end with the daemon. */

import { join } from "node:path";
import type { OpenGroup } from "../groups/group.ts";
import { syncDirectory, unlinkIfThere } from "../home/durable.ts";
import type { Rooms } from "../messaging/group-room.ts";
import type { Files } from "../platform/files.ts";
import { errorFields, type Log } from "../platform/log.ts";
import type { LaunchIdentities } from "./launch-identity.ts";
import type { ProcessEnds } from "./process-end.ts";
import { deliveryEvent } from "./prompter.ts";

export interface LeftoverDependencies {
  files: Files;
  log: Log;
  messaging: Rooms;
  identities: LaunchIdentities;
  ends: ProcessEnds;
}

/** Nothing in here keeps the daemon from starting: what fails is logged. */
export async function clearLeftovers(deps: LeftoverDependencies, group: OpenGroup): Promise<void> {
  try {
    await endClaims(deps, group);
    await endProcesses(deps, group);
  } catch (error) {
    deps.log.warn("leftovers", { group_id: group.group_id, ...errorFields(error) });
  }
}

/** A claim whose end the daemon didn't live to see: the bytes may have been written or not. */
async function endClaims({ messaging }: LeftoverDependencies, group: OpenGroup): Promise<void> {
  const room = messaging.find(group.group_id);
  if (room === undefined) return;
  for (const actor of group.record.actors) {
    const claimed = actor.runner === "pty" ? [...(room.queueOf(actor)?.claimed ?? [])] : [];
    if (claimed.length === 0) continue;
    await room.ledger.appendAll(
      claimed.map(([source_event_id, { batch_id }]) =>
        deliveryEvent(
          room,
          { actor_id: actor.id, generation: actor.generation },
          { source_event_id, batch_id, state: "ambiguous", reason: "daemon_ended" },
        ),
      ),
    );
  }
}

async function endProcesses(
  { files, identities, ends }: LeftoverDependencies,
  group: OpenGroup,
): Promise<void> {
  const { launches } = group.paths;
  if (files.stat(launches) === null) return;
  for (const actor of group.record.actors) {
    const stored = identities.committed(group, actor.id);
    if (stored === null) continue;
    if (stored !== "corrupt" && stored.pid !== null && identities.isAlive(stored)) {
      await ends.sweep(ends.family(stored.pid));
    }
    await identities.end(group, actor.id);
    const data = { actor_id: actor.id, reason: "daemon_ended" };
    await group.note({ kind: "actor.stop", by: "system", data });
  }
  // Of Actors that were removed meanwhile.
  const rest = files.list(launches);
  for (const name of rest) unlinkIfThere(files, join(launches, name));
  if (rest.length > 0) await syncDirectory(files, launches);
}
