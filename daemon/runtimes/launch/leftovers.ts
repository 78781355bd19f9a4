/**
 * What an earlier daemon left: claims without proof, surviving processes, identities. Terminals end
 * with the daemon.
 */

import { basename, join } from "node:path";
import { syncDirectory, unlinkIfThere } from "../../../platform/durable.ts";
import type { Files } from "../../../platform/files.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import type { OpenGroup } from "../../groups/group.ts";
import type { Chats } from "../../messaging/group-chat.ts";
import { ENDED_UNREAD } from "../../messaging/kinds.ts";
import { deliveryEvent } from "../input/delivery-proof.ts";
import type { LastRuns } from "./last-run.ts";
import type { LaunchIdentities, StoredLaunch } from "./launch-identity.ts";
import type { ProcessEnds } from "./process-end.ts";

export interface LeftoverDependencies {
  files: Files;
  log: Log;
  messaging: Chats;
  identities: LaunchIdentities;
  ends: ProcessEnds;
  lastRuns: LastRuns;
}

/** Nothing here keeps the daemon from starting: failures are logged. */
export async function clearLeftovers(deps: LeftoverDependencies, group: OpenGroup): Promise<void> {
  try {
    await endClaims(deps, group);
    await endProcesses(deps, group);
  } catch (error) {
    deps.log.warn("leftovers", { group_id: group.group_id, ...errorFields(error) });
  }
}

/**
 * A claim whose end the daemon didn't live to see: the bytes may have been written or not. A
 * message that was only queued was never read.
 */
async function endClaims({ messaging }: LeftoverDependencies, group: OpenGroup): Promise<void> {
  const chat = messaging.find(group.group_id);
  if (chat === undefined) return;
  for (const actor of group.record.actors) {
    const claimed = actor.runner === "pty" ? [...(chat.queueOf(actor)?.claimed ?? [])] : [];
    if (claimed.length === 0) continue;
    await chat.ledger.appendAll(
      claimed.map(([sourceEventId, { batch_id: batchId, queued }]) =>
        deliveryEvent(
          chat,
          { actor_id: actor.id, generation: actor.generation },
          queued
            ? { source_event_id: sourceEventId, batch_id: batchId, state: "failed", reason: ENDED_UNREAD }
            : {
                source_event_id: sourceEventId,
                batch_id: batchId,
                state: "ambiguous",
                reason: "daemon_ended",
              },
        ),
      ),
    );
  }
}

async function endProcesses(
  { files, identities, ends, lastRuns }: LeftoverDependencies,
  group: OpenGroup,
): Promise<void> {
  const { launches } = group.paths;
  if (files.stat(launches) === null) return;
  const sweep = (stored: StoredLaunch): Promise<void> =>
    // A pid by itself means nothing here: the machine may have been started since.
    ends.sweep({ ...stored, pid: identities.isAlive(stored) ? stored.pid : null });
  for (const actor of group.record.actors) {
    const stored = identities.committed(group, actor.id);
    if (stored === null) continue;
    if (stored !== "corrupt") await sweep(stored);
    const generation = stored === "corrupt" ? actor.generation : stored.generation;
    await identities.end(group, { actor_id: actor.id, generation });
    // It was another Actor's, which was removed.
    if (generation !== actor.generation) continue;
    lastRuns.ended(group, actor, "the daemon ended unexpectedly");
    const data = { actor_id: actor.id, reason: "daemon_ended" };
    await group.note({ kind: "actor.stop", by: "system", data });
  }
  // Of Actors that were removed in the meantime.
  const rest = files.list(launches);
  for (const name of rest) {
    const stored = identities.committed(group, basename(name, ".json"));
    if (stored !== null && stored !== "corrupt") await sweep(stored);
    unlinkIfThere(files, join(launches, name));
  }
  if (rest.length > 0) await syncDirectory(files, launches);
}
