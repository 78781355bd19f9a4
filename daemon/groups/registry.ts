/** All Groups of the Home. */
import type { StoredGroup } from "../../shared/model.ts";
import type { GroupPaths, HomePaths } from "../home/paths.ts";
import type { LedgerLimits, LedgerOptions, Projection } from "../ledger/types.ts";
import type { Clock } from "../platform/clock.ts";
import type { Files } from "../platform/files.ts";
import type { Random } from "../platform/random.ts";
import type { OpenGroup } from "./group.ts";

export interface RegistryDependencies {
  files: Files;
  clock: Clock;
  random: Random;
  paths: HomePaths;
  /** What follows a Group's ledger; called once per opening of a Group. */
  projectionsFor(group_id: string): Projection[];
  keyOf: LedgerOptions["keyOf"];
  /** Smaller limits, for tests. */
  ledgerLimits?: Partial<LedgerLimits>;
}

export interface GroupChange {
  group_id: string;
  /** `created` also after a reset (which says `removed` first, of the old OpenGroup); `actors` when Actors changed. */
  what: "created" | "changed" | "actors" | "removed";
}

/** What `create` may be given beyond title and topic, for imports. */
export interface GroupSeed {
  title: string;
  topic: string;
  by: string;
  record?: Partial<Pick<StoredGroup, "state" | "settings" | "actors" | "created_at">>;
  /** Fills the new Group's directory (ledger, blobs) before the Group exists; a throw leaves nothing behind. */
  prepare?(group_id: string, paths: GroupPaths): Promise<void>;
}

export class GroupRegistry {
  /** Opens every Group and completes what a crash interrupted. A Group that can't be opened stays unavailable. */
  static open(_deps: RegistryDependencies): Promise<GroupRegistry> {
    throw new Error("not yet");
  }
  /** Open Groups in order of creation. */
  list(): OpenGroup[] {
    throw new Error("not yet");
  }
  /** Groups that can't be opened, with the reason. */
  unavailable(): { group_id: string; reason: string }[] {
    throw new Error("not yet");
  }
  /** Throws group_not_found or group_unavailable. */
  get(_group_id: string): OpenGroup {
    throw new Error("not yet");
  }
  create(_seed: GroupSeed): Promise<OpenGroup> {
    throw new Error("not yet");
  }
  /** Takes the Group's write permit itself. Works for unavailable Groups, too. */
  delete(_group_id: string, _confirm: string): Promise<void> {
    throw new Error("not yet");
  }
  /** Clears history and files; a fresh generation in a new OpenGroup. Takes the write permit itself. */
  reset(_group_id: string, _confirm: string, _by: string): Promise<OpenGroup> {
    throw new Error("not yet");
  }
  onChange(_listener: (change: GroupChange) => void): () => void {
    throw new Error("not yet");
  }
  close(): Promise<void> {
    throw new Error("not yet");
  }
}
