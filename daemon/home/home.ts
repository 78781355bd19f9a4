/** A Home on disk: made, checked, opened. */
import type { Clock } from "../platform/clock.ts";
import type { Files } from "../platform/files.ts";
import type { Random } from "../platform/random.ts";
import type { JsonDocument } from "./documents.ts";
import type { Host } from "./endpoint.ts";
import type { InstanceIdentity } from "./identity.ts";
import type { HomeLock } from "./lock.ts";
import type { HomePaths } from "./paths.ts";
import type { Settings } from "./settings.ts";

export interface HomeDependencies {
  files: Files;
  clock: Clock;
  random: Random;
  host: Host;
  /** Takes group and others' permissions away. */
  chmod(path: string, mode: number): void;
}

export interface Home {
  readonly paths: HomePaths;
  readonly lock: HomeLock;
  readonly identity: InstanceIdentity;
  readonly settings: JsonDocument<Settings>;
  /** Paths whose permissions were too wide and were tightened at this start. */
  readonly tightened: readonly string[];
}

/** Makes or checks the Home at `root`, takes its lock and opens identity and settings. */
export function openHome(_deps: HomeDependencies, _root: string): Promise<Home> {
  throw new Error("not yet");
}
