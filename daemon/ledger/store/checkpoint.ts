/**
 * `checkpoint.bin`: the projections' states after a number of events, so that an open replays only
 * what follows.
 */
import { replaceFile } from "../../../platform/durable.ts";
import { type Claim, claimOfLast } from "../files/claim.ts";
import { pathOf, type Storage } from "../files/storage.ts";
import { checksummed, readChecksummed } from "../format/checksummed.ts";
import { isEventId } from "../format/event-id.ts";
import type { History } from "../history.ts";
import type { Follower } from "../index/rebuild.ts";

const MAGIC = "svcchk01";
const NAME = "checkpoint.bin";

interface Header {
  group_id: string;
  /** Events applied, and the id of the last one: another history's checkpoint is no use. */
  count: number;
  last_id: string;
  projections: { name: string; version: number; bytes: number }[];
}

/** Saves the projections' current states. A crash may lose them; then an open replays more. */
export async function writeCheckpoint(history: History): Promise<void> {
  const { count } = history;
  if (count === 0) return;
  const { group_id: groupId, projections } = history.options;
  const states = projections.map((projection) => projection.checkpoint());
  const header: Header = {
    group_id: groupId,
    count,
    last_id: history.index.id(count - 1),
    projections: projections.map(({ name, version }, at) => ({ name, version, bytes: states[at]!.length })),
  };
  await replaceFile(
    history.storage.files,
    pathOf(history.storage, NAME),
    checksummed(MAGIC, header, states),
    { durable: false },
  );
}

interface Checkpoint {
  header: Header;
  states: Uint8Array[];
}

/** What the checkpoint says was recorded; null when it isn't whole or of another Group. */
export function readCheckpointClaim(storage: Storage, groupId: string): Claim | null {
  const header = readCheckpoint(storage, groupId)?.header;
  if (header === undefined || !Number.isSafeInteger(header.count) || !isEventId(header.last_id)) return null;
  return claimOfLast(NAME, header.count, header.last_id);
}

function readCheckpoint(storage: Storage, groupId: string): Checkpoint | null {
  const { files } = storage;
  const path = pathOf(storage, NAME);
  const status = files.stat(path);
  if (status?.kind !== "file") return null;
  const file = files.open(path, "read");
  let found: Checkpoint | null = null;
  try {
    const isWhole = readChecksummed(file, MAGIC, (value) => {
      const header = value as Header;
      const sizes = header.projections.map(({ bytes }) => bytes);
      if (header.group_id !== groupId || sizes.reduce((sum, bytes) => sum + bytes, 0) > status.bytes)
        return null;
      found = { header, states: sizes.map((bytes) => new Uint8Array(bytes)) };
      return found.states;
    });
    return isWhole ? found : null;
  } finally {
    file.close();
  }
}

/** What a restored projection claims: this many events, the last of them this one. */
export interface Anchor {
  count: number;
  last_id: string;
}

/**
 * Restores what a checkpoint holds and resets the rest. Each projection's follower says from which
 * ordinal it needs events.
 */
export function restoreCheckpoint(history: History): { followers: Follower[]; anchor: Anchor | null } {
  const checkpoint = readCheckpoint(history.storage, history.options.group_id);
  const followers = history.options.projections.map((projection) => {
    const at = checkpoint?.header.projections.findIndex(({ name }) => name === projection.name) ?? -1;
    if (checkpoint !== null && at >= 0 && checkpoint.header.projections[at]!.version === projection.version) {
      try {
        projection.restore(checkpoint.states[at]!);
        return { projection, from: checkpoint.header.count };
      } catch {
        // Thrown away: the events are the truth.
      }
    }
    projection.reset();
    return { projection, from: 0 };
  });
  return { followers, anchor: checkpoint?.header ?? null };
}
