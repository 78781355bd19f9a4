/** Has another thread scan segments that lost their index files: half of a large history, in half of the time. */
import type { Thread, Threads } from "../../../platform/threads.ts";
import type { History } from "../history.ts";
import { indexName } from "../store/segments.ts";
import { pathOf } from "../store/storage.ts";
import type { LedgerLimits } from "../types.ts";
import type { EventColumns } from "./event-columns.ts";
import { SCAN_FORMAT, type ScanJob, type ScannedPart, takePart } from "./scan-thread.ts";
import { type Part, partsOf } from "./segment-parts.ts";

export class ScanHelper {
  /** By the place of their segment. */
  readonly #parts: ReadonlyMap<number, Part[]>;
  readonly #places: ReadonlyMap<Part, number>;
  readonly #taken: Int32Array;
  readonly #scanned = new Map<number, EventColumns | null>();
  #thread: Thread | null = null;
  #waiting: (() => void) | null = null;

  /** Null when it isn't worth a thread, or there is none to be had. */
  static start(
    threads: Threads | undefined,
    history: History,
    { threadBytes, partBytes }: LedgerLimits,
  ): ScanHelper | null {
    const { storage, segments, options } = history;
    const lost = segments.flatMap((segment, place) =>
      storage.files.stat(pathOf(storage, indexName(segment.number))) === null ? [{ segment, place }] : [],
    );
    const lostBytes = lost.reduce((sum, { segment }) => sum + segment.bytes, 0);
    if (threads === undefined || lostBytes < threadBytes) return null;
    const parts = new Map(
      lost.map(({ segment, place }) => [place, partsOf(history.fileOf(segment), segment.bytes, partBytes)]),
    );
    const helper = new ScanHelper(parts);
    helper.#thread = threads.start("scan", {
      message: (value) => helper.#take(value as ScannedPart),
      ended: () => helper.stop(),
    });
    const job: ScanJob = {
      format: SCAN_FORMAT,
      group_id: options.group_id,
      parts: lost.flatMap(({ segment, place }) =>
        parts.get(place)!.map((part) => ({ ...part, path: pathOf(storage, segment.name) })),
      ),
      taken: helper.#taken,
    };
    helper.#thread?.post(job);
    return helper.#thread === null ? null : helper;
  }

  private constructor(parts: ReadonlyMap<number, Part[]>) {
    this.#parts = parts;
    this.#places = new Map([...parts.values()].flat().map((part, place) => [part, place]));
    this.#taken = new Int32Array(new SharedArrayBuffer(this.#places.size * Int32Array.BYTES_PER_ELEMENT));
  }

  /** How the segment is shared; undefined when it isn't. */
  partsOf(segment: number): readonly Part[] | undefined {
    return this.#parts.get(segment);
  }

  /** What stands in the part, from the other thread; null when the caller has to read it. Does `meanwhile` before it waits. */
  async columnsOf(part: Part, meanwhile: () => void): Promise<EventColumns | null> {
    const place = this.#places.get(part);
    if (place === undefined || takePart(this.#taken, place)) return null;
    if (!this.#scanned.has(place)) meanwhile();
    while (!this.#scanned.has(place) && this.#thread !== null) {
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
    const columns = this.#scanned.get(place) ?? null;
    this.#scanned.delete(place);
    return columns;
  }

  /** Idempotent. */
  stop(): void {
    this.#thread?.stop();
    this.#thread = null;
    this.#waiting?.();
  }

  #take({ place, columns }: ScannedPart): void {
    this.#scanned.set(place, columns);
    this.#waiting?.();
  }
}
