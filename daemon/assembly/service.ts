/**
 * What the daemon is put together from. A service is made by `create`, which gets what the daemon
 * was given and the services before it; it may then begin to work (`start`), and ends what it began
 * (`stop`). Services notify each other only by typed events.
 */
import type { HealthCheck } from "../../shared/health.ts";
import type { OperationContract } from "../../shared/operations/contract.ts";
import type { HandlersOf } from "../../shared/operations/handlers.ts";
import type { OperationName } from "../../shared/operations/registry.ts";
import type { Check } from "../operations/health.ts";

export interface Service<Part, Names extends OperationName = never> {
  /** What later services get under this one's name. */
  readonly part: Part;
  /** Its operations. */
  readonly handlers?: HandlersOf<Names>;
  /** What `svc doctor` asks it. */
  readonly health?: readonly Check[];
  /** Begins to work. Called once, before the next service is made. */
  start?(): void | Promise<void>;
  /**
   * Ends what was begun, also when `start` failed or wasn't called. Later services have ended by
   * then.
   */
  stop?(): void | Promise<void>;
}

/** A service that answers a table of contracts: `ServiceFor<Direct, typeof directOperations>`. */
export type ServiceFor<Part, Contracts extends readonly OperationContract[]> = Service<
  Part,
  Extract<Contracts[number]["name"], OperationName>
>;

/** What every service may ask of the whole, once it runs. */
export interface Whole {
  /** The handlers of all services, as far as they are made. */
  readonly handlers: Partial<HandlersOf<OperationName>>;
  /** The health of all services, in their order. */
  readonly checks: () => HealthCheck[];
  /** Lets the checks look more closely first. */
  readonly look: () => Promise<void>;
  /** Whether every service has started, and none is being stopped. */
  readonly isRunning: () => boolean;
}

export interface Entry {
  readonly name: string;
  readonly create: (parts: never) => AnyService | Promise<AnyService>;
}

export type AnyService = Service<unknown, OperationName> | Service<unknown>;

/**
 * An ordered list of services. Each line's `create` is checked against what the lines before it
 * give.
 */
export class ServiceList<Given extends object, Parts extends object, Names extends OperationName> {
  readonly entries: readonly Entry[];

  private constructor(entries: readonly Entry[]) {
    this.entries = entries;
  }

  /** An empty list of services that get `Given`. */
  // biome-ignore lint/complexity/noBannedTypes: no part yet
  static of<Given extends object>(): ServiceList<Given, {}, never> {
    return new ServiceList([]);
  }

  /** The list with one more service at its end. */
  with<Name extends string, Part, Own extends OperationName = never>(
    name: Name,
    create: (parts: Given & Parts & Whole) => Service<Part, Own> | Promise<Service<Part, Own>>,
  ): ServiceList<Given, Parts & Record<Name, Part>, Names | Own> {
    return new ServiceList([...this.entries, { name, create }]);
  }
}

/** The operations that services of a list answer. */
export type OperationsOf<List> =
  List extends ServiceList<infer _Given, infer _Parts, infer Names> ? Names : never;
