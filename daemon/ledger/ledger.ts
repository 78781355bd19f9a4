/** A Group's ledger: durable append, index, reads, following (docs/core-model.md#ledger). */

import type { Clock } from "../../platform/clock.ts";
import { storageRefusal, syncDirectory, unlinkIfThere } from "../../platform/durable.ts";
import type { Files } from "../../platform/files.ts";
import type { Random } from "../../platform/random.ts";
import { Refusal } from "../../shared/errors.ts";
import type { LedgerEvent } from "../../shared/events.ts";
import type { LedgerDamage } from "../../shared/ledger-damage.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { Segment } from "./files/segments.ts";
import { isEventId } from "./format/event-id.ts";
import { encodeLine } from "./format/line-encoding.ts";
import type { History } from "./history.ts";
import { writeIndex } from "./index/index-file.ts";
import { writeTables } from "./index/tables-file.ts";
import { Times } from "./index/times.ts";
import { readPage, readWindow } from "./pages.ts";
import { Filters } from "./search/filters.ts";
import { search } from "./search/search.ts";
import { writeCheckpoint } from "./store/checkpoint.ts";
import { decideToContinue } from "./store/continuing.ts";
import { DAMAGE_NOTE, type Decision, readDamageNote, writeDamageNote } from "./store/damage-note.ts";
import { damagedRefusal } from "./store/damaged.ts";
import { openHistory } from "./store/opening.ts";
import { salvage } from "./store/salvage.ts";
import { type Verification, verify } from "./store/verify.ts";
import { type Pending, type Submission, Writer } from "./store/writer.ts";
import type {
  LedgerLimits,
  LedgerOptions,
  NewEvent,
  Ordinal,
  Page,
  PageRequest,
  Placed,
  SearchPage,
  SearchRequest,
  Window,
  WindowRequest,
} from "./types.ts";

const ID_BYTES = 16;
/** A draw costs as much as hundreds of ids. */
const IDS_AT_ONCE = 512;

/** Called once: with the event's place when it is durable, or with the refusal. */
export type AppendDone<Kind extends LedgerEvent["kind"]> = (
  refusal: Refusal | null,
  placed?: Placed<Kind>,
) => void;

export interface LedgerDependencies {
  files: Files;
  clock: Clock;
  random: Random;
}

export class Ledger {
  readonly #history: History;
  readonly #writer: Writer;
  readonly #filters: Filters;
  readonly #times: Times;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #limits: LedgerLimits;
  /** The last instant requested and its text, which a batch shares. */
  #instant = -1;
  #timestamp = "";
  /** Random bytes for ids, and how many of them are used. */
  #ids = Buffer.alloc(0);
  #idsUsed = 0;
  #closing: Promise<void> | null = null;
  #noting: Promise<void> = Promise.resolve();
  /** What a person decided about a damage and the ledger doesn't say yet. */
  decision: Decision | null = null;

  private constructor(
    history: History,
    writer: Writer,
    filters: Filters,
    deps: LedgerDependencies,
    limits: LedgerLimits,
  ) {
    this.#history = history;
    this.#writer = writer;
    this.#filters = filters;
    this.#times = new Times(history, deps.clock);
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#limits = limits;
  }

  /**
   * Opens or starts the ledger in `directory` (created if missing; its parent exists). A torn tail
   * is copied aside and cut off. Index and projections are restored or rebuilt. Refuses with
   * `ledger_corrupt` if a person must choose, else with `storage_failed` or `storage_full`. Then
   * nothing was recorded or lost.
   */
  static async open(deps: LedgerDependencies, directory: string, options: LedgerOptions): Promise<Ledger> {
    const limits: LedgerLimits = { ...LIMITS.ledger, ...options.limits };
    try {
      const { history, active, unindexed, decision } = await openHistory(
        { files: deps.files, directory },
        options,
        limits,
        deps.clock,
      );
      const filters = new Filters(history, deps.clock, limits.searchFilterBytes);
      const writer = new Writer(history, active, deps.clock, limits, (segment) => {
        filters.completeSoon();
        return keepIndexes(history, [segment]);
      });
      if (unindexed.length > 0) void writer.exclusively(() => keepIndexes(history, unindexed));
      const ledger = new Ledger(history, writer, filters, deps, limits);
      ledger.decision = decision;
      return ledger;
    } catch (error) {
      throw storageRefusal(error);
    }
  }

