/**
 * The event loop's turns, counted: while somebody holds them, what the daemon puts off with
 * `setImmediate` waits in a line of our own, so that everything that is ready can be run to its
 * end, one turn after the other, and always in the same order.
 */

type Task = () => void;

export class Turns {
  readonly #real = globalThis.setImmediate;
  readonly #line: Task[] = [];
  #at = 0;
  /** Turns so far. */
  count = 0;

  constructor() {
    const put = (task: (...args: unknown[]) => void, ...args: unknown[]): number =>
      this.#line.push(() => task(...args));
    globalThis.setImmediate = put as unknown as typeof setImmediate;
  }

  /** Gives the event loop back. What is still in line never runs. */
  release(): void {
    globalThis.setImmediate = this.#real;
  }

  put(task: Task): void {
    this.#line.push(task);
  }

  /** Runs turn after turn until nothing is ready; `after` each of them. */
  async rest(after: () => void): Promise<void> {
    for (;;) {
      // Promises run to their end before the next real turn.
      await new Promise<void>((resolve) => this.#real(resolve));
      after();
      const task = this.#line[this.#at];
      if (task === undefined) {
        this.#line.length = 0;
        this.#at = 0;
        return;
      }
      this.#at += 1;
      this.count += 1;
      task();
    }
  }
}
