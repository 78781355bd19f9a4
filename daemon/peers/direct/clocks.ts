/**
 * How far the peers' clocks are from ours, as far as requests and refusals show it. A request is
 * good for a minute and may be from a clock that is half a minute ahead; beyond that it is refused,
 * which nobody would understand who isn't told of the clocks.
 */

import type { Clock } from "../../../platform/clock.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { milliseconds, Time } from "../../../shared/wire/v1/time.ts";

/**
 * Milliseconds that the peer's clock is ahead; negative when it is behind, null when it is near
 * enough.
 */
interface Difference {
  /** By the peer's requests. */
  heard: number | null;
  /** By what the peer said when it refused one of ours. */
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

  /** `changed` is called when what `problem` says may be another. */
  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  /**
   * A request came over this connection, issued at that time of the peer's. The way takes a while,
   * so that only a great age says something.
   */
  heard(id: string, issuedAt: string): void {
    const ahead = milliseconds(issuedAt) - this.#clock.now();
    const isNear = ahead <= skewSeconds * 1000 && ahead > -proofSeconds * 1000;
    this.#note(id, { heard: isNear ? null : ahead });
  }

  /**
   * The peer refused a request of ours for its time, and said what its own clock shows. One that
   * agrees with ours says that the request was long on its way, as when a machine slept meanwhile.
   */
  told(id: string, now: unknown): void {
    const time = Time.safeParse(now);
    if (!time.success) return;
    const ahead = milliseconds(time.data) - this.#clock.now();
    this.#note(id, { told: Math.abs(ahead) <= skewSeconds * 1000 ? null : ahead });
  }

  /** The peer took a request of ours. */
  agreed(id: string): void {
    this.#note(id, { told: null });
  }

  /** Nothing is known of connections that aren't `there` any more. */
  keep(there: (id: string) => boolean): void {
    for (const id of this.#differences.keys()) if (!there(id)) this.#differences.delete(id);
  }

  /**
   * Whose clock is ahead and by how much, as a sentence; null while the clocks agree as far as
   * anybody knows.
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
