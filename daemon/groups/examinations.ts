/**
 * Reads the ledgers and files of all open Groups through when a person asks what is wrong, and
 * remembers what was found.
 */
import type { Clock } from "../../platform/clock.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { OpenGroup } from "./group.ts";
import type { GroupRegistry } from "./registry.ts";

/** Problems of one Group in a report. `svc ledger verify` names the rest. */
const SHOWN = 3;

export class Examinations {
  readonly #registry: Pick<GroupRegistry, "list">;
  readonly #clock: Clock;
  readonly #found = new WeakMap<OpenGroup, readonly string[]>();
  #running: Promise<void> | null = null;
  #filesOf: (group: OpenGroup) => Promise<readonly string[]> = async () => [];

  constructor(registry: Pick<GroupRegistry, "list">, clock: Clock) {
    this.#registry = registry;
    this.#clock = clock;
  }

  /** What else is read of each Group: problems of its attached files, a sentence each. */
  withFiles(problemsOf: (group: OpenGroup) => Promise<readonly string[]>): void {
    this.#filesOf = problemsOf;
  }

  /** What the last reading found, a few sentences; empty if nothing, or not read yet. */
  problemsOf(group: OpenGroup): readonly string[] {
    return this.#found.get(group) ?? [];
  }

  /**
   * Resolves when everything is read, but after `LIMITS.health.lookSeconds` at the latest. The
   * reading goes on then, for the next one who asks.
   */
  look(): Promise<void> {
    this.#running ??= this.#readAll().finally(() => {
      this.#running = null;
    });
    const running = this.#running;
    return new Promise((resolve) => {
      const timer = this.#clock.after(LIMITS.health.lookSeconds * 1000, resolve, { background: true });
      void running.then(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  async #readAll(): Promise<void> {
    const groups = this.#registry.list().sort((one, other) => one.ledger.count - other.ledger.count);
    for (const group of groups) {
      try {
        const { problems } = await group.ledger.verify();
        this.#found.set(group, shown([...problems, ...(await this.#filesOf(group))]));
      } catch (error) {
        // It was closed meanwhile, or is; another failure is a finding.
        if (error instanceof Refusal && error.code === "shutting_down") continue;
        this.#found.set(group, [`It can't be read through: ${(error as Error).message}`]);
      }
    }
  }
}

function shown(problems: readonly string[]): readonly string[] {
  if (problems.length <= SHOWN) return problems;
  return [...problems.slice(0, SHOWN), `There are ${problems.length - SHOWN} more problems.`];
}
