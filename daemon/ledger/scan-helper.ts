/** Has another thread scan segments that lost their index files: half of a large history, in half of the time. */
import type { Thread, Threads } from "../platform/threads.ts";
import type { EventColumns } from "./event-columns.ts";
import type { History } from "./history.ts";
import { SCAN_FORMAT, type ScanJob, type ScannedSegment, takeSegment } from "./scan-thread.ts";
import { indexName } from "./segments.ts";
import { pathOf } from "./storage.ts";

export class ScanHelper {
  readonly #taken: Int32Array;
  readonly #isLost: readonly boolean[];
  readonly #scanned = new Map<number, EventColumns | null>();
  #thread: Thread | null;
  #waiting: (() => void) | null = null;

  /** Null when it isn't worth a thread, or there is none to be had. */
  static start(
    threads: Threads | undefined,
    { storage, segments, options }: History,
    worthBytes: number,
  ): ScanHelper | null {
    const isLost = segments.map(
      ({ number }) => storage.files.stat(pathOf(storage, indexName(number))) === null,
    );
    const lostBytes = segments.reduce((sum, { bytes }, at) => sum + (isLost[at] ? bytes : 0), 0);
    if (threads === undefined || lostBytes < worthBytes) return null;
    const taken = new Int32Array(new SharedArrayBuffer(segments.length * Int32Array.BYTES_PER_ELEMENT));
    for (const at of segments.keys()) if (!isLost[at]) takeSegment(taken, at);
    const helper = new ScanHelper(taken, isLost);
    helper.#thread = threads.start("scan", {
      message: (value) => helper.#take(value as ScannedSegment),
      ended: () => helper.stop(),
    });
    const job: ScanJob = {
      format: SCAN_FORMAT,
      group_id: options.group_id,
      segments: segments.map(({ name, bytes }) => ({ path: pathOf(storage, name), bytes })),
      taken,
    };
    helper.#thread?.post(job);
    return helper.#thread === null ? null : helper;
  }

  private constructor(taken: Int32Array, isLost: readonly boolean[]) {
    this.#taken = taken;
    this.#isLost = isLost;
    this.#thread = null;
  }

  /** What stands in the segment, from the other thread; null when the caller has to read it. Does `meanwhile` before it waits. */
  async columnsOf(place: number, meanwhile: () => void): Promise<EventColumns | null> {
    if (!this.#isLost[place] || takeSegment(this.#taken, place)) return null;
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

  #take({ place, columns }: ScannedSegment): void {
    this.#scanned.set(place, columns);
    this.#waiting?.();
  }
}
