/**
 * The outbox on disk: one owner-only file per accepted message or cancellation, replaced atomically
 * (docs/protocol.md#outbox). Memory holds only what the scheduler needs. Texts are read again when
 * a job runs.
 */
import { join } from "node:path";
import {
  ensureDirectory,
  errorCode,
  isTemporary,
  readWhole,
  replaceFile,
  storageRefusal,
  syncDirectory,
  unlinkIfThere,
} from "../../../platform/durable.ts";
import type { Files } from "../../../platform/files.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import type { SourceEvent } from "../../../shared/events.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { InstanceId } from "../../../shared/wire/v1/fields.ts";
import type { OutboxProgress, OutboxRecord, OutboxWork } from "../../../shared/wire/v1/outbox.ts";
import { milliseconds } from "../../../shared/wire/v1/time.ts";
import { uuidKey } from "../../../shared/wire/v1/uuid.ts";
import {
  blobBytesOf,
  type ClientKeyOf,
  encodeRecord,
  entryOf,
  type OutboxEntry,
  parseRecord,
  type QueuedWork,
} from "./outbox-entry.ts";
import { noteInPlace } from "./outbox-progress.ts";
import { OutboxUsage } from "./outbox-usage.ts";
import type { WorkGenerations } from "./work-generations.ts";

const SUFFIX = ".json";

export interface OutboxDependencies {
  files: Files;
  log: Log;
  /** `state/connect/outbox` in the Home; its parents exist. */
  directory: string;
  /** Without it, all work belongs to the Groups as they are. */
  generations?: WorkGenerations;
}

export class Outbox {
  readonly #deps: OutboxDependencies;
  readonly #clientKeyOf: ClientKeyOf;
  readonly #entries = new Map<string, OutboxEntry>();
  readonly #bySource = new Map<string, OutboxEntry>();
  readonly #byClient = new Map<string, OutboxEntry>();
  readonly #usage = new OutboxUsage();
  readonly #unreadable: string[] = [];
  /** Peers with removed records that a crash might bring back, with the number of removals. */
  readonly #loose = new Map<string, number>();
  /**
   * Records whose file was being replaced when the disk failed: a crash may bring back the one
   * before, so only a new one counts.
   */
  readonly #doubtful = new WeakSet<OutboxEntry>();
  /**
   * Records that an earlier run left, of a past generation of their Group. They no longer count and
   * are still to be removed.
   */
  readonly #past = new Set<{ peer: string; delivery_id: string }>();
  /** Peers' directories that are durable, or being made so. */
  readonly #directories = new Map<string, Promise<void>>();
  /** Records that are being written. */
  #writing = 0;
  #sequence = 0;

  private constructor(deps: OutboxDependencies, clientKeyOf: ClientKeyOf) {
    this.#deps = deps;
    this.#clientKeyOf = clientKeyOf;
  }

  /**
   * Reads every record. What can't be read stays on disk and counts as a full message (OUT-041,
   * OUT-042). `clientKeyOf` gives the idempotency key of a source event.
   */
  static async open(deps: OutboxDependencies, clientKeyOf: ClientKeyOf): Promise<Outbox> {
    const outbox = new Outbox(deps, clientKeyOf);
    await ensureDirectory(deps.files, deps.directory);
    const found: OutboxRecord[] = [];
    for (const peer of deps.files.list(deps.directory).sort()) {
      const directory = join(deps.directory, peer);
      if (deps.files.stat(directory)?.kind !== "directory") {
        if (InstanceId.safeParse(peer).success) outbox.#missDirectory(peer);
        continue;
      }
      for (const name of deps.files.list(directory)) {
        if (isTemporary(name)) unlinkIfThere(deps.files, join(directory, name));
        else if (name.endsWith(SUFFIX)) {
          const record = outbox.#load(peer, name);
          if (record !== null) found.push(record);
        }
      }
    }
    const createdAt = ({ work }: OutboxRecord) => milliseconds(work.data.created_at);
    found.sort((one, other) => createdAt(one) - createdAt(other));
    for (const record of found) {
      const { source, target, delivery_id: deliveryId } = record.work.data;
      if (deps.generations?.isPast(source.group_id) === true) {
        outbox.#past.add({ peer: target.instance_id, delivery_id: deliveryId });
      } else outbox.#enter(record);
    }
    await outbox.#noteGenerations();
    // What can't be removed yet no longer counts either, and is removed before the next work of its
    // Group is queued.
    await outbox.settle().catch((error) => deps.log.warn("outbox", errorFields(error)));
    return outbox;
  }

