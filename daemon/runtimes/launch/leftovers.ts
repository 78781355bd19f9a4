/**
 * What an earlier daemon left: claims without proof, surviving processes, identities. Terminals end
 * with the daemon.
 */

import { basename, join } from "node:path";
import { syncDirectory, unlinkIfThere } from "../../../platform/durable.ts";
import type { Files } from "../../../platform/files.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import type { StoredActor } from "../../../shared/model.ts";
import type { LaunchReports } from "../../activity/launches.ts";
import type { OpenGroup } from "../../groups/group.ts";
import type { Chats, GroupChat } from "../../messaging/group-chat.ts";
import { decided, deliveryEvent } from "../input/delivery-proof.ts";
import { findInConversation } from "../input/prompt-history.ts";
import { endWords, takeInHand, tellInterrupted } from "./interruptions.ts";
import type { LastRuns } from "./last-run.ts";
import type { LaunchIdentities, StoredLaunch } from "./launch-identity.ts";
import type { ProcessEnds } from "./process-end.ts";

/** A state is noted when it changes. */
const NOTED_EVENTS = 2000;
const DAEMON_ENDED = "the daemon ended unexpectedly";

export interface LeftoverDependencies {
  files: Files;
  log: Log;
  messaging: Chats;
  identities: LaunchIdentities;
  ends: ProcessEnds;
  lastRuns: LastRuns;
  reports: Pick<LaunchReports, "isInWork">;
}

/**
 * Nothing here keeps the daemon from starting: what fails is logged, and keeps nothing else from
 * ending.
 */
export async function clearLeftovers(deps: LeftoverDependencies, group: OpenGroup): Promise<void> {
  const trying = async (step: () => Promise<void>): Promise<void> => {
    try {
      await step();
    } catch (error) {
      deps.log.warn("leftovers", { group_id: group.group_id, ...errorFields(error) });
    }
  };
  for (const actor of group.record.actors) {
    // What lives may still write to its history, which decides the claims.
    await trying(() => endProcess(deps, group, actor));
    // Those of a process whose end was noted.
    await trying(() => endClaims(deps, group, actor, "daemon_ended"));
  }
  await trying(() => endRemoved(deps, group));
}

/**
 * Claims whose end nobody could record: the bytes may have been written or not. The runtime's own
 * history decides; where it says nothing, a message that was only queued was never read. Call it
 * while no process of the Actor runs.
 */
export async function endClaims(
  { files, messaging, lastRuns }: LeftoverDependencies,
  group: OpenGroup,
  actor: StoredActor,
  reason: string,
): Promise<void> {
  const chat = messaging.find(group.group_id);
  const claimed = actor.runner === "pty" ? [...(chat?.queueOf(actor)?.claimed ?? [])] : [];
  if (chat === undefined || claimed.length === 0) return;
  const whose = { actor_id: actor.id, generation: actor.generation };
  const ids = claimed.map(([id]) => id);
  const last = lastRuns.conversationOf(group, actor);
  const findings = await findInConversation(files, actor.runtime, last, ids);
  await chat.ledger.appendAll(
    claimed.map(([sourceEventId, { batch_id: batchId, queued }]) => {
      const [state, why] = decided(sourceEventId, findings, queued, reason);
      const claim = { source_event_id: sourceEventId, batch_id: batchId, state, reason: why };
      return deliveryEvent(chat, whose, claim);
    }),
  );
}

function sweep({ identities, ends }: LeftoverDependencies, stored: StoredLaunch): Promise<void> {
  // A pid by itself means nothing here: the machine may have been started since.
  return ends.sweep({ ...stored, pid: identities.isAlive(stored) ? stored.pid : null });
}

async function endProcess(deps: LeftoverDependencies, group: OpenGroup, actor: StoredActor): Promise<void> {
  const { identities, lastRuns, messaging, reports } = deps;
  const stored = identities.committed(group, actor.id);
  if (stored === null) return;
  if (stored !== "corrupt") await sweep(deps, stored);
  const generation = stored === "corrupt" ? actor.generation : stored.generation;
  const chat = messaging.find(group.group_id);
  let words = DAEMON_ENDED;
  if (generation === actor.generation && chat !== undefined) {
    const mark = stored === "corrupt" ? "" : stored.mark;
    const whose = { actor_id: actor.id, generation, mark };
    const isInWork = reports.isInWork(group.group_id, actor) || wasNotedInWork(chat, actor.id);
    const inHand = takeInHand(chat, whose, isInWork);
    words = endWords(words, inHand);
    await endClaims(deps, group, actor, "daemon_ended");
    // Told before the launch is forgotten: a daemon that ends in between tells it at its next
    // start.
    await tellInterrupted(chat, inHand, DAEMON_ENDED);
  }
  await identities.end(group, { actor_id: actor.id, generation });
  // It was another Actor's, which was removed.
  if (generation !== actor.generation) return;
  lastRuns.ended(group, actor, words);
  await group.note({
    kind: "actor.stop",
    by: "system",
    data: { actor_id: actor.id, reason: "daemon_ended" },
  });
}

/** Whether the last state in the ledger's latest events is one of work. */
function wasNotedInWork({ ledger }: GroupChat, actorId: string): boolean {
  const first = Math.max(0, ledger.count - NOTED_EVENTS);
  const ordinals = Array.from({ length: ledger.count - first }, (_, at) => first + at);
  const noted = ledger
    .readMany(ordinals)
    .flatMap((event) => (event.kind === "actor.activity" ? event.data.actors : []))
    .findLast(({ id }) => id === actorId);
  const state = noted?.effective_working_state;
  return state === "working" || state === "waiting";
}

/** Of Actors that were removed in the meantime. */
async function endRemoved(deps: LeftoverDependencies, group: OpenGroup): Promise<void> {
  const { files, identities } = deps;
  const { launches } = group.paths;
  if (files.stat(launches) === null) return;
  const there = new Set(group.record.actors.map(({ id }) => id));
  const rest = files.list(launches).filter((name) => !there.has(basename(name, ".json")));
  for (const name of rest) {
    const stored = identities.committed(group, basename(name, ".json"));
    if (stored !== null && stored !== "corrupt") await sweep(deps, stored);
    unlinkIfThere(files, join(launches, name));
  }
  if (rest.length > 0) await syncDirectory(files, launches);
}
