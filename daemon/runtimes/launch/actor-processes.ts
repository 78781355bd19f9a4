/**
 * The life of an Actor's process, from its start to the note of its end. What is asked of one Actor
 * is done in turn, by `inTurn`.
 */

import { constants } from "node:os";
import { removeHookCommand } from "../../../client/hook/hook-command.ts";
import { errorFields, errorKind, type Log } from "../../../platform/log.ts";
import type { ProcessExit, TerminalProcess } from "../../../platform/processes.ts";
import type { Random } from "../../../platform/random.ts";
import { tellReplaced } from "../../../platform/replaced.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { StoredActor } from "../../../shared/model.ts";
import { sizeWords } from "../../../shared/size-words.ts";
import type { LaunchReports } from "../../activity/launches.ts";
import type { OpenGroup } from "../../groups/group.ts";
import type { GroupRegistry } from "../../groups/registry.ts";
import type { Chats } from "../../messaging/group-chat.ts";
import { entryOf } from "../catalogue.ts";
import { findInConversation } from "../input/prompt-history.ts";
import { Prompter } from "../input/prompter.ts";
import { type Choice, chooseConversation, NEW } from "./conversation.ts";
import { endWords, type InHand, takeInHand, tellInterrupted } from "./interruptions.ts";
import { type BegunLaunch, launchOf, type StoredLaunch } from "./launch-identity.ts";
import type { Launcher, LauncherDependencies, LaunchPlan } from "./launcher.ts";
import { clearLeftovers, endClaims, type LeftoverDependencies } from "./leftovers.ts";
import type { LiveLaunches, Run, Slot } from "./live-launches.ts";
import { type Kin, ProcessEnds } from "./process-end.ts";

export interface ActorProcessDependencies extends LauncherDependencies {
  random: Random;
  log: Log;
  registry: GroupRegistry;
  launches: LiveLaunches;
  messaging: Chats;
  reports: LaunchReports;
}

export class ActorProcesses {
  readonly #launcher: Launcher;
  readonly #deps: ActorProcessDependencies;
  readonly #ends: ProcessEnds;
  readonly #launches: LiveLaunches;
  /** Of Groups: nothing starts there before. */
  readonly #clearing = new WeakMap<OpenGroup, Promise<void>>();
  #isClosing = false;

  constructor(deps: ActorProcessDependencies, launcher: Launcher) {
    this.#deps = deps;
    this.#launches = deps.launches;
    this.#launcher = launcher;
    this.#ends = new ProcessEnds(deps.processes, deps.clock);
  }

  /** The daemon is about to end: nothing starts any more. */
  startNoMore(): void {
    this.#isClosing = true;
  }

  /** Ends what an earlier daemon left in a Group. Its Actors start after that. */
  clear(group: OpenGroup): Promise<void> {
    const cleared = clearLeftovers(this.#leftovers, group);
    this.#clearing.set(group, cleared);
    return cleared;
  }

  get #leftovers(): LeftoverDependencies {
    const { identities, lastRuns } = this.#launches;
    return { ...this.#deps, identities, ends: this.#ends, lastRuns };
  }

  /** Steps of one Actor follow each other. */
  inTurn<Result>(slot: Slot, step: () => Promise<Result>): Promise<Result> {
    const result = slot.last.then(step);
    slot.last = result.catch(() => undefined);
    return result;
  }

  /**
   * Starts a process, in the last conversation if that can be continued and no new one is wanted.
   * Why it couldn't be started stays visible. Throws as `Runtimes.start`.
   */
  async start(slot: Slot, isNew: boolean): Promise<void> {
    try {
      await this.#begin(slot, isNew ? NEW : null);
    } catch (error) {
      const { group } = slot;
      const actor = group.record.actors.find(({ generation }) => generation === slot.generation);
      if (actor !== undefined && !this.#isClosing) {
        const why = error instanceof Refusal ? error.message : failureWords("its start", error);
        this.#launches.lastRuns.ended(group, actor, `couldn't be started: ${why}`);
        this.#launches.tellWaiting(slot);
      }
      throw error;
    }
  }

  /** Ends what the Actor's earlier processes left, such as claims that the disk didn't take. */
  async #settle({ group, actor_id: actorId }: Slot): Promise<void> {
    await this.#clearing.get(group);
    await endClaims(this.#leftovers, group, group.actor(actorId), "process_exit").catch((error: unknown) =>
      this.log("claims", group, actorId, error),
    );
  }

