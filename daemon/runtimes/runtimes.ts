/**
 * The runtimes service: Actors whose process the daemon runs, in terminals, prompted with proof.
 * The folder's face.
 */

import { constants } from "node:os";
import { removeHookCommand } from "../../client/hook/hook-command.ts";
import { errorFields, type Log } from "../../platform/log.ts";
import type { ProcessExit, TerminalProcess } from "../../platform/processes.ts";
import type { Random } from "../../platform/random.ts";
import { tellReplaced } from "../../platform/replaced.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { StoredActor } from "../../shared/model.ts";
import type { BegunConversation, runtimeOperations } from "../../shared/operations/actors.ts";
import type { HandlersFor } from "../../shared/operations/handlers.ts";
import type { LaunchReports } from "../activity/launches.ts";
import type { ActorRunner } from "../groups/actors.ts";
import type { OpenGroup } from "../groups/group.ts";
import type { GroupRegistry } from "../groups/registry.ts";
import type { Chats } from "../messaging/group-chat.ts";
import { entryOf } from "./catalogue.ts";
import { Prompter } from "./input/prompter.ts";
import { type Choice, chooseConversation, NEW } from "./launch/conversation.ts";
import { type BegunLaunch, launchOf, type StoredLaunch } from "./launch/launch-identity.ts";
import { Launcher, type LauncherDependencies, type LaunchPlan } from "./launch/launcher.ts";
import { clearLeftovers, endClaims } from "./launch/leftovers.ts";
import type { LiveLaunches, Run, Slot } from "./launch/live-launches.ts";
import { type Kin, ProcessEnds } from "./launch/process-end.ts";
import { listRuntimes } from "./runtime-list.ts";
import type { AttachedViewer, ViewerPort } from "./terminal/terminal.ts";

export interface RuntimesDependencies extends LauncherDependencies {
  random: Random;
  log: Log;
  registry: GroupRegistry;
  launches: LiveLaunches;
  messaging: Chats;
  reports: LaunchReports;
}

/** The daemon's own end can't wait as long as a person's stop. */
const CLOSE_SECONDS = 2;
export class Runtimes implements ActorRunner {
  readonly #deps: RuntimesDependencies;
  readonly #launcher: Launcher;
  readonly #ends: ProcessEnds;
  readonly #launches: LiveLaunches;
  readonly #stops: (() => void)[] = [];
  /** Of Groups that opened late: nothing starts there before. */
  readonly #clearing = new WeakMap<OpenGroup, Promise<void>>();
  #closing = false;

  constructor(deps: RuntimesDependencies) {
    this.#deps = deps;
    this.#launches = deps.launches;
    this.#launcher = new Launcher(deps);
    this.#ends = new ProcessEnds(deps.processes, deps.clock);
  }