  /**
   * Decides to go on without what is missing; the next `open` does it. False when nothing is. The
   * ledger must be closed. Refuses with `ledger_corrupt`, `storage_full` or `storage_failed`.
   */
  static async decideToContinue(
    { files, clock, random }: LedgerDependencies,
    directory: string,
    options: LedgerOptions,
    by: string,
  ): Promise<boolean> {
    try {
      const eventId = Buffer.from(random.bytes(ID_BYTES)).toString("hex");
      return await decideToContinue({ files, directory }, options, { by, event_id: eventId }, clock);
    } catch (error) {
      throw storageRefusal(error);
    }
  }

  /**
   * Opens a ledger that `open` has refused with `ledger_corrupt`, for reading only: every whole
   * line that is left. Nothing on disk is changed, and every append is refused with
   * `ledger_damaged`. Refuses with `ledger_corrupt` when not even the order of the files is
   * certain, and with `storage_failed`.
   */
  static openDamaged(
    deps: LedgerDependencies,
    directory: string,
    options: LedgerOptions,
    refused: Refusal,
  ): Ledger {
    const limits: LedgerLimits = { ...LIMITS.ledger, ...options.limits };
    try {
      const { history, damage } = salvage({ files: deps.files, directory }, options);
      const known = { missing_events: 0, missing: [], files: [], problems: [refused.message] };
      history.damage = damage ?? known;
      const filters = new Filters(history, deps.clock, Number.POSITIVE_INFINITY);
      return new Ledger(
        history,
        new Writer(history, null, deps.clock, limits, async () => {}),
        filters,
        deps,
        limits,
      );
    } catch (error) {
      throw storageRefusal(error);
    }
  }

  /** What is missing or damaged; null when nothing is known to be. */
  get damage(): LedgerDamage | null {
    return this.#history.damage;
  }

  /** The decision is recorded: it needn't be kept beside the ledger any longer. */
  async forgetDecision(): Promise<void> {
    const { files, directory } = this.#history.storage;
    unlinkIfThere(files, `${directory}/${DAMAGE_NOTE}`);
    await syncDirectory(files, directory);
    this.decision = null;
  }

  /**
   * Keeps beside the ledger that it is damaged, so that the next start reads it whole. Never
   * rejects: a disk that refuses it can't be helped.
   */
  noteDamage(): Promise<void> {
    this.#noting = this.#noting.then(() => this.#noteDamage());
    return this.#noting;
  }

