/** Ends processes: politely, then firmly, the whole tree and everything that left it. */

import type { Clock } from "../../../platform/clock.ts";
import type { Processes } from "../../../platform/processes.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { ENVIRONMENT } from "../../../shared/names.ts";

/** Processes, distinguished from later ones with the same pids. */
type Family = ReadonlyMap<number, string>;

/** What distinguishes the processes of one launch from all others. */
export interface Kin {
  /** Leader of their session; null when it may be another process's by now. */
  pid: number | null;
  birth: string | null;
  /**
   * In the environment of all of them, including those with their own session. Empty if there is
   * none.
   */
  mark: string;
}

const LOOK_MS = 20;
const LOOKS = 10;

export class ProcessEnds {
  readonly #processes: Processes;
  readonly #clock: Clock;

  constructor(processes: Processes, clock: Clock) {
    this.#processes = processes;
    this.#clock = clock;
  }

  /**
   * Sends `signal` to the process. If it hasn't `ended` after the time, kills everything. Survivors
   * are also asked to end and then killed. Resolves when nothing visible is left.
   */
  async end(
    kin: Kin & { pid: number },
    signal: "SIGTERM" | "SIGHUP",
    ended: Promise<void>,
    seconds: number = LIMITS.terminal.stopSeconds,
  ): Promise<void> {
    const family = this.#family(kin);
    // It may have ended by itself, and its pid may be another process's.
    if (family.has(kin.pid)) this.#processes.signal(kin.pid, signal);
    await Promise.race([ended, this.#pause(seconds * 1000)]);
    await this.#sweep(kin, family);
  }

  /** Ends what is left of a launch: asks it to end, then kills it. */
  async sweep(kin: Kin): Promise<void> {
    await this.#sweep(kin, new Map());
  }

  async #sweep(kin: Kin, known: Family): Promise<void> {
    let family = new Map([...known, ...this.#family(kin)]);
    this.#signal(family, "SIGTERM");
    for (let looks = 0; looks < LOOKS && this.#living(family).length > 0; looks += 1)
      await this.#pause(LOOK_MS);
    // Ended processes may have started others in the meantime.
    for (let looks = 0; looks < LOOKS; looks += 1) {
      family = new Map([...family, ...this.#family(kin)]);
      if (this.#living(family).length === 0) return;
      this.#signal(family, "SIGKILL");
      await this.#pause(LOOK_MS);
    }
  }

  /**
   * As they live now: the process with its session and descendants, and everything with the
   * launch's mark.
   */
  #family({ pid, birth, mark }: Kin): Family {
    const family = new Map<number, string>();
    const leader = pid === null ? null : this.#processes.birthOf(pid);
    // Another process with its pid means that nothing of its session is left: the system doesn't
    // reuse a pid that names a session.
    if (pid !== null && (leader === null || birth === null || leader === birth)) {
      for (const member of this.#processes.familyOf(pid)) {
        const born = this.#processes.birthOf(member);
        if (born !== null) family.set(member, born);
      }
    }
    const marked = mark === "" ? [] : this.#processes.startedWith(ENVIRONMENT.launchMark, mark);
    for (const [member, born] of marked) family.set(member, born);
    return family;
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
