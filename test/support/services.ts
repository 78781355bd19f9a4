/**
 * Runs some of the daemon's services over a platform of a test's own, with stand-ins for others.
 */
import type { Given } from "../../daemon/assembly/given.ts";
import type { ServiceList } from "../../daemon/assembly/service.ts";
import { SERVICES } from "../../daemon/assembly/services.ts";
import { type Subset, Supervisor } from "../../daemon/assembly/supervisor.ts";
import { NO_RUNNER } from "../groups/parts.ts";

/** What the daemon's services give. */
export type Parts = typeof SERVICES extends ServiceList<infer _Given, infer All, infer _Names> ? All : never;

type Instead = NonNullable<Subset<Given, Parts>["instead"]>;

/** A part of what the daemon is given: what the services that run ask for. */
export type Some = { [Name in keyof Given]?: Name extends "home" ? Partial<Given["home"]> : Given[Name] };

/** Starts `only` these, in the daemon's order. */
export function startServices(given: Some, subset: Subset<Given, Parts>): Promise<Supervisor<Parts>> {
  return Supervisor.start(SERVICES, given as Given, subset);
}

/** A daemon that runs no processes and whose callers' credentials always count. */
export const NO_PROCESSES = {
  launches: () => ({ part: { whyWaiting: () => "", mayUse: () => true } }),
  credentials: () => ({ part: { lapsed: () => null, verifyLaunchToken: () => null } }),
  activity: () => ({
    part: {
      workingState: () => ({
        state: "unavailable" as const,
        reason: "nothing runs terminals here",
        since: null,
        last_activity: null,
        attention: false,
      }),
      troubleOf: () => null,
      onPresence: () => () => {},
    },
  }),
  runtimes: () => ({ part: NO_RUNNER }),
} satisfies Instead;

/** A daemon that reaches no other instance. */
export const NO_PEERS = { outbound: () => ({ part: {} }) } satisfies Instead;
