/**
 * How far the peers' clocks are from ours, as far as requests and refusals show. A request is valid
 * for a minute, and its sender's clock may be half a minute ahead. Otherwise it is refused, and
 * people would not understand why unless they are told about the clocks.
 */

import type { Clock } from "../../../platform/clock.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { milliseconds, Time } from "../../../shared/wire/v1/time.ts";

/**
 * Milliseconds by which the peer's clock is ahead. Negative when it is behind, null when it is
 * close enough.
 */
interface Difference {
  /** As seen in the peer's requests. */
  heard: number | null;
  /** As the peer said when it refused one of ours. */
  told: number | null;
}

const { skewSeconds, proofSeconds } = LIMITS.connect;
/** Rounded to the largest unit of which there are two. */
const UNITS = [
  { name: "days", milliseconds: 24 * 3_600_000 },
  { name: "hours", milliseconds: 3_600_000 },
  { name: "minutes", milliseconds: 60_000 },
  { name: "seconds", milliseconds: 1000 },
] as const;

export class PeerClocks {
  readonly #clock: Clock;
  readonly #changed: () => void;
  readonly #differences = new Map<string, Difference>();

  /** `changed` is called when the answer of `problem` may have changed. */
  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  /**
   * A request came over this connection, issued at that time by the peer's clock. Transport takes
   * time, so only a great age means something.
   */
  heard(id: string, issuedAt: string): void {
    const ahead = milliseconds(issuedAt) - this.#clock.now();
    const isNear = ahead <= skewSeconds * 1000 && ahead > -proofSeconds * 1000;
    this.#note(id, { heard: isNear ? null : ahead });
  }

  /**
   * The peer refused a request of ours for its time, and said what its own clock shows. If that
   * agrees with ours, the request took long to arrive, for example because a machine was asleep.
   */
  told(id: string, now: unknown): void {
    const time = Time.safeParse(now);
    if (!time.success) return;
    const ahead = milliseconds(time.data) - this.#clock.now();
    this.#note(id, { told: Math.abs(ahead) <= skewSeconds * 1000 ? null : ahead });
  }

  /** The peer accepted a request of ours. */
  agreed(id: string): void {
    this.#note(id, { told: null });
  }

  /** Forgets connections that are no longer `there`. */
  keep(there: (id: string) => boolean): void {
    for (const id of this.#differences.keys()) if (!there(id)) this.#differences.delete(id);
  }

  /**
   * Whose clock is ahead and by how much, as a sentence; null while nothing shows that the clocks
   * differ.
   */
  problem(id: string): string | null {
    const { heard = null, told = null } = this.#differences.get(id) ?? {};
    const ahead = told ?? heard;
    if (ahead === null) return null;
    return `The other side's clock is about ${inWords(Math.abs(ahead))} ${ahead > 0 ? "ahead of" : "behind"} this machine's.`;
  }

  #note(id: string, seen: Partial<Difference>): void {
    const before = this.problem(id);
    const { heard = null, told = null } = { ...this.#differences.get(id), ...seen };
    if (heard === null && told === null) this.#differences.delete(id);
    else this.#differences.set(id, { heard, told });
    if (this.problem(id) !== before) this.#changed();
  }
}

function inWords(distance: number): string {
  const unit = UNITS.find(({ milliseconds }) => distance >= 2 * milliseconds) ?? UNITS[3];
  return `${Math.round(distance / unit.milliseconds)} ${unit.name}`;
}
