/**
 * Input on its way to a process that may not read it. A write never waits: what the system doesn't
 * take now is tried again later, the less often the longer nothing was taken.
 */
import { LIMITS } from "../../shared/limits.ts";
import type { Clock, Timer } from "../clock.ts";
import type { InputReceipt } from "../processes.ts";

/** Where the bytes go: a terminal's descriptor. */
export interface InputSink {
  /**
   * Passes on `bytes` from `from` to before `to`, as many as fit now, and gives how many; 0 when
   * there is no room. Throws when the terminal is gone.
   */
  write(bytes: Uint8Array, from: number, to: number): number;
}

interface Entry {
  bytes: Buffer;
  /** What was passed on. */
  at: number;
  isAnswer: boolean;
  receipt: { state: InputReceipt["state"] };
}

const { unreadBytes, answerBytes, stuckSeconds } = LIMITS.terminal;
/** Pieces of input that may wait: one may be a single key. */
const ENTRIES = 64 * 1024;
const SLICE_BYTES = 16 * 1024;
/** Passed on in one turn of the event loop. */
const TURN_BYTES = 256 * 1024;
/** How soon it is tried again after some time without progress, in milliseconds. */
const PACE: readonly (readonly [without: number, again: number])[] = [
  [20, 1],
  [300, 10],
  [3000, 50],
  [Number.POSITIVE_INFINITY, 250],
];

export class InputQueue {
  readonly #sink: InputSink;
  readonly #clock: Pick<Clock, "monotonic" | "after">;
  readonly #stuckChanged: () => void;
  readonly #entries: Entry[] = [];
  #unread = 0;
  #unreadAnswers = 0;
  /** Of this turn of the event loop. */
  #answers: string[] = [];
  #timer: Timer | null = null;
  /** Monotonic; of the last byte that was taken, or of the first that had to wait. */
  #progressAt = 0;
  #isStuck = false;
  #isClosed = false;

  constructor(sink: InputSink, clock: Pick<Clock, "monotonic" | "after">, stuckChanged: () => void) {
    this.#sink = sink;
    this.#clock = clock;
    this.#stuckChanged = stuckChanged;
  }

  /** Bytes that wait, without answers. */
  get unread(): number {
    return this.#unread;
  }

  /** Since something began to wait, the process has once not read for `stuckSeconds`. */
  get isStuck(): boolean {
    return this.#isStuck;
  }

  /** All of it or, when it doesn't fit or the terminal is gone, nothing: null. */
  write(data: string): InputReceipt | null {
    const bytes = Buffer.from(data);
    const isFull = this.#unread + bytes.length > unreadBytes || this.#entries.length >= ENTRIES;
    if (this.#isClosed || isFull) return null;
    this.#passAnswers();
    const receipt: Entry["receipt"] = { state: "waiting" };
    this.#unread += bytes.length;
    this.#append({ bytes, at: 0, isAnswer: false, receipt });
    return receipt;
  }

  /** Whole answers only; those of one turn go together. */
  answer(data: string): void {
    const waiting = this.#unreadAnswers + Buffer.byteLength(data);
    if (this.#isClosed || waiting > answerBytes) return;
    this.#unreadAnswers = waiting;
    this.#answers.push(data);
    if (this.#answers.length === 1) setImmediate(() => this.#passAnswers());
  }

  /** Forgets what waits, answers too; gives how many bytes of input. */
  drop(): number {
    const dropped = this.#unread;
    for (const { receipt } of this.#entries.splice(0)) receipt.state = "dropped";
    this.#answers = [];
    this.#unread = 0;
    this.#unreadAnswers = 0;
    this.#rest();
    return dropped;
  }

  /** The terminal is gone. What waits is dropped, but still counts in `unread`. */
  close(): void {
    const { unread } = this;
    this.#isClosed = true;
    this.drop();
    this.#unread = unread;
  }

  #passAnswers(): void {
    if (this.#answers.length === 0) return;
    const bytes = Buffer.from(this.#answers.join(""));
    this.#answers = [];
    this.#append({ bytes, at: 0, isAnswer: true, receipt: { state: "waiting" } });
  }

  #append(entry: Entry): void {
    this.#entries.push(entry);
    if (this.#entries.length > 1) return;
    this.#progressAt = this.#clock.monotonic();
    this.#pass();
  }

  #pass(): void {
    this.#timer = null;
    let left = TURN_BYTES;
    for (let entry = this.#entries[0]; entry !== undefined; entry = this.#entries[0]) {
      if (left <= 0) return this.#wait(0);
      const { bytes, at, isAnswer, receipt } = entry;
      const taken = this.#taken(bytes, at);
      if (taken === "gone") return this.close();
      if (taken === 0 && at < bytes.length) return this.#wait(this.#pause());
      left -= taken;
      this.#progressAt = this.#clock.monotonic();
      entry.at += taken;
      if (isAnswer) this.#unreadAnswers -= taken;
      else this.#unread -= taken;
      if (entry.at < bytes.length) continue;
      receipt.state = "written";
      this.#entries.shift();
    }
    this.#rest();
  }

  #taken(bytes: Buffer, at: number): number | "gone" {
    try {
      return this.#sink.write(bytes, at, Math.min(bytes.length, at + SLICE_BYTES));
    } catch {
      return "gone";
    }
  }

  #pause(): number {
    const without = this.#clock.monotonic() - this.#progressAt;
    if (without >= stuckSeconds * 1000) this.#become(true);
    return PACE.find(([time]) => without < time)![1];
  }

  #wait(milliseconds: number): void {
    this.#timer = this.#clock.after(milliseconds, () => this.#pass(), { background: true });
  }

  #rest(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#become(false);
  }

  #become(isStuck: boolean): void {
    if (this.#isStuck === isStuck) return;
    this.#isStuck = isStuck;
    this.#stuckChanged();
  }
}
