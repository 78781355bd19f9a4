/**
 * A read-write lock that shutdown can destroy, so that nothing waits forever
 * (docs/architecture.md#rules).
 */

/** Releases the permit; idempotent. */
export type Release = () => void;

interface Waiter {
  writes: boolean;
  grant(release: Release): void;
  refuse(error: Error): void;
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

  acquireRead(): Promise<Release> {
    return this.#acquire(false);
  }

  acquireWrite(): Promise<Release> {
    return this.#acquire(true);
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

  #acquire(writes: boolean): Promise<Release> {
    return new Promise((grant, refuse) => {
      if (this.#destroyed !== null) {
        refuse(this.#destroyed);
        return;
      }
      this.#waiting.push({ writes, grant, refuse });
      this.#serve();
    });
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
