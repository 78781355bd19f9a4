/**
 * How much a peer may write here at once (docs/protocol.md#what-a-peer-may-write): a number of
 * messages and withdrawals, and a number of bytes for them and their files. The allowance refills
 * slowly. A peer that exceeds it is told to try again, as for any temporary problem.
 */

import type { Clock } from "../../../platform/clock.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { PeerRefusal } from "../wire/peer-refusal.ts";

/** What may still be written now. */
export interface Allowance {
  records: number;
  bytes: number;
}

interface Spent extends Allowance {
  /** `Clock.monotonic()` at which that much was spent. */
  at: number;
}

const { records, recordsPerSecond, bytes, bytesPerDay } = LIMITS.connect.quota;
const BYTES_PER_SECOND = bytesPerDay / (24 * 3600);

export class ReceiverQuota {
  readonly #clock: Clock;
  /**
   * By connection, or by instance within an account. Peers that have spent nothing aren't listed.
   */
  readonly #spent = new Map<string, Spent>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  left(peer: string): Allowance {
    const spent = this.#now(peer);
    return { records: Math.floor(records - spent.records), bytes: Math.floor(bytes - spent.bytes) };
  }

  /**
   * Takes one record of this many bytes off the allowance. Throws PeerRefusal io_error if it is
   * used up.
   */
  spend(peer: string, size: number): void {
    const spent = this.#now(peer);
    if (spent.records + 1 > records) throw overdrawn("messages and withdrawals");
    if (spent.bytes + size > bytes) throw overdrawn("bytes");
    this.#spent.set(peer, { records: spent.records + 1, bytes: spent.bytes + size, at: spent.at });
    if (this.#spent.size > LIMITS.connect.admittedKeys) this.#forget();
  }

  #now(peer: string): Spent {
    const at = this.#clock.monotonic();
    const spent = this.#spent.get(peer);
    if (spent === undefined) return { records: 0, bytes: 0, at };
    const seconds = (at - spent.at) / 1000;
    return {
      records: Math.max(0, spent.records - seconds * recordsPerSecond),
      bytes: Math.max(0, spent.bytes - seconds * BYTES_PER_SECOND),
      at,
    };
  }

  #forget(): void {
    for (const peer of this.#spent.keys()) {
      const spent = this.#now(peer);
      if (spent.records === 0 && spent.bytes === 0) this.#spent.delete(peer);
    }
  }
}

function overdrawn(what: string): PeerRefusal {
  return new PeerRefusal(
    "io_error",
    `This connection has sent as many ${what} as it may for now. Try again later.`,
  );
}
