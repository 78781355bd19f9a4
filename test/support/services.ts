/**
 * Runs some of the daemon's services over a platform of a test's own, with stand-ins for others.
 */

import { homePaths } from "../../client/paths.ts";
import type { Given } from "../../daemon/assembly/given.ts";
import type { ServiceList } from "../../daemon/assembly/service.ts";
import { SERVICES } from "../../daemon/assembly/services.ts";
import { type Subset, Supervisor } from "../../daemon/assembly/supervisor.ts";
import type { ActorRunner } from "../../daemon/groups/actors.ts";
import { HomeFiles } from "../../daemon/home/home-files.ts";
import { defaultSettings, Settings } from "../../daemon/home/settings.ts";
import { JsonDocument } from "../../platform/documents.ts";
import type { Files } from "../../platform/files.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { MemoryLog } from "../operations/support.ts";

export const USER: Caller = { kind: "user", by: "user", via: "socket", token_id: null };

/** What the daemon's services give. */
export type Parts = typeof SERVICES extends ServiceList<infer _Given, infer All, infer _Names> ? All : never;

type Instead = NonNullable<Subset<Given, Parts>["instead"]>;

/** A part of what the daemon is given: what the services that run ask for. */
export type Some = { [Name in keyof Given]?: Name extends "home" ? Partial<Given["home"]> : Given[Name] };

/** Starts `only` these, in the daemon's order. */
export function startServices(given: Some, subset: Subset<Given, Parts>): Promise<Supervisor<Parts>> {
  return Supervisor.start(SERVICES, given as Given, subset);
}

/**
 * The Home at `root`, which is made when it isn't there, as far as these services need it. `origin`
 * is where other instances reach it.
 */
export async function homeAt(root: string, files: Files, origin: string | null = null) {
  const paths = homePaths(root);
  for (const directory of [paths.root, paths.groups])
    if (files.stat(directory) === null) files.mkdir(directory);
  const document = { files, path: paths.settings, version: 1, schema: Settings };
  const settings =
    (await JsonDocument.read(document)) ??
    (await JsonDocument.create(document, {
      ...defaultSettings("2026-01-01T00:00:00.000Z"),
      ...(origin !== null && { remote_access: { provider: "manual", enabled: true, origin } }),
    }));
  const kept = await HomeFiles.open(files, paths);
  await kept.noteAll();
  return { paths, settings, kept };
}

/** Groups with their Actors and messages, and the one way to call their operations. */
export const MESSAGING = [
  "groups",
  "access",
  "launches",
  "credentials",
  "activity",
  "outbound",
  "messaging",
  "runtimes",
  "administration",
  "operations",
] as const;

/** Runs nothing: Actors are only noted. */
export const NO_RUNNER: ActorRunner = {
  check: async () => {},
  start: async () => null,
  stop: async () => {},
  restart: async () => null,
  interrupt: () => {},
  isRunning: () => false,
};

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

interface CallOptions {
  as?: Caller;
  signal?: AbortSignal;
  progress?: (text: string) => void;
}

/** Calls an operation as a listener does; throws its refusal. */
export async function callOperation(
  { operations }: Pick<Parts, "operations">,
  log: MemoryLog,
  name: string,
  input: unknown,
  { as = USER, signal = new AbortController().signal, progress }: CallOptions = {},
): Promise<unknown> {
  const call = { caller: as, signal, requestId: "r", ...(progress === undefined ? {} : { progress }) };
  const outcome = await operations.call(name, input, call);
  if (outcome.ok) return outcome.result;
  if (outcome.error.code === "internal_error")
    throw new Error(`internal error: ${JSON.stringify(log.lines.at(-1))}`);
  throw outcome.refusal;
}