  /** `wanted` null: the last conversation, where it can be continued. */
  async #begin(slot: Slot, wanted: Choice | null): Promise<void> {
    await this.#settle(slot);
    await this.#launcher.ready();
    if (this.#isClosing) throw new Refusal("shutting_down");
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
        await this.#forget(slot).catch((failed: unknown) => this.log("end", group, actor.id, failed));
      }
      slot.terminal.ended("couldn't be started");
      throw error;
    } finally {
      slot.starting = null;
    }
    if (conversation.lost !== "") {
      const data = { actor_id: actor.id, reason: "new_conversation", detail: conversation.lost };
      await group.note({ kind: "actor.start", by: "system", data }).catch((error: unknown) => {
        this.log("note", group, actor.id, error);
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
    const { Screen } = await import("../terminal/screen.ts").catch(tellReplaced);
    const process = await this.#launcher.spawn(group, actor, plan, begun, run.conversation, terminal);
    run.process = process;
    const failed = (error: unknown): void => this.#failed(slot, run, error);
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
      stuck: () => {
        run.prompter?.consider();
        this.#launches.tellWaiting(slot);
      },
      exited: tellExited,
      failed,
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
      failed,
      findPrompts: (ids) => {
        const { actor_id: id, generation, runtime } = run.launch;
        const last = this.#launches.lastRuns.conversationOf(group, { id, generation, runtime });
        return findInConversation(this.#deps.files, runtime, last, ids);
      },
    });
    run.over = exit.then((how) => this.#over(slot, run, how));
    this.#launches.lastRuns.began(group, actor, run.conversation.resume === null);
    this.#launches.tellStarted(run.launch);
    run.prompter.open();
    this.#launches.tellWaiting(slot);
  }

  /** Ends the process and all its descendants and notes it. `reason` in words. */
  async stop(slot: Slot, reason: string, seconds: number = LIMITS.terminal.stopSeconds): Promise<void> {
    const { run } = slot;
    if (run === null || run.process === null) return;
    run.requested ??= reason;
    // Some report the end of their session while they end.
    run.wasInWork ??= this.#isInWork(run);
    const { signal } = entryOf(run.launch.runtime).end;
    await this.#ends.end(kinOf(run, run.process), signal, run.exited, seconds);
    await run.over;
  }

  /** Its terminal can't go on. Nothing else is concerned. */
  #failed(slot: Slot, run: Run, error: unknown): void {
    const { group, actor_id: actorId } = slot;
    this.log("terminal", group, actorId, error);
    void this.inTurn(slot, async () => {
      if (slot.run !== run) return;
      await this.stop(slot, failureWords("its terminal", error));
      const data = { actor_id: actorId, reason: "terminal_failed" };
      await group.note({ kind: "actor.stop", by: "system", data });
    }).catch((failed: unknown) => this.log("stop", group, actorId, failed));
  }

  /** The process has ended, and its output was passed on. Rejects never. */
  async #over(slot: Slot, run: Run, exit: ProcessExit): Promise<void> {
    const { group, actor_id: actorId } = slot;
    const { generation, runtime } = run.launch;
    const chat = this.#deps.messaging.find(group.group_id);
    let reason = run.requested ?? exitWords(exit);
    let inHand: InHand | undefined;
    /** What goes wrong with one step keeps none of the others. */
    const step = async (work: () => unknown): Promise<void> => {
      try {
        await work();
      } catch (error) {
        this.log("end", group, actorId, error);
      }
    };
    await step(() => {
      const whose = { actor_id: actorId, generation, mark: run.stored.mark };
      if (chat !== undefined) inHand = takeInHand(chat, whose, run.wasInWork ?? this.#isInWork(run));
    });
    await step(() => {
      const unread = run.process?.unread ?? 0;
      if (unread > 0) reason += `; it never read ${sizeWords(unread)} of its input`;
    });
    await step(() => run.prompter?.close(run.requested === null ? "process_exit" : "process_stopped"));
    await step(() => chat && inHand && tellInterrupted(chat, inHand, reason));
    await step(() => {
      if (run.requested === null && run.process !== null) return this.#ends.sweep(kinOf(run, run.process));
    });
    await step(() => this.#forget(slot));
    await step(() => this.#noteEnd(slot, run, exit));
    slot.run = null;
    const words = inHand === undefined ? reason : endWords(reason, inHand);
    slot.terminal.ended(reason);
    this.#launches.lastRuns.ended(group, { id: actorId, generation, runtime }, words);
    this.#launches.tellEnded(run.launch, { reason: words });
    this.#launches.tellWaiting(slot);
    // Both verified runtimes say so and exit with 1 if they don't find a session, before they run
    // any hook.
    const isRefused = run.conversation.resume !== null && !run.hasTold && exit.code !== 0;
    if (run.requested === null && isRefused) this.#startAnew(slot, reason);
  }

  /** In the ledger, unless whoever asked for the end notes it. */
  async #noteEnd(slot: Slot, run: Run, { code, signal }: ProcessExit): Promise<void> {
    const { group, actor_id: actorId } = slot;
    const data =
      run.requested === null
        ? { actor_id: actorId, reason: "process_exit", exit_code: code, signal }
        : { actor_id: actorId, reason: "daemon_stop" };
    const isNoted = run.requested === null || (this.#isClosing && this.#isThere(slot));
    if (isNoted) await group.note({ kind: "actor.stop", by: "system", data });
  }

  /**
   * After a runtime that didn't continue its session. The Actor may have been stopped or started
   * since, and that counts.
   */
  #startAnew(slot: Slot, reason: string): void {
    const { group, actor_id: actorId } = slot;
    void this.inTurn(slot, async () => {
      const isThere = this.#launches.find(group.group_id, actorId) === slot;
      if (this.#isClosing || !isThere || slot.run !== null || !group.actor(actorId).enabled) return;
      await this.#begin(slot, { resume: null, lost: `its agent didn't continue it and ${reason}` });
    }).catch((error: unknown) => this.log("start", group, actorId, error));
  }

  #isInWork({ launch }: Run): boolean {
    const { group_id: groupId, actor_id: id, generation } = launch;
    return this.#deps.reports.isInWork(groupId, { id, generation });
  }

  #isThere({ group, generation }: Slot): boolean {
    const isOpen = this.#deps.registry.find(group.group_id) === group;
    return isOpen && group.record.actors.some((actor) => actor.generation === generation);
  }

  async #forget(slot: Slot): Promise<void> {
    const { group } = slot;
    await this.#deps.doors?.close({ group_id: group.group_id, actor_id: slot.actor_id });
    // The Group's files are gone with it, or belong to another.
    if (this.#deps.registry.find(group.group_id) !== group) return;
    await this.#launches.identities.end(group, slot);
    await removeHookCommand(this.#deps.files, group.paths, slot.actor_id);
  }

  /** A failure that nobody waits for. */
  log(what: string, group: OpenGroup, actorId: string, error: unknown): void {
    const code = error instanceof Refusal ? { code: error.code } : errorFields(error);
    this.#deps.log.warn(`runtime ${what}`, { group_id: group.group_id, actor_id: actorId, ...code });
  }
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
    wasInWork: null,
    exited: Promise.resolve(),
    over: Promise.resolve(),
  };
}

/** What it started, and what that left running. */
function kinOf({ stored }: Run, { pid }: TerminalProcess): Kin & { pid: number } {
  return { pid, birth: stored.birth, mark: stored.mark };
}

function failureWords(what: string, error: unknown): string {
  return `${what} failed in svc (${errorKind(error)}); the daemon's log says where`;
}

function exitWords({ code, signal }: ProcessExit): string {
  if (signal === null) return `exited with code ${code}`;
  const name = Object.entries(constants.signals).find(([, number]) => number === signal)?.[0];
  return `ended by signal ${name ?? signal}`;
}
