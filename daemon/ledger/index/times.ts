/**
 * The latest time in each block of events: which event was the first at or after a moment, in the
 * order of the history, whatever the clock did. Made when somebody first asks.
 */
import type { Clock } from "../../../platform/clock.ts";
import { Pace } from "../files/pace.ts";
import type { History } from "../history.ts";

const BLOCK_EVENTS = 256;

export class Times {
  readonly #history: History;
  readonly #clock: Clock;
  /** Of whole blocks, milliseconds since 1970. */
  readonly #latest: number[] = [];
  #making: Promise<void> = Promise.resolve();

  constructor(history: History, clock: Clock) {
    this.#history = history;
    this.#clock = clock;
  }

  /** The first ordinal of `kinds` at or after `instant`; undefined when there is none. */
  async firstSince(instant: number, kinds: ReadonlySet<string> | undefined): Promise<number | undefined> {
    this.#making = this.#making.then(() => this.#complete());
    await this.#making;
    const history = this.#history;
    for (let first = 0; first < history.count; first += BLOCK_EVENTS) {
      if ((this.#latest[first / BLOCK_EVENTS] ?? instant) < instant) continue;
      for (let at = first; at < Math.min(first + BLOCK_EVENTS, history.count); at += 1)
        if ((kinds === undefined || history.isOf(kinds, at)) && this.#timeOf(at) >= instant) return at;
    }
    return undefined;
  }

  async #complete(): Promise<void> {
    const pace = new Pace(this.#clock);
    while ((this.#latest.length + 1) * BLOCK_EVENTS <= this.#history.count) {
      const first = this.#latest.length * BLOCK_EVENTS;
      const ordinals = Array.from({ length: BLOCK_EVENTS }, (_, at) => first + at);
      const times = this.#history.readMany(ordinals).map(({ ts }) => Date.parse(ts));
      this.#latest.push(Math.max(Number.NEGATIVE_INFINITY, ...times.filter((time) => !Number.isNaN(time))));
      if (!pace.isOver) continue;
      await pace.pause();
      this.#history.checkOpen();
    }
  }

  #timeOf(ordinal: number): number {
    const [event] = this.#history.readMany([ordinal]);
    return event === undefined ? Number.NEGATIVE_INFINITY : Date.parse(event.ts);
  }
}
