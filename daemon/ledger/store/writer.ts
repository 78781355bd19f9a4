/**
 * The one writer of a ledger. Appends that wait together become one write and one sync (group
 * commit). Sealing, and the steps after a failed write or sync, happen between batches.
 */

import type { Clock } from "../../../platform/clock.ts";
import { storageRefusal, syncDirectory } from "../../../platform/durable.ts";
import { Refusal } from "../../../shared/errors.ts";
import { overSize } from "../../../shared/size-words.ts";
import { ACTIVE, type Segment, segmentName, writeManifest } from "../files/segments.ts";
import { pathOf } from "../files/storage.ts";
import { LINE_FEED, SPACE } from "../format/line.ts";
import type { History } from "../history.ts";
import type { LedgerLimits, Placed } from "../types.ts";
import { ActiveFile } from "./active-file.ts";
import { damagedRefusal } from "./damaged.ts";

/** An event on its way; its place is known when it is durable. */
export interface Pending extends Placed {
  json: string;
  /** Of its line in UTF-8, the end included. */
  bytes: number;
  key: string | undefined;
}

/** Events that become durable together or not at all. */
export interface Submission {
  pending: Pending[];
  bytes: number;
  done(refusal: Refusal | null, placed: Placed[]): void;
}

/** Loop turns that a batch may wait at most, if the clock stands still. */
const GATHER_TURNS = 64;

/**
 * A round of more lines than this needn't wait for more: reading and answering that many takes
 * longer than a sync, which had better run beside it.
 */
const SMALL_BATCH_LINES = 16;

/** Batches are put together and written within one turn, so all ledgers share the room for it. */
let scratch = Buffer.alloc(0);

type FollowListener = (placed: readonly Placed[]) => void;

export class Writer {
  readonly #history: History;
  readonly #clock: Clock;
  readonly #limits: LedgerLimits;
  readonly #sealed: (segment: Segment) => Promise<void>;
  readonly #listeners = new Set<FollowListener>();
  /** Steps on disk that must succeed before the next batch; each is tried again until it does. */
  readonly #debts: (() => Promise<void> | void)[] = [];
  #active: ActiveFile | null;
  #queue: Submission[] = [];
  #queuedBytes = 0;
  #queuedLines = 0;
  /** Waiters for exclusive access. Each gets a function that gives the turn back. */
  #tasks: ((release: () => void) => void)[] = [];
  #isBusy = false;
  #isScheduled = false;
  #closed = false;
  /** How many lines the writers of the last round had: what a gathering batch waits for. */
  #expectedLines = 0;
  #gatherUntil = 0;
  #gatherTurns = 0;

  /** `sealed` is called with each segment that was sealed, between batches. */
  constructor(
    history: History,
    active: ActiveFile | null,
    clock: Clock,
    limits: LedgerLimits,
    sealed: (segment: Segment) => Promise<void>,
  ) {
    this.#sealed = sealed;
    this.#history = history;
    this.#active = active;
    this.#clock = clock;
    this.#limits = limits;
  }

