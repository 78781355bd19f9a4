/**
 * A read-write lock that shutdown can destroy, so that nothing waits forever
 * (docs/architecture.md#rules).
 */

import type { Clock } from "./clock.ts";

/** Releases the permit; idempotent. */
export type Release = () => void;

/** How long to wait for a permit, and the error for when it takes longer. */
export interface Patience {
  clock: Pick<Clock, "after">;
  milliseconds: number;
  late: () => Error;
}

interface Waiter {
  writes: boolean;
  grant: (release: Release) => void;
  refuse: (error: Error) => void;
}

/**
 * Many readers or one writer, in the order of their requests. A waiting writer holds back later
 * readers, so neither side starves.
 */
export class Mutex {
  #readers = 0;
  #writing = false;
  #destroyed: Error | null = null;
  #waiting: Waiter[] = [];

  /**
   * Rejects with the error of `destroy`, or of `patience`. Without that it waits as long as it
   * takes.
   */
  acquireRead(patience?: Patience): Promise<Release> {
    return this.#acquire(false, patience);
  }

  /** As `acquireRead`. */
  acquireWrite(patience?: Patience): Promise<Release> {
    return this.#acquire(true, patience);
  }

  /** A read permit at once, or null if one would have to wait. */
  tryRead(): Release | null {
    if (this.#writing || this.#waiting.length > 0 || this.#destroyed !== null) return null;
    this.#readers += 1;
    return this.#release(false);
  }

  /**
   * Everyone who waits now or asks later gets `error`. Permits already held stay valid. Idempotent:
   * the first error counts.
   */
  destroy(error: Error): void {
    this.#destroyed ??= error;
    for (const waiter of this.#waiting.splice(0)) waiter.refuse(this.#destroyed);
  }

  #acquire(writes: boolean, patience?: Patience): Promise<Release> {
    return new Promise((grant, refuse) => {
      if (this.#destroyed !== null) {
        refuse(this.#destroyed);
        return;
      }
      const waiter: Waiter = { writes, grant, refuse };
      this.#waiting.push(waiter);
      this.#serve();
      if (patience !== undefined && this.#waiting.includes(waiter)) this.#limit(waiter, patience);
    });
  }

  /** A waiter that gives up leaves the line, so that those behind a writer may go on. */
  #limit(waiter: Waiter, { clock, milliseconds, late }: Patience): void {
    const { grant, refuse } = waiter;
    const timer = clock.after(milliseconds, () => {
      this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
      refuse(late());
      this.#serve();
    });
    waiter.grant = (release) => {
      timer.cancel();
      grant(release);
    };
    waiter.refuse = (error) => {
      timer.cancel();
      refuse(error);
    };
  }

  #serve(): void {
    for (;;) {
      const next = this.#waiting[0];
      if (next === undefined || this.#writing || (next.writes && this.#readers > 0)) return;
      this.#waiting.shift();
      if (next.writes) this.#writing = true;
      else this.#readers += 1;
      next.grant(this.#release(next.writes));
    }
  }

  #release(writes: boolean): Release {
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      if (writes) this.#writing = false;
      else this.#readers -= 1;
      this.#serve();
    };
  }
}
