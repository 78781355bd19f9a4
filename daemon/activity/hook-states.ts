/**
 * The hook state of each launch: how its hook events change it, and what no hook reports. State and
 * records change together or not at all.
 */
import type { Clock } from "../../platform/clock.ts";
import { errorFields, type Log } from "../../platform/log.ts";
import { Signal } from "../../platform/signal.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { StoredActor } from "../../shared/model.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";
import type { ActorStore, Change, Content } from "./actor-store.ts";
import type { GroupActivity } from "./group-activity.ts";
import { answered, questionOf } from "./hooks/answers.ts";
import { closeSession } from "./hooks/closing.ts";
import { inferInterrupt, judge } from "./hooks/fences.ts";
import { failTurn, inputSteps, isQueuedPrompt, refuteTurn } from "./hooks/further-turns.ts";
import type { Hook, HookRuntime } from "./hooks/hook.ts";
import { type HookState, initialState, Memory } from "./hooks/hook-state.ts";
import { type Trouble, troubleOnScreen } from "./hooks/trouble.ts";
import type { InputListener, Launch, Launches } from "./launches.ts";
import type { Questions } from "./questions/questions.ts";
import { agree } from "./working-state.ts";

interface Dependencies {
  clock: Clock;
  log: Log;
  launches: Launches;
  questions: Questions;
  find(groupId: string): GroupActivity | undefined;
  /** A question was asked or answered: its Actor's working state is looked at now. */
  look(): void;
}

export type Submitted = ResultOf<"hook_submit">;

export function refused(reason: NonNullable<Submitted["reason"]>): Submitted {
  return { accepted: false, reason };
}

export class HookStates {
  readonly #deps: Dependencies;
  readonly #inputs = new Signal<Parameters<InputListener>>();
  /** Launches that reported the end of their session in a turn, by the digest of their token. */
  readonly #cutOff = new Set<string>();

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  onInput(listener: InputListener): () => void {
    return this.#inputs.on(listener);
  }

  /**
   * Takes a hook event of this launch. The answer comes when the event is judged, not when it is on
   * disk, because the runtime waits for its hook and ignores the answer. If the disk refuses, the
   * change is undone and the working state becomes unavailable.
   */
  accept(
    activity: GroupActivity,
    actor: StoredActor,
    launch: Launch & { pid: number },
    hook: Hook,
  ): Submitted {
    const store = activity.storeOf(actor);
    let result: Submitted = { accepted: true, reason: null };
    let isOther = false;
    const committed = store.submit((content) => {
      const at = activity.timestampAfter(content);
      const fresh = this.#ofLaunch(store, content, launch, hook.runtime, at);
      const judged = judge(fresh.hooks, fresh.memory, hook, at);
      if (typeof judged === "string") {
        result = refused(judged);
        return null;
      }
      const revisions = [...fresh.leftOver, ...judged.revisions];
      const change = activity.change(actor, content, judged.state, revisions, at);
      store.memory = fresh.memory;
      judged.remember();
      if (hook.event === "SessionEnd" && fresh.hooks.turn !== null) this.#cutOff.add(launch.token_digest);
      else this.#cutOff.delete(launch.token_digest);
      isOther = questionOf(fresh.hooks) !== questionOf(judged.state);
      // The end of a session takes nothing out of the queue.
      const isSame = fresh.hooks.session?.id === judged.state.session?.id;
      if (isSame) this.#tellInput(launch, fresh.hooks, judged.state);
      this.#deps.questions.reported(launch, judged.state);
      return change;
    });
    committed.then(
      // A person is told at once what it waits for.
      () => isOther && this.#deps.look(),
      (error: unknown) => this.#warn(launch, error),
    );
    return result;
  }

  /** Whether this prompt waits in the queue, as far as the hooks of this launch report. */
  isQueued(launch: Launch, hook: Hook): boolean {
    const activity = this.#deps.find(launch.group_id);
    const actor = activity?.group.record.actors.find(({ id }) => id === launch.actor_id);
    if (activity === undefined || actor === undefined) return false;
    const { latest, memory } = activity.storeOf(actor);
    const { hooks } = latest;
    if (hooks === null || memory === null || !agree(launch, hooks)) return false;
    return hooks.session?.id === hook.session_id && isQueuedPrompt(hooks, memory, hook);
  }