  follow(listener: FollowListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  submit(submission: Submission): void {
    const refusal = this.#refusalOf(submission);
    if (refusal !== null) {
      queueMicrotask(() => submission.done(refusal, []));
      return;
    }
    this.#queue.push(submission);
    this.#queuedBytes += submission.bytes;
    this.#queuedLines += submission.pending.length;
    this.#schedule();
  }

  #refusalOf(submission: Submission): Refusal | null {
    const { lineBytes, batchBytes, batchLines, pendingBytes } = this.#limits;
    if (this.#closed) return new Refusal("shutting_down");
    if (this.#history.damage !== null) return damagedRefusal(this.#history.damage);
    const line = submission.pending.find(({ bytes }) => bytes > lineBytes);
    if (line !== undefined)
      return new Refusal("too_large", {
        specifics: overSize("The event", line.bytes, lineBytes),
        details: { limit_bytes: lineBytes },
      });
    if (submission.bytes > batchBytes)
      return new Refusal("too_large", {
        specifics: overSize("The batch", submission.bytes, batchBytes),
        details: { limit_bytes: batchBytes },
      });
    if (submission.pending.length > batchLines)
      return new Refusal("too_large", {
        specifics: `The batch has ${submission.pending.length} events; the limit is ${batchLines}.`,
        details: { limit_events: batchLines },
      });
    if (this.#queuedBytes + submission.bytes > pendingBytes) return new Refusal("overloaded");
    return null;
  }

  /** Runs `task` exclusively, between batches. */
  async exclusively<Result>(task: () => Promise<Result>): Promise<Result> {
    const release = await new Promise<() => void>((granted) => {
      this.#tasks.push(granted);
      this.#schedule();
    });
    try {
      return await task();
    } finally {
      release();
    }
  }

  /**
   * Seals the active file; null if it is empty. Refuses with `storage_failed` or `storage_full`;
   * nothing is lost then.
   */
  seal(): Promise<Segment | null> {
    return this.exclusively(() => {
      const { damage } = this.#history;
      return damage === null ? this.#seal() : Promise.reject(damagedRefusal(damage));
    });
  }

  /**
   * Lets waiting appends become durable, then refuses everything else. `last` runs exclusively at
   * the end.
   */
  async close(last: () => Promise<void>): Promise<void> {
    this.#closed = true;
    await this.exclusively(async () => {
      while (this.#queue.length > 0) await this.#writeBatch(this.#takeBatch());
      await last();
      this.#history.closeFiles();
      this.#active = null;
    });
  }

  #schedule(): void {
    if (this.#isBusy || this.#isScheduled) return;
    this.#isScheduled = true;
    this.#gatherTurns = 0;
    setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    this.#isScheduled = false;
    if (this.#isBusy) return;
    if (this.#tasks.length > 0) {
      this.#isBusy = true;
      this.#tasks.shift()!(this.#next);
      return;
    }
    if (this.#queue.length === 0) return;
    if (this.#shouldGather()) {
      this.#isScheduled = true;
      setImmediate(this.#turn);
      return;
    }
    this.#isBusy = true;
    const batch = this.#takeBatch();
    if (this.#isReadyFor(batch)) this.#commit(batch, this.#next);
    else void this.#writeBatch(batch).then(this.#next);
  };

  readonly #next = (): void => {
    this.#isBusy = false;
    if (this.#queue.length > 0 || this.#tasks.length > 0) this.#schedule();
  };

  /**
   * After a round of several writers, waits up to the limit for those that haven't come back yet.
   */
  #shouldGather(): boolean {
    if (this.#queuedLines >= this.#expectedLines || this.#expectedLines > SMALL_BATCH_LINES) return false;
    const now = this.#clock.monotonic();
    if (this.#gatherTurns === 0) this.#gatherUntil = now + this.#limits.gatherMicroseconds / 1000;
    this.#gatherTurns += 1;
    return now < this.#gatherUntil && this.#gatherTurns < GATHER_TURNS;
  }

  #takeBatch(): Submission[] {
    const { batchBytes, batchLines } = this.#limits;
    let bytes = 0;
    let lines = 0;
    let taken = 0;
    for (const submission of this.#queue) {
      if (bytes + submission.bytes > batchBytes || lines + submission.pending.length > batchLines) break;
      bytes += submission.bytes;
      lines += submission.pending.length;
      taken += 1;
    }
    const batch = this.#queue.splice(0, taken);
    this.#queuedBytes -= bytes;
    this.#queuedLines -= lines;
    return batch;
  }

  #isReadyFor(batch: Submission[]): boolean {
    const active = this.#active;
    if (this.#history.damage !== null) return false;
    if (active === null || this.#debts.length > 0 || active.end >= this.#limits.segmentBytes) return false;
    return active.hasRoomFor(bytesOf(batch));
  }

  /** The same with everything that may have to come first. Never rejects. */
  async #writeBatch(batch: Submission[]): Promise<void> {
    const { damage } = this.#history;
    if (damage !== null) {
      refuse(batch, damagedRefusal(damage));
      return;
    }
    try {
      if (this.#active !== null && this.#active.end >= this.#limits.segmentBytes) await this.#seal();
      await this.#settle();
      this.#active ??= await this.#begin();
      await this.#makeRoom(this.#active, bytesOf(batch));
    } catch (error) {
      refuse(batch, storageRefusal(error));
      return;
    }
    await new Promise<void>((done) => this.#commit(batch, done));
  }

  /** Writes and syncs; `done` is called when every caller has its answer. */
  #commit(batch: Submission[], done: () => void): void {
    const active = this.#active!;
    const bytes = bytesOf(batch);
    if (scratch.length < bytes) scratch = Buffer.allocUnsafe(Math.max(bytes, 64 * 1024));
    writeLines(batch, scratch);
    try {
      active.file.write(scratch.subarray(0, bytes), active.end);
      active.extendAhead();
    } catch (error) {
      void this.#fail(batch, error, done);
      return;
    }
    // If no one else is on the way, there is nothing to do during the sync.
    const isAlone = batch.length <= SMALL_BATCH_LINES || batch.length >= this.#expectedLines;
    active.file.sync((error) => {
      if (error !== null) {
        void this.#fail(batch, error, done);
        return;
      }
      active.synced();
      this.#acknowledge(batch, active, bytes);
      done();
    }, isAlone);
  }

  async #fail(batch: Submission[], error: unknown, done: () => void): Promise<void> {
    await this.#retire();
    refuse(batch, storageRefusal(error));
    done();
  }

  #acknowledge(batch: Submission[], active: ActiveFile, bytes: number): void {
    const segment = this.#history.segments.at(-1)!;
    let position = active.end;
    active.end += bytes;
    segment.bytes = active.end;
    let lines = 0;
    for (const { pending } of batch) {
      lines += pending.length;
      for (let at = 0; at < pending.length; at += 1) {
        const placed = pending[at]!;
        segment.count += 1;
        placed.ordinal = this.#history.append(placed.event, placed.key, position);
        position += placed.bytes;
      }
    }
    this.#expectedLines = lines + this.#queuedLines;
    for (let at = 0; at < batch.length; at += 1) answer(batch[at]!, null);
    if (this.#listeners.size === 0) return;
    const all = batch.length === 1 ? batch[0]!.pending : batch.flatMap(({ pending }) => pending);
    for (const listener of this.#listeners) guarded(() => listener(all));
  }

  async #settle(): Promise<void> {
    while (this.#debts.length > 0) {
      await this.#debts[0]!();
      this.#debts.shift();
    }
  }

  async #begin(): Promise<ActiveFile> {
    const history = this.#history;
    const active = await ActiveFile.create(history.storage, this.#limits.extendBytes);
    const number = history.segments.length + 1;
    history.segments.push({
      number,
      name: ACTIVE,
      bytes: 0,
      first: history.count,
      count: 0,
      sealed: false,
      cut: false,
      file: active.file,
    });
    return active;
  }

  async #makeRoom(active: ActiveFile, bytes: number): Promise<void> {
    try {
      await active.makeRoomFor(bytes);
    } catch (error) {
      if (active.isExtending) await this.#retire();
      throw error;
    }
  }

  async #seal(): Promise<Segment | null> {
    try {
      await this.#settle();
      const active = this.#active;
      if (active === null || active.end === 0) return null;
      try {
        active.trim();
        await active.sync();
      } catch (error) {
        await this.#retire();
        throw error;
      }
      const segment = this.#leave(false);
      this.#debts.push(
        () => this.#rename(segment),
        () => syncDirectory(this.#history.storage.files, this.#history.storage.directory),
        () => writeManifest(this.#history.storage, this.#history.segments),
      );
      await this.#settle();
      await this.#sealed(segment);
      return segment;
    } catch (error) {
      throw storageRefusal(error);
    }
  }

  /**
   * After a failed write or sync, nothing shows how much of the batch is on disk, and a second sync
   * of the file would prove nothing. So the manifest records where the acknowledged part ends, and
   * the next batch starts a new segment. Never rejects: failed steps stay due.
   */
  async #retire(): Promise<void> {
    try {
      this.#active!.trim();
    } catch {
      // The manifest's number of bytes counts.
    }
    const segment = this.#leave(true);
    this.#debts.push(
      () => writeManifest(this.#history.storage, this.#history.segments),
      () => this.#rename(segment),
      () => syncDirectory(this.#history.storage.files, this.#history.storage.directory),
    );
    await this.#settle().catch(() => undefined);
  }

  #leave(cut: boolean): Segment {
    const segment = this.#history.segments.at(-1)!;
    segment.sealed = true;
    segment.cut = cut;
    this.#history.closeFile(segment);
    this.#active = null;
    return segment;
  }

  #rename(segment: Segment): void {
    const { storage } = this.#history;
    const name = segmentName(segment.number);
    storage.files.rename(pathOf(storage, segment.name), pathOf(storage, name));
    segment.name = name;
  }
}

function bytesOf(batch: Submission[]): number {
  let bytes = 0;
  for (const submission of batch) bytes += submission.bytes;
  return bytes;
}

/** A line of an atomic batch that isn't its last one ends in a space (`line.ts`). */
function writeLines(batch: Submission[], target: Buffer): void {
  let at = 0;
  for (const { pending } of batch) {
    const last = pending.length - 1;
    for (let index = 0; index <= last; index += 1) {
      const { json, bytes } = pending[index]!;
      const end = index < last ? 2 : 1;
      // Text in ASCII needs no look at each character.
      target.write(json, at, json.length + end === bytes ? "latin1" : "utf8");
      at += bytes;
      if (end === 2) target[at - 2] = SPACE;
      target[at - 1] = LINE_FEED;
    }
  }
}

function refuse(batch: Submission[], refusal: Refusal): void {
  for (const submission of batch) answer(submission, refusal);
}

function answer(submission: Submission, refusal: Refusal | null): void {
  try {
    submission.done(refusal, refusal === null ? submission.pending : []);
  } catch (error) {
    unseen(error);
  }
}

function guarded(call: () => void): void {
  try {
    call();
  } catch (error) {
    unseen(error);
  }
}

/** A listener's own error must not stop the others, but must be logged. */
function unseen(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