  async #noteDamage(): Promise<void> {
    const { damage } = this;
    const { storage, options } = this.#history;
    try {
      if (damage === null || readDamageNote(storage, options.group_id) !== null) return;
      const events = this.#history.isSalvaged ? this.count + damage.missing_events : this.count;
      await writeDamageNote(storage, options.group_id, damage, events, null);
    } catch {
      // The next start finds out by itself, or by the next read.
    }
  }

  /** `listener` is told of damage that is found while the ledger is open. */
  onDamage(listener: (damage: LedgerDamage) => void): void {
    this.#history.damaged = listener;
  }

  /** Refuses with `ledger_damaged` when nothing may be recorded. */
  checkWritable(): void {
    const { damage } = this.#history;
    if (damage !== null) throw damagedRefusal(damage);
  }

  /** Sealed segments. */
  get segments(): number {
    return this.#history.segments.filter((segment) => segment.sealed).length;
  }

  /** Events recorded so far. */
  get count(): number {
    return this.#history.count;
  }

  /** -1 when empty. */
  get lastOrdinal(): Ordinal {
    return this.#history.count - 1;
  }

  /** Bytes that the index holds in memory. */
  get indexBytes(): number {
    return this.#history.index.bytes;
  }

  /**
   * Resolves when the event is durable. Refuses with `storage_failed`, `storage_full`, `too_large`,
   * `overloaded` or `shutting_down`.
   */
  append<Kind extends LedgerEvent["kind"]>(event: NewEvent<Kind> & { kind: Kind }): Promise<Placed<Kind>> {
    return new Promise((done, failed) => {
      this.#submit<Kind>([event], (refusal, placed) =>
        refusal === null ? done(placed[0]!) : failed(refusal),
      );
    });
  }

  /** The same with a callback, for the hot path. `done` runs before any other event is recorded. */
  submit<Kind extends LedgerEvent["kind"]>(
    event: NewEvent<Kind> & { kind: Kind },
    done: AppendDone<Kind>,
  ): void {
    this.#submit<Kind>([event], (refusal, placed) =>
      refusal === null ? done(null, placed[0]) : done(refusal),
    );
  }

  /** All in one batch: after a crash or a refusal, either all of them are there or none. */
  appendAll<Kind extends LedgerEvent["kind"]>(
    events: (NewEvent<Kind> & { kind: Kind })[],
  ): Promise<Placed<Kind>[]> {
    if (events.length === 0) return Promise.resolve([]);
    return new Promise((done, failed) => {
      this.#submit<Kind>(events, (refusal, placed) => (refusal === null ? done(placed) : failed(refusal)));
    });
  }

  #submit<Kind extends LedgerEvent["kind"]>(
    news: readonly NewEvent[],
    done: (refusal: Refusal | null, placed: Placed<Kind>[]) => void,
  ): void {
    const pending: Pending[] = [];
    let total = 0;
    for (let at = 0; at < news.length; at += 1) {
      const event = this.#event(news[at]!);
      const json = encodeLine(event);
      const bytes = Buffer.byteLength(json) + (at + 1 < news.length ? 2 : 1);
      pending.push({ ordinal: -1, event, json, bytes, key: news[at]!.key });
      total += bytes;
    }
    // What is placed has the kinds of what was handed over.
    this.#writer.submit({ pending, bytes: total, done: done as unknown as Submission["done"] });
  }

  #event(fresh: NewEvent): LedgerEvent {
    const id = fresh.id ?? this.#newId();
    if (fresh.id !== undefined && !isEventId(id))
      throw new TypeError("an event id is 32 lowercase hex digits");
    const { kind, scope_key: scopeKey, by, data } = fresh;
    // Kind and data are of one event; the parts alone don't show it.
    return {
      v: 1,
      id,
      ts: fresh.ts ?? this.#now(),
      kind,
      group_id: this.#history.options.group_id,
      scope_key: scopeKey,
      by,
      data,
    } as LedgerEvent;
  }

  #newId(): string {
    if (this.#idsUsed === this.#ids.length) {
      this.#ids = Buffer.from(this.#random.bytes(ID_BYTES * IDS_AT_ONCE));
      this.#idsUsed = 0;
    }
    this.#idsUsed += ID_BYTES;
    return this.#ids.toString("hex", this.#idsUsed - ID_BYTES, this.#idsUsed);
  }

  #now(): string {
    const now = this.#clock.now();
    if (now !== this.#instant) {
      this.#instant = now;
      this.#timestamp = new Date(now).toISOString();
    }
    return this.#timestamp;
  }

  ordinalOf(id: string): Ordinal | undefined {
    return this.#history.ordinalOf(id);
  }

  idOf(ordinal: Ordinal): string {
    return this.#history.index.id(ordinal);
  }

  /**
   * Of the events whose ids begin with these hex digits, oldest first; each is looked up when it is
   * asked for.
   */
  startingWith(prefix: string): Generator<Ordinal> {
    return this.#history.index.startingWith(prefix);
  }

  /**
   * The first event recorded under this idempotency key, over the whole history or from an ordinal
   * on.
   */
  byKey(key: string, from: Ordinal = 0): Ordinal | undefined {
    return this.#history.byKey(key, from);
  }

  /** Refuses with `event_not_found` or `event_unreadable`. */
  read(ordinal: Ordinal): LedgerEvent {
    return this.#history.read(ordinal);
  }

  /**
   * Events in the order of `ordinals`, which ascend, without those that can't be read any more.
   * Neighbors come with one read of the disk.
   */
  readMany(ordinals: readonly Ordinal[]): LedgerEvent[] {
    return this.#history.readMany(ordinals);
  }

  /** Refuses with `event_not_found` or `event_unreadable`. */
  readById(id: string): LedgerEvent {
    return this.#history.read(this.#history.knownOrdinal(id));
  }

  /**
   * Later events that refer to this one (replies, delivery states, cancellations, receipts,
   * notices), oldest first.
   */
  related(ordinal: Ordinal): Ordinal[] {
    return ordinal >= 0 && ordinal < this.count ? this.#history.index.related(ordinal) : [];
  }

  /** Refuses with `event_not_found` for an unknown `before` or `after`. */
  page(request: PageRequest): Page {
    return readPage(this.#history, request);
  }

  /** Refuses with `event_not_found`. */
  window(request: WindowRequest): Window {
    return readWindow(this.#history, request);
  }

  /**
   * Newest matches first found, returned oldest first. Ignores case. Refuses with `event_not_found`
   * for an unknown `before`.
   */
  search(request: SearchRequest): Promise<SearchPage> {
    const { searchScanBytes, filterScanBytes } = this.#limits;
    // Without words, every event has to be parsed.
    const bytes = request.query === "" ? filterScanBytes : searchScanBytes;
    return search(this.#history, this.#filters, request, bytes, this.#clock);
  }

  /**
   * The first event of `kinds`, in the order of the history, whose time is at or after `instant`,
   * in milliseconds since 1970; undefined if there is none.
   */
  async firstSince(instant: number, kinds?: ReadonlySet<string>): Promise<string | undefined> {
    const first = await this.#times.firstSince(instant, kinds);
    return first === undefined ? undefined : this.#history.index.id(first);
  }

  /**
   * `listener` is called with each batch once it is durable, in order, after projections and
   * callers. Returns a function that stops it.
   */
  follow(listener: (placed: readonly Placed[]) => void): () => void {
    return this.#writer.follow(listener);
  }

  /**
   * Seals the active file as a segment (null if it is empty), and creates what a fast search of
   * sealed segments needs.
   */
  async compact(): Promise<{ sealed: { number: number; events: number; bytes: number } | null }> {
    const segment = await this.#writer.seal();
    await this.#filters.complete();
    if (segment === null) return { sealed: null };
    return { sealed: { number: segment.number, events: segment.count, bytes: segment.bytes } };
  }

  /**
   * Reads everything and compares index and projections with a rebuild from scratch. Appends
   * continue in the meantime.
   */
  verify(): Promise<Verification> {
    return verify(this.#history, this.#clock);
  }

  /**
   * Everything submitted before becomes durable or is refused. Afterwards the next open is fast.
   * Idempotent.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // Nobody else writes there once it is closed.
    await this.#noting;
    await this.#writer.close(async () => {
      const last = this.#history.segments.at(-1);
      if (last !== undefined && !last.sealed) await keepIndexes(this.#history, [last]);
      await this.#filters.close();
    });
  }
}

/** Index files and checkpoint only save time. A disk that refuses them stops nothing. */
async function keepIndexes(history: History, segments: Segment[]): Promise<void> {
  // What is beside a damaged ledger says what was recorded.
  if (history.damage !== null) return;
  try {
    for (const segment of segments) await writeIndex(history, segment);
    await writeTables(history);
    await writeCheckpoint(history);
  } catch {
    // The next open reads the segments instead.
  }
}
