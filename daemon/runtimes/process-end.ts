/** Ends processes: politely, then firmly, the whole tree. */
import { LIMITS } from "../../shared/limits.ts";
import type { Clock } from "../platform/clock.ts";
import type { Processes } from "../platform/processes.ts";

/** Processes told from later ones with their pids. */
type Family = ReadonlyMap<number, string>;

export class ProcessEnds {
  readonly #processes: Processes;
  readonly #clock: Clock;

  constructor(processes: Processes, clock: Clock) {
    this.#processes = processes;
    this.#clock = clock;
  }

  /** The process with its session and descendants, as they live now. */
  family(pid: number): Family {
    const family = new Map<number, string>();
    for (const member of this.#processes.familyOf(pid)) {
      const birth = this.#processes.birthOf(member);
      if (birth !== null) family.set(member, birth);
    }
    return family;
  }

  /**
   * Sends `signal` to the process; when it hasn't `ended` after the time, kills everything. What outlives it is told to end and then killed,
   * too. Resolves when nothing is left that can be seen.
   */
  async end(
    pid: number,
    signal: "SIGTERM" | "SIGHUP",
    ended: Promise<void>,
    seconds: number = LIMITS.terminal.stopSeconds,
  ): Promise<void> {
    const family = this.family(pid);
    this.#processes.signal(pid, signal);
    await Promise.race([ended, this.#pause(seconds * 1000)]);
    await this.sweep(new Map([...family, ...this.family(pid)]));
  }

  /** Ends what is left of a family: told to, then killed. */
  async sweep(family: Family): Promise<void> {
    this.#signal(family, "SIGTERM");
    for (let waited = 0; waited < 10 && this.#living(family).length > 0; waited += 1) await this.#pause(20);
    this.#signal(family, "SIGKILL");
  }

  #living(family: Family): number[] {
    return [...family].filter(([pid, birth]) => this.#processes.birthOf(pid) === birth).map(([pid]) => pid);
  }

  #signal(family: Family, signal: "SIGTERM" | "SIGKILL"): void {
    for (const pid of this.#living(family)) this.#processes.signal(pid, signal);
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => this.#clock.after(milliseconds, resolve));
  }
}
