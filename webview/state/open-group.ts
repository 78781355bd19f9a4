/**
 * The Group that is open: its settings and Actors, read again when the daemon says that they
 * changed. What its ledger says about an Actor's work is shown at once, without a request
 * (WRK-011).
 */

import { actorName } from "../../shared/actor-words.ts";
import type { EventOf } from "../../shared/events.ts";
import { remoteName } from "../../shared/message-parties.ts";
import type { Group } from "../../shared/model.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import { shownId } from "../../shared/voice.ts";
import { Store } from "../controls/store.ts";
import type { Host } from "../hosts/host.ts";

export class OpenGroup extends Store {
  readonly groupId: string;
  readonly #host: Pick<Host, "call">;
  group: Group | null = null;
  actors: readonly ActorWithPresence[] = [];
  loaded = false;
  #failure: Error | null = null;
  #reading: Promise<void> | null = null;
  #again = false;

  constructor(host: Pick<Host, "call">, groupId: string) {
    super();
    this.#host = host;
    this.groupId = groupId;
  }

  /** Why it can't be shown. */
  get failure(): string | null {
    return this.#failure?.message ?? null;
  }

  /** Resolves when Group and Actors have been read. Throws why they can't be. */
  async known(): Promise<void> {
    if (!this.loaded) await this.refresh();
    if (this.#failure !== null) throw this.#failure;
  }

  /** Reads Group and Actors. Calls that come in the meantime share one further read. */
  async refresh(): Promise<void> {
    if (this.#reading !== null) {
      this.#again = true;
      return this.#reading;
    }
    this.#reading = this.#read();
    await this.#reading;
    this.#reading = null;
    if (this.#again) {
      this.#again = false;
      await this.refresh();
    }
  }

  /**
   * Takes an `actor.activity` event. One that is older than what was read, as after a break,
   * changes nothing.
   */
  applyActivity({ data }: EventOf<"actor.activity">): void {
    const told = new Map(data.actors.map((row) => [row.id, row]));
    let isNew = false;
    this.actors = this.actors.map((actor) => {
      const row = told.get(actor.id);
      if (row === undefined || row.runner_effective !== actor.runner) return actor;
      if (row.effective_working_updated_at < (actor.presence.since ?? "")) return actor;
      isNew = true;
      const presence = {
        ...actor.presence,
        state: row.effective_working_state,
        reason: row.effective_working_reason,
        since: row.effective_working_updated_at,
        attention: row.effective_working_state === "waiting",
      };
      return { ...actor, presence };
    });
    if (isNew) this.changed();
  }

  /** The shown name of `user`, `system`, an Actor id, or a sender of another Group or instance. */
  name(id: string): string {
    if (id === "user") return "you";
    if (id === "system") return "system";
    const actor = this.actors.find((candidate) => candidate.id === id);
    if (actor !== undefined) return actorName(actor);
    const separator = id.indexOf("::");
    const there = separator < 0 ? null : id.slice(separator + 2);
    if (id.startsWith("connect:"))
      return there === null ? "another instance" : `${remoteName(there, undefined)} at another instance`;
    return there === null ? shownId(id) : there === "user" ? "you" : shownId(there);
  }

  async #read(): Promise<void> {
    try {
      const [group, { actors }] = await Promise.all([
        this.#host.call("group_show", { group_id: this.groupId }),
        this.#host.call("actor_list", { group_id: this.groupId }),
      ]);
      this.group = group;
      this.actors = actors;
      this.#failure = null;
      this.loaded = true;
    } catch (error) {
      if (!this.loaded) this.#failure = error instanceof Error ? error : new Error(String(error));
    }
    this.changed();
  }
}