  /** Whether the entry is work of a past generation of its Group. */
  isPast({ source }: OutboxEntry): boolean {
    return this.#deps.generations?.isPast(source.group_id) === true;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Paths of records that can't be read. */
  get unreadable(): readonly string[] {
    return this.#unreadable;
  }

  /** Why it is unknown which work a reset has ended, in words. */
  get problem(): string | null {
    return this.#deps.generations?.problem ?? null;
  }

  entries(): IterableIterator<OutboxEntry> {
    return this.#entries.values();
  }

  bySource(sourceEventId: string): OutboxEntry | undefined {
    return this.#bySource.get(sourceEventId);
  }

  /** Work with the same key from the same sender. */
  byClient(groupId: string, key: string): OutboxEntry | undefined {
    return this.#byClient.get(`${groupId} ${key}`);
  }

  byDelivery(deliveryId: string): OutboxEntry | undefined {
    return this.#entries.get(uuidKey(deliveryId));
  }

  has(entry: OutboxEntry): boolean {
    return this.#entries.get(uuidKey(entry.delivery_id)) === entry;
  }

  /**
   * Queues work. Durable when resolved. Throws limit_reached (details name the limit), too_large
   * for a record over its size, storage_full or storage_failed, and then nothing is queued.
   */
  async accept(
    work: OutboxWork,
    sourceEvent: SourceEvent,
    json = JSON.stringify(work.data),
  ): Promise<OutboxEntry> {
    const record: OutboxRecord = {
      work,
      source_event: sourceEvent,
      progress: {
        source_projected: false,
        attempts: 0,
        needs_receipt: false,
        next_attempt_at: null,
        last_error: null,
      },
    };
    const bytes = encodeRecord(record, json);
    const peer = work.data.target.instance_id;
    const blobBytes = blobBytesOf(work);
    this.#usage.check(peer, blobBytes);
    this.#usage.charge(peer, 1, blobBytes);
    try {
      const { group_id: groupId } = work.data.source;
      await this.#deps.generations?.begin(groupId, () => this.#forget(groupId));
      await this.#write(peer, work.data.delivery_id, bytes);
    } catch (error) {
      this.#usage.charge(peer, -1, -blobBytes);
      this.#withdraw(peer, work.data.delivery_id);
      throw storageRefusal(error);
    }
    return this.#enter(record, true);
  }

  /**
   * The whole record. Throws Node's errors. A record that was damaged or removed in the meantime is
   * no longer work, as after a restart. It throws too.
   */
  read(entry: OutboxEntry): QueuedWork {
    const path = this.#path(entry.peer, entry.delivery_id);
    const bytes = readWhole(this.#deps.files, path);
    try {
      if (bytes === null) throw new Error("the outbox record is gone");
      return parseRecord(bytes);
    } catch (error) {
      if (this.has(entry)) {
        this.#deps.log.error("outbox_record", { delivery_id: entry.delivery_id, ...errorFields(error) });
        this.#drop(entry);
        if (bytes !== null) this.#setAside(entry.peer, path);
      }
      throw error;
    }
  }

  /**
   * Notes progress. Durable when resolved. `record` is what `read` returned. Throws storage_full or
   * storage_failed, and then the old progress counts.
   */
  async update(entry: OutboxEntry, record: QueuedWork, change: Partial<OutboxProgress>): Promise<void> {
    if (!this.has(entry)) throw new Error("the outbox record is gone");
    const progress = { ...entry.progress, ...change };
    try {
      if (!(await this.#noteInPlace(entry, progress))) {
        this.#doubtful.add(entry);
        await this.#write(entry.peer, entry.delivery_id, encodeRecord({ ...record, progress }, record.json));
        this.#doubtful.delete(entry);
      }
    } catch (error) {
      throw storageRefusal(error);
    }
    // It was retired in the meantime, and must not come back.
    if (!this.has(entry)) this.#withdraw(entry.peer, entry.delivery_id);
    entry.progress = progress;
  }

  /** Notes when to try again. A disk that fails now changes nothing for this run. */
  async postpone(
    entry: OutboxEntry,
    change: Pick<OutboxProgress, "next_attempt_at" | "last_error">,
  ): Promise<void> {
    if (!this.has(entry)) return;
    const later = { ...change, attempts: entry.progress.attempts + 1 };
    try {
      await this.update(entry, this.read(entry), later);
    } catch (error) {
      entry.progress = { ...entry.progress, ...later };
      this.#deps.log.warn("outbox_postpone", { delivery_id: entry.delivery_id, ...errorFields(error) });
    }
  }

  /**
   * Ends work whose end is recorded elsewhere. Not synced: a record that a crash brings back finds
   * its receipt, or no Group. Throws storage_failed when the file can't be removed, and then the
   * work stays.
   */
  remove(entry: OutboxEntry): void {
    if (!this.has(entry)) return;
    try {
      unlinkIfThere(this.#deps.files, this.#path(entry.peer, entry.delivery_id), true);
    } catch (error) {
      throw storageRefusal(error);
    }
    this.#loosen(entry.peer);
    this.#drop(entry);
  }

  #drop(entry: OutboxEntry): void {
    this.#entries.delete(uuidKey(entry.delivery_id));
    this.#bySource.delete(entry.source_event_id);
    if (entry.client !== null) this.#byClient.delete(`${entry.source.group_id} ${entry.client.key}`);
    this.#usage.charge(entry.peer, -1, -entry.blobBytes);
  }

  /** Makes all removals durable, before their receipts are removed. Throws Node's errors. */
  async settle(): Promise<void> {
    for (const record of this.#past) {
      unlinkIfThere(this.#deps.files, this.#path(record.peer, record.delivery_id));
      this.#past.delete(record);
      this.#loosen(record.peer);
    }
    for (const [peer, removals] of this.#loose) {
      await this.#syncPeer(peer);
      // The sync says nothing about what was removed while it ran.
      if (this.#loose.get(peer) === removals) this.#loose.delete(peer);
    }
  }

  async #syncPeer(peer: string): Promise<void> {
    const { files, directory } = this.#deps;
    try {
      await syncDirectory(files, join(directory, peer));
    } catch (error) {
      // It couldn't be made, or it was removed from outside.
      if (errorCode(error) !== "ENOENT") throw error;
      await syncDirectory(files, directory);
    }
  }

  #loosen(peer: string): void {
    this.#loose.set(peer, (this.#loose.get(peer) ?? 0) + 1);
  }

  #path(peer: string, deliveryId: string): string {
    return join(this.#deps.directory, peer, `${deliveryId}${SUFFIX}`);
  }

  /** Work that an older program queued belongs to the Groups as they are. */
  async #noteGenerations(): Promise<void> {
    const { generations, log } = this.#deps;
    for (const { source } of this.#entries.values()) {
      await generations
        ?.begin(source.group_id, async () => {})
        .catch((error) => log.warn("outbox", errorFields(error)));
    }
  }

  /** Nothing of the Group's past is left, and nothing of it can come back. */
  async #forget(groupId: string): Promise<void> {
    for (const entry of this.#entries.values())
      if (entry.source.group_id === groupId && this.isPast(entry)) this.remove(entry);
    await this.settle();
  }

  /** Work that was refused or retired must not go out after a restart. */
  #withdraw(peer: string, deliveryId: string): void {
    try {
      unlinkIfThere(this.#deps.files, this.#path(peer, deliveryId));
      this.#loosen(peer);
    } catch (error) {
      this.#deps.log.error("outbox_withdraw", { delivery_id: deliveryId, ...errorFields(error) });
    }
  }

  async #write(peer: string, deliveryId: string, bytes: Uint8Array): Promise<void> {
    const { files } = this.#deps;
    await this.#directory(peer);
    try {
      this.#writing += 1;
      await replaceFile(files, this.#path(peer, deliveryId), bytes, { alone: this.#writing === 1 });
    } catch (error) {
      // The directory may have been removed from outside.
      this.#directories.delete(peer);
      throw error;
    } finally {
      this.#writing -= 1;
    }
  }

  /** Changes only flags. False when the record has to be replaced. */
  async #noteInPlace(entry: OutboxEntry, progress: OutboxProgress): Promise<boolean> {
    if (this.#doubtful.has(entry)) return false;
    const path = this.#path(entry.peer, entry.delivery_id);
    return noteInPlace(this.#deps.files, path, entry.progress, progress);
  }

  /**
   * Creates the peer's directory once, durably. Writes that come in the meantime wait for that too.
   */
  #directory(peer: string): Promise<void> {
    let made = this.#directories.get(peer);
    if (made === undefined) {
      made = this.#makeDirectory(join(this.#deps.directory, peer));
      this.#directories.set(peer, made);
      made.catch(() => this.#directories.delete(peer));
    }
    return made;
  }

  async #makeDirectory(path: string): Promise<void> {
    const { files } = this.#deps;
    await ensureDirectory(files, path);
    // A link would lead out of the Home.
    if (files.stat(path)?.kind !== "directory") throw new Error("The peer's directory isn't one.");
  }

  /** The record, or null when it isn't one. Then it is charged and stays. */
  #load(peer: string, name: string): OutboxRecord | null {
    const { files, directory, log } = this.#deps;
    const path = join(directory, peer, name);
    try {
      const status = files.stat(path);
      if (status?.kind !== "file" || status.bytes > LIMITS.outbox.recordBytes) throw new Error("no record");
      const record = parseRecord(readWhole(files, path)!);
      const { delivery_id: deliveryId, target } = record.work.data;
      const isAtItsPlace = target.instance_id === peer && `${deliveryId}${SUFFIX}` === name;
      if (isAtItsPlace && !this.#entries.has(uuidKey(deliveryId))) return record;
    } catch (error) {
      log.error("outbox_record", { path: name, ...errorFields(error) });
    }
    this.#setAside(peer, path);
    return null;
  }

  /** Something else is in the place of the directory with a peer's records. */
  #missDirectory(peer: string): void {
    const { directory, log } = this.#deps;
    log.error("outbox_directory", { path: peer });
    this.#setAside(peer, join(directory, peer));
  }

  /** A file that isn't a record. It stays, and counts as a full message. */
  #setAside(peer: string, path: string): void {
    this.#unreadable.push(path);
    this.#usage.charge(peer, 1, LIMITS.connect.blobBytes);
  }

  #enter(record: OutboxRecord, isCharged = false): OutboxEntry {
    const entry = entryOf(record, {
      sequence: this.#sequence,
      key: this.#clientKeyOf(record.source_event),
      isLeft: !isCharged,
    });
    this.#sequence += 1;
    this.#entries.set(uuidKey(entry.delivery_id), entry);
    this.#bySource.set(entry.source_event_id, entry);
    if (entry.client !== null) this.#byClient.set(`${entry.source.group_id} ${entry.client.key}`, entry);
    if (!isCharged) this.#usage.charge(entry.peer, 1, entry.blobBytes);
    return entry;
  }
}
