/**
 * The runtimes service: Actors whose process the daemon runs, in terminals, prompted with proof.
 * The folder's face.
 */

import { Refusal } from "../../shared/errors.ts";
import type { StoredActor } from "../../shared/model.ts";
import type { BegunConversation, runtimeOperations } from "../../shared/operations/actors.ts";
import type { HandlersFor } from "../../shared/operations/handlers.ts";
import type { ActorRunner } from "../groups/actors.ts";
import type { OpenGroup } from "../groups/group.ts";
import { entryOf } from "./catalogue.ts";
import { type ActorProcessDependencies, ActorProcesses } from "./launch/actor-processes.ts";
import { Launcher } from "./launch/launcher.ts";
import type { LiveLaunches, Run, Slot } from "./launch/live-launches.ts";
import { listRuntimes } from "./runtime-list.ts";
import type { AttachedViewer, ViewerPort } from "./terminal/terminal.ts";

/** The daemon's own end can't wait as long as a person's stop. */
const CLOSE_SECONDS = 2;
/** What isn't gone by then, or whose end the disk doesn't take, is left to the next start. */
const LEFT_BEHIND_SECONDS = 8;

/** Messages wait for it, and it isn't running. */
export interface Waiting {
  group_id: string;
  actor_id: string;
  messages: number;
  /** The program that it can't be started without, if that isn't there. */
  program: string | null;
}

export class Runtimes implements ActorRunner {
  readonly #deps: ActorProcessDependencies;
  readonly #launcher: Launcher;
  readonly #launches: LiveLaunches;
  readonly #processes: ActorProcesses;
  readonly #stops: (() => void)[] = [];
  #knowsPrograms = false;

  constructor(deps: ActorProcessDependencies) {
    this.#deps = deps;
    this.#launches = deps.launches;
    this.#launcher = new Launcher(deps);
    this.#processes = new ActorProcesses(deps, this.#launcher);
  }

