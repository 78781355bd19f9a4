/** A Group that is open: its record, ledger and permit. */
import type { Group, StoredActor, StoredGroup } from "../../shared/model.ts";
import type { GroupPaths } from "../home/paths.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { Mutex } from "../platform/mutex.ts";

/** The ledger event that goes with a change of the record. */
export interface GroupEvent {
  kind: `group.${string}` | `actor.${string}`;
  by: string;
  data: Record<string, unknown>;
}

export class OpenGroup {
  readonly group_id!: string;
  readonly paths!: GroupPaths;
  readonly ledger!: Ledger;
  /** Read permits for appends, the write permit for changes of Actors, settings and state. */
  readonly permit: Mutex = new Mutex();

  /** An immutable snapshot. */
  get record(): StoredGroup {
    throw new Error("not yet");
  }
  /** Changes the record: durable first, then the event in the ledger. `updated_at` is set here. */
  update(_change: (record: StoredGroup) => StoredGroup, _event: GroupEvent): Promise<StoredGroup> {
    throw new Error("not yet");
  }
  /** Throws actor_not_found. */
  actor(_actor_id: string): StoredActor {
    throw new Error("not yet");
  }
  /** With effective roles and the names of private environment values. */
  view(): Group {
    throw new Error("not yet");
  }
}
