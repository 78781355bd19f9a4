/**
 * Makes and starts the services of a list in order, stops them in the opposite one, and knows how
 * they are.
 */
import type { Clock } from "../../platform/clock.ts";
import { errorFields, type Log } from "../../platform/log.ts";
import type { HealthCheck } from "../../shared/health.ts";
import type { HandlersOf } from "../../shared/operations/handlers.ts";
import type { OperationName } from "../../shared/operations/registry.ts";
import { lookClosely, runChecks } from "../operations/health.ts";
import type { AnyService, Service, ServiceList, Whole } from "./service.ts";

/** A service that may have less than the one it replaces. */
export interface StandIn<Part> extends Omit<Service<Partial<Part>>, "handlers"> {
  readonly handlers?: Partial<HandlersOf<OperationName>>;
}

/** How a run differs from the whole list; for tests and the simulation. */
export interface Subset<Given, Parts> {
  /** Only these, in the list's order. */
  only: readonly (keyof Parts & string)[];
  /** Services in place of the list's own, which may have less. */
  instead?: {
    [Name in keyof Parts]?: (
      parts: Given & Parts & Whole,
    ) => StandIn<Parts[Name]> | Promise<StandIn<Parts[Name]>>;
  };
}

/** How long a service may take to stop, and where it is told what went wrong. */
export interface StopBound {
  clock: Pick<Clock, "after">;
  log: Pick<Log, "error">;
  seconds: number;
}

export class Supervisor<Parts extends object> {
  readonly #services: { name: string; service: AnyService }[] = [];
  readonly #parts: Record<string, unknown> = {};
  #isRunning = false;
  #stopping: Promise<void> | undefined;
  /** Of all services, as far as they are made. */
  readonly handlers: Partial<HandlersOf<OperationName>> = {};

  private constructor() {}

  /**
   * Makes and starts every service. When one fails, those before it and itself are stopped, and its
   * error is thrown.
   */
  static async start<Given extends object, Parts extends object, Names extends OperationName>(
    list: ServiceList<Given, Parts, Names>,
    given: Given,
    subset?: Subset<Given, Parts>,
  ): Promise<Supervisor<Parts>> {
    const supervisor = new Supervisor<Parts>();
    try {
      for (const { name, create } of list.entries) {
        if (subset !== undefined && !subset.only.includes(name as keyof Parts & string)) continue;
        const made = (subset?.instead?.[name as keyof Parts] ?? create) as (
          parts: object,
        ) => Promise<AnyService>;
        await supervisor.#start(name, await made(supervisor.#everything(given)));
      }
    } catch (error) {
      // What else goes wrong now follows from this.
      await supervisor.stop().catch(() => undefined);
      throw error;
    }
    supervisor.#isRunning = true;
    return supervisor;
  }

  /** What the services give, by their names. */
  get parts(): Parts {
    return this.#parts as Parts;
  }

  /**
   * The health of all services, in their order. A check that fails by itself is an error, never a
   * missing one.
   */
  checks(): HealthCheck[] {
    return runChecks(this.#health);
  }

  /** Before `checks`, when a person asks for them. */
  look(): Promise<void> {
    return lookClosely(this.#health);
  }

  /**
   * Stops the services, the last one first; idempotent. One that fails, or takes longer than
   * `bound` allows, keeps none from stopping; rejects with the first error then.
   */
  stop(bound?: StopBound): Promise<void> {
    this.#isRunning = false;
    return (this.#stopping ??= this.#stop(bound));
  }

  get #health() {
    return this.#services.flatMap(({ service }) => service.health ?? []);
  }

  async #start(name: string, service: AnyService): Promise<void> {
    this.#services.push({ name, service });
    this.#parts[name] = service.part;
    for (const operation of Object.keys(service.handlers ?? {})) {
      if (operation in this.handlers) throw new Error(`two services answer ${operation}`);
    }
    Object.assign(this.handlers, service.handlers);
    await service.start?.();
  }

  async #stop(bound?: StopBound): Promise<void> {
    const errors: unknown[] = [];
    for (const { name, service } of this.#services.toReversed()) {
      try {
        const stopped = (async () => service.stop?.())();
        await (bound === undefined ? stopped : inTime(name, stopped, bound));
      } catch (error) {
        bound?.log.error("stop failed", { service: name, ...errorFields(error) });
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  #everything(given: object): object {
    return {
      ...given,
      ...this.#parts,
      handlers: this.handlers,
      checks: () => this.checks(),
      look: () => this.look(),
      isRunning: () => this.#isRunning,
    };
  }
}

/** Rejects when `stopped` takes too long; what becomes of it then is of no interest. */
function inTime(name: string, stopped: Promise<void>, { clock, seconds }: StopBound): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = clock.after(seconds * 1000, () =>
      reject(new Error(`${name} didn't stop within ${seconds} s`)),
    );
    stopped.then(resolve, reject).finally(() => late.cancel());
  });
}