  /** A person typed into its terminal. */
  typed(launch: Launch): void {
    const { launches, questions } = this.#deps;
    questions.typed(launch);
    this.#change(launch, async (_activity, _actor, { latest, answers }) => {
      const question = questionOf(latest.hooks);
      if (question !== "" && launches.asks(launch)) answers.see(question);
    });
  }

  /** A person pressed the keys that interrupt. */
  interrupted(launch: Launch): void {
    if (launch.runtime !== "claude") return;
    this.#change(launch, (activity, actor, store) =>
      store.submit((content) => {
        if (content.hooks === null || !agree(launch, content.hooks)) return null;
        const at = activity.timestampAfter(content);
        const ended = inferInterrupt(content.hooks, at);
        if (ended === null) return null;
        this.#tellInput(launch, content.hooks, ended.state);
        return activity.change(actor, content, { ...ended.state, at }, ended.revisions, at);
      }),
    );
  }

  /** The question of this tool use, or of all, was answered, which no hook reports. */
  decided(launch: Launch, operationId: string): void {
    this.#change(launch, (activity, actor, store) =>
      store.submit((content) => {
        if (content.hooks === null || !agree(launch, content.hooks)) return null;
        const at = activity.timestampAfter(content);
        const { state, revisions } = answered(content.hooks, at, operationId);
        return activity.change(actor, content, state, revisions, at);
      }),
    );
  }

  /** What no hook reports: that a question was answered, and that an assumed turn isn't running. */
  check(launch: Launch): void {
    const { launches } = this.#deps;
    this.#change(launch, async (activity, actor, store) => {
      const { hooks } = store.latest;
      if (hooks === null || !agree(launch, hooks)) return;
      const now = this.#deps.clock.now();
      const isAnswered = store.answers.look(questionOf(hooks), () => launches.asks(launch));
      const quiet = Math.min(launches.quietSeconds(launch) ?? 0, (now - Date.parse(hooks.at)) / 1000);
      const isSilent = quiet >= LIMITS.activity.assumedSilenceSeconds;
      const failure =
        quiet >= LIMITS.activity.errorSilenceSeconds ? this.#failureOnScreen(launch, hooks) : null;
      if (failure !== null) {
        await store.submit((content) => {
          if (content.hooks?.turn?.name !== hooks.turn?.name || content.hooks === null) return null;
          const at = activity.timestampAfter(content);
          const next = failTurn(content.hooks, failure.words, at);
          return next && activity.change(actor, content, next.state, next.revisions, at);
        });
        return;
      }
      if (!isAnswered && (!isSilent || hooks.turn?.isAssumed !== true)) return;
      await store.submit((content) => {
        if (content.hooks === null) return null;
        const at = activity.timestampAfter(content);
        const next = isAnswered ? answered(content.hooks, at) : refuteTurn(content.hooks, at);
        if (next !== null) this.#deps.questions.reported(launch, next.state);
        return next && activity.change(actor, content, next.state, next.revisions, at);
      });
    });
  }

  /** Codex: a turn that its screen says has failed, in a silent terminal. */
  #failureOnScreen(launch: Launch, { runtime, turn }: HookState): Trouble | null {
    if (runtime !== "codex" || turn === null || turn.isWaiting) return null;
    const trouble = troubleOnScreen(runtime, this.#deps.launches.screen(launch));
    return trouble?.isRetrying === false ? trouble : null;
  }

  /** Whether it ended its session in a turn, as Claude does when a signal ends it. */
  isCutOff({ token_digest: tokenDigest }: Launch): boolean {
    return this.#cutOff.has(tokenDigest);
  }

  /** Its process has ended. */
  ended(launch: Launch): void {
    this.#cutOff.delete(launch.token_digest);
    this.#deps.questions.ended(launch);
    this.#change(launch, (activity, actor, store) =>
      store.submit((content): Change | null => {
        if (content.hooks === null || !agree(launch, content.hooks)) return null;
        const at = activity.timestampAfter(content);
        const closed = closeSession(content.hooks, at);
        const change = activity.change(actor, content, closed.state, closed.revisions, at);
        return { ...change, content: { ...change.content, hooks: null } };
      }),
    );
  }

  /** The hook state to continue from. Anything that an earlier launch left open is ended first. */
  #ofLaunch(
    store: ActorStore,
    { hooks }: Content,
    launch: Launch & { pid: number },
    runtime: HookRuntime,
    at: string,
  ) {
    if (hooks !== null && store.memory !== null && agree(launch, hooks)) {
      return { hooks, memory: store.memory, leftOver: [] };
    }
    const leftOver = hooks === null ? [] : closeSession(hooks, at).revisions;
    return { hooks: initialState(launch, runtime, at), memory: new Memory(), leftOver };
  }

  #tellInput(launch: Launch, before: HookState, after: HookState): void {
    for (const step of inputSteps(before, after)) {
      this.#inputs.tell(launch, step);
    }
  }

  /** Changes an Actor's activity without a waiting caller. */
  #change(
    launch: Launch,
    change: (activity: GroupActivity, actor: StoredActor, store: ActorStore) => Promise<void>,
  ): void {
    const { group_id: groupId, actor_id: actorId, generation } = launch;
    const activity = this.#deps.find(groupId);
    const actor = activity?.group.record.actors.find((one) => one.id === actorId);
    if (activity === undefined || actor?.generation !== generation) return;
    try {
      change(activity, actor, activity.storeOf(actor)).catch((error: unknown) => this.#warn(launch, error));
    } catch (error) {
      this.#warn(launch, error);
    }
  }

  #warn({ group_id: groupId, actor_id: actorId }: Launch, error: unknown): void {
    this.#deps.log.warn("runtime activity", { group: groupId, actor: actorId, ...errorFields(error) });
  }
}
