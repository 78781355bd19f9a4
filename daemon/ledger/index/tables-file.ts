/**
 * `tables.bin`: the index's tables as they were at a sealing or at shutdown, so that an open
 * needn't enter every event again.
 */

import { replaceFile } from "../../../platform/durable.ts";
import type { OpenFile } from "../../../platform/files.ts";
import { type Claim, claimOfLast } from "../files/claim.ts";
import { pathOf, type Storage } from "../files/storage.ts";
import { checksummed, readChecksummed } from "../format/checksummed.ts";
import { isEventId } from "../format/event-id.ts";
import type { History } from "../history.ts";
import type { Tables } from "./event-index.ts";
import { asBytes } from "./index-file.ts";

const MAGIC = "svctab03";
const NAME = "tables.bin";
const SLOT_BYTES = 4;

interface Header {
  group_id: string;
  /** The tables hold this many events, the last of them with this id. */
  count: number;
  last_id: string;
  id_slots: number;
  key_slots: number;
  keyed: number;
}

/** May be lost in a crash; then an open fills the tables itself. */
export async function writeTables(history: History): Promise<void> {
  const { count } = history;
  if (count === 0) return;
  const { ids, keys, keyed } = history.index.tables();
  const lastId = history.index.id(count - 1);
  const header: Header = {
    group_id: history.options.group_id,
    count,
    last_id: lastId,
    id_slots: ids.length,
    key_slots: keys.length,
    keyed,
  };
  await replaceFile(
    history.storage.files,
    pathOf(history.storage, NAME),
    checksummed(MAGIC, header, sections({ ids, keys, keyed })),
    { durable: false },
  );
}

/**
 * Takes the kept tables when they hold exactly the events that the index has now, by number and
 * last id.
 */
export function loadTables(history: History): void {
  const { files } = history.storage;
  const path = pathOf(history.storage, NAME);
  const status = files.stat(path);
  if (status?.kind !== "file" || history.count === 0) return;
  const file = files.open(path, "read");
  try {
    const header = readHeader(file);
    if (header === null || !fits(history, header, status.bytes)) return;
    history.index.loadTables(header.id_slots, header.key_slots, header.keyed, (tables) =>
      readChecksummed(file, MAGIC, () => sections(tables)),
    );
  } finally {
    file.close();
  }
}

/** What the tables say was recorded; null when they aren't whole or of another Group. */
export function readTablesClaim(storage: Storage, groupId: string): Claim | null {
  const { files } = storage;
  const path = pathOf(storage, NAME);
  const status = files.stat(path);
  if (status?.kind !== "file") return null;
  const file = files.open(path, "read");
  try {
    let header: Header | null = null;
    const isWhole = readChecksummed(file, MAGIC, (value) => {
      header = value as Header;
      const { id_slots: ids, key_slots: keys, group_id: group, count } = header;
      if (group !== groupId || !Number.isSafeInteger(count) || !isEventId(header.last_id)) return null;
      const isPossible = [ids, keys].every((slots) => Number.isSafeInteger(slots) && slots >= 0);
      if (!isPossible || (ids + keys) * SLOT_BYTES > status.bytes) return null;
      return [new Uint8Array(ids * SLOT_BYTES), new Uint8Array(keys * SLOT_BYTES)];
    });
    if (!isWhole || header === null) return null;
    return claimOfLast(NAME, (header as Header).count, (header as Header).last_id);
  } finally {
    file.close();
  }
}

/** Whether the tables' header, true or not, says nothing else than the history. */
export function tablesAgree(history: History): boolean {
  const { files } = history.storage;
  const path = pathOf(history.storage, NAME);
  if (files.stat(path)?.kind !== "file") return true;
  const file = files.open(path, "read");
  try {
    const header = readHeader(file);
    if (header === null || header.group_id !== history.options.group_id) return true;
    const { count, last_id: lastId } = header;
    return count > 0 && count <= history.count && history.index.id(count - 1) === lastId;
  } finally {
    file.close();
  }
}

function readHeader(file: OpenFile): Header | null {
  let header: Header | null = null;
  readChecksummed(file, MAGIC, (value) => {
    header = value as Header;
    return null;
  });
  return header;
}

function fits(history: History, header: Header, bytes: number): boolean {
  const { group_id: groupId, count, last_id: lastId, id_slots: idSlots, key_slots: keySlots, keyed } = header;
  if (![idSlots, keySlots, keyed].every((value) => Number.isSafeInteger(value) && value >= 0)) return false;
  if ((idSlots + keySlots) * SLOT_BYTES > bytes) return false;
  return (
    groupId === history.options.group_id && count === history.count && lastId === history.index.id(count - 1)
  );
}

function sections({ ids, keys }: Tables): Uint8Array[] {
  return [asBytes(ids), asBytes(keys)];
}