  /**
   * Clears what an earlier daemon left (its claims become unconfirmed) and follows the Groups.
   * Starts no Actor.
   */
  async open(): Promise<void> {
    const { registry, reports } = this.#deps;
    for (const group of registry.list()) await this.#processes.clear(group);
    this.#stops.push(
      reports.onSession((launch, told) => {
        const { group_id: groupId, actor_id: actorId, token_digest: tokenDigest } = launch;
        const slot = this.#launches.find(groupId, actorId);
        const run = slot?.run;
        if (slot === undefined || run?.launch.token_digest !== tokenDigest) return;
        run.hasTold = true;
        this.#launches.lastRuns.sawSession(slot.group, launch, run.directory, told);
      }),
      registry.onChange(({ group_id: groupId, what, late }) => {
        if (what === "removed" || what === "actors") this.#recheck(groupId);
        if (late === true) this.#takeLate(registry.get(groupId));
      }),
      // What an Actor does has changed: its messages may go on.
      reports.onPresence((groupId, actorId) => {
        this.#launches.find(groupId, actorId)?.run?.prompter?.consider();
      }),
    );
  }

  /**
   * Starts the enabled Actors of Groups that want it. Failures are logged and show in the Actor's
   * state.
   */
  async startEnabled(): Promise<void> {
    for (const group of this.#deps.registry.list()) await this.#startEnabledOf(group);
  }

  async #startEnabledOf(group: OpenGroup): Promise<void> {
    if (group.ledger.damage !== null) return;
    for (const { id } of group.record.actors) {
      // The earlier ones took their time, and a person may have stopped this one.
      const actor = group.record.actors.find((one) => one.id === id);
      const isWanted = group.record.settings.start_actors && actor?.enabled === true;
      if (!isWanted || actor.runner !== "pty") continue;
      try {
        await this.start(group, id);
        await group.note({
          kind: "actor.start",
          by: "system",
          data: { actor_id: id, reason: "daemon_start" },
        });
      } catch (error) {
        this.#processes.log("start", group, id, error);
      }
    }
  }

  /** The Group couldn't be opened when the daemon started. */
  #takeLate(group: OpenGroup): void {
    void this.#processes
      .clear(group)
      .then(() => this.#startEnabledOf(group))
      .catch((error: unknown) => this.#processes.log("start", group, "", error));
  }

  /** Where programs are looked for. Until it is known, none is missed. */
  async lookAtPrograms(): Promise<void> {
    await this.#launcher.ready();
    this.#knowsPrograms = true;
  }

  /** Actors in terminals that would get messages if they ran. */
  get waiting(): Waiting[] {
    const { registry, messaging } = this.#deps;
    return registry.list().flatMap((group) => {
      const { group_id: groupId, record } = group;
      const chat = messaging.find(groupId);
      if (chat?.handsOut !== true) return [];
      return record.actors.flatMap((actor): Waiting[] => {
        const messages = chat.queueOf(actor)?.unacknowledged ?? 0;
        const isRunning = (this.#launches.find(groupId, actor.id)?.run ?? null) !== null;
        if (actor.runner !== "pty" || messages === 0 || isRunning) return [];
        const program = this.#knowsPrograms ? this.#missingProgram(group, actor) : null;
        return [{ group_id: groupId, actor_id: actor.id, messages, program }];
      });
    });
  }

  #missingProgram(group: OpenGroup, actor: StoredActor): string | null {
    try {
      this.#launcher.plan(group, actor);
    } catch (error) {
      if (error instanceof Refusal && error.code === "runtime_not_installed")
        return String(error.details["program"]);
    }
    return null;
  }

  handlers(): HandlersFor<typeof runtimeOperations> {
    return {
      runtime_list: async ({ group_id: groupId, actor_id: actorId }, { caller }) => {
        const group = groupId === undefined ? null : this.#deps.registry.get(groupId);
        const actor = actorId === undefined ? null : (group?.actor(actorId) ?? null);
        await this.#launcher.ready();
        const around = this.#launcher.surroundings(group, actor);
        const environment = { ...this.#launcher.base, ...actor?.env };
        // What the machine's owner is logged in to isn't for those who work in some Groups.
        const runtimes = await listRuntimes(
          this.#deps.processes,
          // Where a program is found is told, and nothing tells a private value.
          environment["PATH"] ?? "",
          caller.kind === "user" ? around : null,
          environment,
        );
        return { runtimes };
      },
      tools_listed: (_input, { caller }) => {
        if (caller.kind !== "actor") throw new Refusal("permission_denied");
        const run = this.#launches.find(caller.group_id, caller.actor_id)?.run ?? null;
        if (run === null || run.launch.token_digest !== caller.launch) return {};
        run.hasTools = true;
        run.prompter?.consider();
        return {};
      },
    };
  }

  /**
   * Starts the Actor's process unless it runs, in its last conversation if that can be continued
   * and no new one is wanted. Throws scope_not_attached, invalid_project_root, invalid_args,
   * runtime_not_installed, storage_full, storage_failed or shutting_down.
   */
  async start(group: OpenGroup, actorId: string, isNew = false): Promise<BegunConversation | null> {
    const slot = this.#slot(group, actorId);
    return this.#processes.inTurn(slot, async () => {
      // One that has just ended is noted first.
      if (slot.run?.hasExited === true) await slot.run.over;
      if (slot.run === null) await this.#processes.start(slot, isNew);
      return begunOf(slot.run);
    });
  }

  /** Whether a start would find everything it needs. Throws as `start`. */
  async check(group: OpenGroup, actorId: string): Promise<void> {
    await this.#launcher.ready();
    this.#launcher.plan(group, group.actor(actorId));
  }

  /**
   * Ends the Actor's process and all its descendants, politely and then firmly. `reason` in words.
   */
  async stop(groupId: string, actorId: string, reason: string): Promise<void> {
    const slot = this.#launches.find(groupId, actorId);
    if (slot === undefined) return;
    await this.#processes.inTurn(slot, () => this.#processes.stop(slot, reason));
  }

  /** A new process with a new token; its conversation as in `start`. Throws as `start`. */
  async restart(group: OpenGroup, actorId: string, isNew = false): Promise<BegunConversation | null> {
    const slot = this.#slot(group, actorId);
    return this.#processes.inTurn(slot, async () => {
      await this.#processes.stop(slot, "stopped to be restarted");
      await this.#processes.start(slot, isNew);
      return begunOf(slot.run);
    });
  }

  /** Sends the runtime's interrupt key. Throws not_running, or overloaded when it isn't read. */
  interrupt(groupId: string, actorId: string): void {
    const slot = this.#launches.find(groupId, actorId);
    const run = slot?.run;
    if (slot === undefined || run === null || run === undefined)
      throw new Refusal("not_running", { remedy: `Start it with 'svc actor start ${actorId}'.` });
    slot.terminal.interrupt(entryOf(run.launch.runtime).interrupt);
    this.#deps.reports.interrupted(run.launch);
  }

  /**
   * A viewer of the Actor's terminal, running or not. Throws group_not_found, actor_not_found,
   * runner_mismatch or limit_reached.
   */
  attach(groupId: string, actorId: string, port: ViewerPort): AttachedViewer {
    const group = this.#deps.registry.get(groupId);
    const actor = group.actor(actorId);
    if (actor.runner !== "pty") throw new Refusal("runner_mismatch");
    return this.#launches.slot(group, actor).terminal.attach(port);
  }

  isRunning(groupId: string, actorId: string): boolean {
    return this.#launches.isRunning(groupId, actorId);
  }

  /** Ends all processes; terminals end with the daemon. */
  async close(): Promise<void> {
    this.#processes.startNoMore();
    for (const stop of this.#stops.splice(0)) stop();
    const reason = "the daemon stopped";
    const stop = (slot: Slot) => this.#processes.stop(slot, reason, CLOSE_SECONDS);
    const stops = [
      ...this.#launches
        .slots()
        .map((slot) => ({ slot, ended: this.#processes.inTurn(slot, () => stop(slot)) })),
      // They are being stopped already, with more patience.
      ...this.#launches.leaving().flatMap((slot) => [
        { slot, ended: stop(slot) },
        { slot, ended: slot.last },
      ]),
    ];
    // One that fails or doesn't end keeps none of the others.
    const ended = Promise.all(
      stops.map(({ slot, ended }) =>
        ended.catch((error: unknown) => this.#processes.log("stop", slot.group, slot.actor_id, error)),
      ),
    );
    await Promise.race([ended, this.#leftBehind(ended)]);
    await this.#launches.lastRuns.settled();
  }

  #leftBehind(ended: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const late = this.#deps.clock.after(LEFT_BEHIND_SECONDS * 1000, resolve);
      void ended.then(() => late.cancel());
    });
  }

  /** Throws group_not_found or group_busy when the Group has just been deleted or reset. */
  #slot(group: OpenGroup, actorId: string): Slot {
    // From here on its end is noticed.
    if (this.#deps.registry.get(group.group_id) !== group) throw new Refusal("group_busy");
    return this.#launches.slot(group, group.actor(actorId));
  }

  /** Processes of Actors that are gone, or whose Group is, end. */
  #recheck(groupId: string): void {
    const group = this.#deps.registry.find(groupId);
    for (const slot of this.#launches.slots()) {
      if (slot.group.group_id !== groupId) continue;
      const actor = group?.record.actors.find(({ id }) => id === slot.actor_id);
      if (slot.group === group && actor?.generation === slot.generation) {
        slot.run?.prompter?.consider();
        continue;
      }
      const ended = this.#processes
        .inTurn(slot, () => this.#processes.stop(slot, "the Actor was removed"))
        .catch((error: unknown) => this.#processes.log("stop", slot.group, slot.actor_id, error));
      this.#launches.drop(slot, ended);
      if (group !== undefined && actor === undefined) this.#launches.lastRuns.forget(group, slot.actor_id);
    }
  }
}

/** What a start continued with. */
function begunOf(run: Run | null): BegunConversation | null {
  return run && { continued: run.conversation.resume !== null, lost: run.conversation.lost };
}
