/** An open Group: its record, ledger, private environments and permit. */

import type { GroupPaths } from "../../client/paths.ts";
import { type Clock, timestamp } from "../../platform/clock.ts";
import type { JsonDocument } from "../../platform/documents.ts";
import { Mutex } from "../../platform/mutex.ts";
import { didYouMean } from "../../shared/closest.ts";
import { Refusal } from "../../shared/errors.ts";
import type { EventKind, EventOf } from "../../shared/events.ts";
import { quotedName } from "../../shared/foreign-text.ts";
import type { Group, StoredActor, StoredGroup } from "../../shared/model.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { PrivateEnvironments } from "./private-environments.ts";

/** The ledger event that goes with a change of the record. No private value may be in it. */
export type GroupEvent = Noted<
  Exclude<Extract<EventKind, `group.${string}` | `actor.${string}`>, "actor.activity">
>;

type Noted<Kind extends EventKind> = { [One in Kind]: Pick<EventOf<One>, "kind" | "by" | "data"> }[Kind];

interface Parts {
  paths: GroupPaths;
  document: JsonDocument<StoredGroup>;
  ledger: Ledger;
  environments: PrivateEnvironments;
  clock: Clock;
  /** A reset has just made it what it is. */
  isReset: boolean;
  /** Called after each change. */
  changed: (what: "changed" | "actors") => void;
}

export class OpenGroup {
  readonly group_id: string;
  readonly paths: GroupPaths;
  readonly ledger: Ledger;
  readonly environments: PrivateEnvironments;
  /** A reset opened it: the reset is as long ago as the opening. */
  readonly isReset: boolean;
  /**
   * Read permits for appends, the write permit for changes of Actors, settings and state. Once it
   * is destroyed, the Group is gone.
   */
  readonly permit: Mutex = new Mutex();
  readonly #document: JsonDocument<StoredGroup>;
  readonly #clock: Clock;
  /** Monotonic. */
  readonly #openedAt: number;
  readonly #changed: Parts["changed"];

  constructor(parts: Parts) {
    this.group_id = parts.document.value.group_id;
    this.paths = parts.paths;
    this.ledger = parts.ledger;
    this.environments = parts.environments;
    this.isReset = parts.isReset;
    this.#document = parts.document;
    this.#clock = parts.clock;
    this.#openedAt = parts.clock.monotonic();
    this.#changed = parts.changed;
  }

  /** Milliseconds since it was opened, by whatever the wall clock has done meanwhile. */
  get openFor(): number {
    return this.#clock.monotonic() - this.#openedAt;
  }

  /** An immutable snapshot. */
  get record(): StoredGroup {
    return this.#document.value;
  }

  /**
   * Changes the record: first durably, then with the event in the ledger. Sets `updated_at`. If
   * `change` returns the same object, nothing is written. Throws Refusal if the disk fails. If it
   * fails between the two, the change stays and the refusal says so. Throws ledger_damaged first.
   */
  async update(change: (record: StoredGroup) => StoredGroup, event: GroupEvent): Promise<StoredGroup> {
    this.ledger.checkWritable();
    let before: StoredGroup | undefined;
    const after = await this.#document.update((record) => {
      before = record;
      const next = change(record);
      return next === record ? record : { ...next, updated_at: timestamp(this.#clock) };
    });
    if (after === before) return after;
    try {
      await this.note(event);
    } finally {
      if (!event.kind.startsWith("actor.")) this.#changed("changed");
    }
    return after;
  }

  /**
   * Records in the ledger what has just become durable elsewhere, and tells listeners if it was
   * about Actors. A refusal means that only the event is missing.
   */
  async note(event: GroupEvent): Promise<void> {
    try {
      await this.ledger.append({ ...event, scope_key: this.record.active_scope_key ?? "" });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const specifics = "The change was made, but it couldn't be recorded in the ledger.";
      throw new Refusal(error.code, { specifics, details: error.details, cause: error });
    } finally {
      if (event.kind.startsWith("actor.")) this.#changed("actors");
    }
  }

  /** Throws actor_not_found. */
  actor(actorId: string): StoredActor {
    const found = this.record.actors.find((actor) => actor.id === actorId);
    if (found === undefined) {
      const ids = this.record.actors.map(({ id }) => id);
      throw new Refusal("actor_not_found", {
        specifics: `No Actor '${quotedName(actorId)}' in this Group.${didYouMean(actorId, ids)}`,
        details: { actor_id: actorId },
      });
    }
    return found;
  }

  /** The first Actor is the foreman (docs/core-model.md#actor). */
  roleOf(actorId: string): "foreman" | "peer" {
    return this.record.actors[0]?.id === actorId ? "foreman" : "peer";
  }

  /** With effective roles and the names of private environment values. */
  view(): Group {
    const { v: _, actors, ...rest } = this.record;
    return {
      ...rest,
      actors: actors.map((actor) => ({
        ...actor,
        role: this.roleOf(actor.id),
        private_env: this.environments.names(actor),
      })),
    };
  }
}