  /**
   * Clears what an earlier daemon left (its claims become unconfirmed) and follows the Groups.
   * Starts no Actor.
   */
  async open(): Promise<void> {
    const { registry, reports } = this.#deps;
    for (const group of registry.list()) await this.#clear(group);
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
        this.#log("start", group, id, error);
      }
    }
  }

  #clear(group: OpenGroup): Promise<void> {
    const { identities, lastRuns } = this.#launches;
    return clearLeftovers({ ...this.#deps, identities, ends: this.#ends, lastRuns }, group);
  }

  /** The Group couldn't be opened when the daemon started. */
  #takeLate(group: OpenGroup): void {
    const cleared = this.#clear(group);
    this.#clearing.set(group, cleared);
    void cleared.then(() => this.#startEnabledOf(group));
  }

  handlers(): HandlersFor<typeof runtimeOperations> {
    return {
      runtime_list: async ({ group_id: groupId, actor_id: actorId }, { caller }) => {
        const group = groupId === undefined ? null : this.#deps.registry.get(groupId);
        const actor = actorId === undefined ? null : (group?.actor(actorId) ?? null);
        const around = this.#launcher.surroundings(group, actor);
        // Where a program is found is told, and nothing tells a private value.
        const path = { ...this.#deps.environment, ...actor?.env }["PATH"] ?? "";
        // What the machine's owner is logged in to isn't for those who work in some Groups.
        const runtimes = await listRuntimes(
          this.#deps.processes,
          path,
          caller.kind === "user" ? around : null,
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
    return this.#inTurn(slot, async () => {
      // One that has just ended is noted first.
      if (slot.run?.hasExited === true) await slot.run.over;
      if (slot.run === null) await this.#startNoted(slot, isNew);
      return begunOf(slot.run);
    });
  }

  /** Whether a start would find everything it needs. Throws as `start`. */
  check(group: OpenGroup, actorId: string): void {
    this.#launcher.plan(group, group.actor(actorId));
  }

  /**
   * Ends the Actor's process and all its descendants, politely and then firmly. `reason` in words.
   */
  async stop(groupId: string, actorId: string, reason: string): Promise<void> {
    const slot = this.#launches.find(groupId, actorId);
    if (slot === undefined) return;
    await this.#inTurn(slot, () => this.#stop(slot, reason));
  }

  /** A new process with a new token; its conversation as in `start`. Throws as `start`. */
  async restart(group: OpenGroup, actorId: string, isNew = false): Promise<BegunConversation | null> {
    const slot = this.#slot(group, actorId);
    return this.#inTurn(slot, async () => {
      await this.#stop(slot, "stopped to be restarted");
      await this.#startNoted(slot, isNew);
      return begunOf(slot.run);
    });
  }

  /** Sends the runtime's interrupt key. Throws not_running. */
  interrupt(groupId: string, actorId: string): void {
    const slot = this.#launches.find(groupId, actorId);
    const run = slot?.run;
    if (slot === undefined || run === null || run === undefined)
      throw new Refusal("not_running", { remedy: `Start it with 'svc actor start ${actorId}'.` });
    slot.terminal.write(entryOf(run.launch.runtime).interrupt);
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
    this.#closing = true;
    for (const stop of this.#stops.splice(0)) stop();
    const reason = "the daemon stopped";
    await Promise.all([
      ...this.#launches
        .slots()
        .map((slot) => this.#inTurn(slot, () => this.#stop(slot, reason, CLOSE_SECONDS))),
      // They are being stopped already, with more patience.
      ...this.#launches.leaving().flatMap((slot) => [this.#stop(slot, reason, CLOSE_SECONDS), slot.last]),
    ]);
    await this.#launches.lastRuns.settled();
  }

  /** Throws group_not_found or group_busy when the Group has just been deleted or reset. */
  #slot(group: OpenGroup, actorId: string): Slot {
    // From here on its end is noticed.
    if (this.#deps.registry.get(group.group_id) !== group) throw new Refusal("group_busy");
    return this.#launches.slot(group, group.actor(actorId));
  }

  /** Why it couldn't be started stays visible. */
  async #startNoted(slot: Slot, isNew: boolean): Promise<void> {
    try {
      await this.#start(slot, isNew ? NEW : null);
    } catch (error) {
      const { group } = slot;
      const actor = group.record.actors.find(({ generation }) => generation === slot.generation);
      if (error instanceof Refusal && actor !== undefined && !this.#closing) {
        this.#launches.lastRuns.ended(group, actor, `couldn't be started: ${error.message}`);
        this.#launches.tellWaiting(slot);
      }
      throw error;
    }
  }

  /** Ends what the Actor's earlier processes left, such as claims that the disk didn't take. */
  async #settle({ group, actor_id: actorId }: Slot): Promise<void> {
    await this.#clearing.get(group);
    await endClaims(this.#deps.messaging, group, group.actor(actorId), "process_exit").catch(
      (error: unknown) => this.#log("claims", group, actorId, error),
    );
  }

  /** `wanted` null: the last conversation, where it can be continued. */
  async #start(slot: Slot, wanted: Choice | null): Promise<void> {
    await this.#settle(slot);
    if (this.#closing) throw new Refusal("shutting_down");
    const { group } = slot;
    const actor = group.actor(slot.actor_id);
    if (actor.generation !== slot.generation) throw new Refusal("actor_not_found");
    const plan = this.#launcher.plan(group, actor);
    const last = this.#launches.lastRuns.conversationOf(group, actor);
    const conversation = wanted ?? chooseConversation(this.#deps.files, plan, last);
    let begun: BegunLaunch | undefined;
    const starting = (async () => {
      begun = await this.#launches.identities.begin(group, actor, plan.isOwn && plan.entry.hooks !== "none");
      slot.run = newRun(begun.launch, plan.directory, conversation);
      await this.#spawn(slot, slot.run, actor, plan, begun);
    })();
    slot.starting = starting;
    try {
      await starting;
    } catch (error) {
      const run = slot.run;
      slot.run = null;
      if (run?.process) await this.#ends.sweep(kinOf(run, run.process));
      if (begun !== undefined) {
        await this.#forget(slot).catch((failed: unknown) => this.#log("end", group, actor.id, failed));
      }
      slot.terminal.ended("couldn't be started");
      throw error;
    } finally {
      slot.starting = null;
    }
    if (conversation.lost !== "") {
      const data = { actor_id: actor.id, reason: "new_conversation", detail: conversation.lost };
      await group.note({ kind: "actor.start", by: "system", data }).catch((error: unknown) => {
        this.#log("note", group, actor.id, error);
      });
    }
  }

  async #spawn(
    slot: Slot,
    run: Run,
    actor: StoredActor,
    plan: LaunchPlan,
    begun: BegunLaunch,
  ): Promise<void> {
    const { group, terminal } = slot;
    const { clock, random, log, reports, messaging } = this.#deps;
    // It loads a terminal emulator, which a Home without terminals doesn't need.
    const { Screen } = await import("./terminal/screen.ts").catch(tellReplaced);
    const process = await this.#launcher.spawn(group, actor, plan, begun, run.conversation, terminal);
    run.process = process;
    let tellExited = (_exit: ProcessExit): void => {};
    const exit = new Promise<ProcessExit>((resolve) => (tellExited = resolve));
    run.exited = exit.then(() => {
      run.hasExited = true;
    });
    terminal.start(process, Screen, run.launch.started_at, {
      reads: () => run.prompter?.consider(),
      drawn: () => run.prompter?.drawn(),
      typed: () => reports.typed(run.launch),
      interrupted: () => reports.interrupted(run.launch),
      exited: tellExited,
    });
    run.stored = await this.#launches.identities.bind(group, run.stored, process.pid);
    run.launch = launchOf(run.stored);
    run.prompter = new Prompter({
      chat: messaging.get(group.group_id),
      launch: run.launch,
      entry: plan.entry,
      answerWith: plan.answerWith,
      terminal,
      reports,
      hasTools: () => run.hasTools || plan.answerWith !== "mcp",
      clock,
      random,
      log,
      changed: () => this.#launches.tellWaiting(slot),
    });
    run.over = exit.then((how) => this.#over(slot, run, how));
    this.#launches.lastRuns.began(group, actor);
    this.#launches.tellStarted(run.launch);
    run.prompter.open();
    this.#launches.tellWaiting(slot);
  }

  async #stop(slot: Slot, reason: string, seconds: number = LIMITS.terminal.stopSeconds): Promise<void> {
    const { run } = slot;
    if (run === null || run.process === null) return;
    run.requested ??= reason;
    const { signal } = entryOf(run.launch.runtime).end;
    await this.#ends.end(kinOf(run, run.process), signal, run.exited, seconds);
    await run.over;
  }

  /** The process has ended, and its output was passed on. */
  async #over(slot: Slot, run: Run, exit: ProcessExit): Promise<void> {
    const { group, actor_id: actorId } = slot;
    const reason = run.requested ?? exitWords(exit);
    try {
      await run.prompter?.close(run.requested === null ? "process_exit" : "process_stopped");
      if (run.requested === null && run.process !== null) {
        await this.#ends.sweep(kinOf(run, run.process));
      }
      await this.#forget(slot);
      if (run.requested === null) {
        const data = { actor_id: actorId, reason: "process_exit", exit_code: exit.code, signal: exit.signal };
        await group.note({ kind: "actor.stop", by: "system", data });
      } else if (this.#closing && this.#isThere(slot)) {
        await group.note({
          kind: "actor.stop",
          by: "system",
          data: { actor_id: actorId, reason: "daemon_stop" },
        });
      }
    } catch (error) {
      this.#log("end", group, actorId, error);
    } finally {
      slot.run = null;
      slot.terminal.ended(reason);
      const { generation, runtime } = run.launch;
      this.#launches.lastRuns.ended(group, { id: actorId, generation, runtime }, reason);
      this.#launches.tellEnded(run.launch, { reason });
      this.#launches.tellWaiting(slot);
    }
    // Both verified runtimes say so and exit with 1 if they don't find a session, before they run
    // any hook.
    const isRefused = run.conversation.resume !== null && !run.hasTold && exit.code !== 0;
    if (run.requested === null && isRefused) this.#startAnew(slot, reason);
  }

  /**
   * After a runtime that didn't continue its session. The Actor may have been stopped or started
   * since, and that counts.
   */
  #startAnew(slot: Slot, reason: string): void {
    const { group, actor_id: actorId } = slot;
    void this.#inTurn(slot, async () => {
      const isThere = this.#launches.find(group.group_id, actorId) === slot;
      if (this.#closing || !isThere || slot.run !== null || !group.actor(actorId).enabled) return;
      await this.#start(slot, { resume: null, lost: `its agent didn't continue it and ${reason}` });
    }).catch((error: unknown) => this.#log("start", group, actorId, error));
  }

  #isThere({ group, generation }: Slot): boolean {
    const isOpen = this.#deps.registry.find(group.group_id) === group;
    return isOpen && group.record.actors.some((actor) => actor.generation === generation);
  }

  async #forget(slot: Slot): Promise<void> {
    const { group } = slot;
    // The Group's files are gone with it, or belong to another.
    if (this.#deps.registry.find(group.group_id) !== group) return;
    await this.#launches.identities.end(group, slot);
    await removeHookCommand(this.#deps.files, group.paths, slot.actor_id);
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
      const ended = this.#inTurn(slot, () => this.#stop(slot, "the Actor was removed")).catch(
        (error: unknown) => this.#log("stop", slot.group, slot.actor_id, error),
      );
      this.#launches.drop(slot, ended);
      if (group !== undefined && actor === undefined) this.#launches.lastRuns.forget(group, slot.actor_id);
    }
  }

  #inTurn<Result>(slot: Slot, step: () => Promise<Result>): Promise<Result> {
    const result = slot.last.then(step);
    slot.last = result.catch(() => undefined);
    return result;
  }

  #log(what: string, group: OpenGroup, actorId: string, error: unknown): void {
    const code = error instanceof Refusal ? { code: error.code } : errorFields(error);
    this.#deps.log.warn(`runtime ${what}`, { group_id: group.group_id, actor_id: actorId, ...code });
  }
}

/** What a start continued with. */
function begunOf(run: Run | null): BegunConversation | null {
  return run && { continued: run.conversation.resume !== null, lost: run.conversation.lost };
}

function newRun(stored: StoredLaunch, directory: string, conversation: Choice): Run {
  return {
    directory,
    conversation,
    hasTold: false,
    stored,
    launch: launchOf(stored),
    process: null,
    prompter: null,
    hasTools: false,
    requested: null,
    asks: "",
    hasExited: false,
    exited: Promise.resolve(),
    over: Promise.resolve(),
  };
}

/** What it started, and what that left running. */
function kinOf({ stored }: Run, { pid }: TerminalProcess): Kin & { pid: number } {
  return { pid, birth: stored.birth, mark: stored.mark };
}

function exitWords({ code, signal }: ProcessExit): string {
  if (signal === null) return `exited with code ${code}`;
  const name = Object.entries(constants.signals).find(([, number]) => number === signal)?.[0];
  return `ended by signal ${name ?? signal}`;
}
