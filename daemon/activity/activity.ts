/**
 * The activity service: accepts hook events, keeps what may be shown of them, and says what every
 * Actor is doing. The folder's face.
 */

import { errorFields, type Log } from "../../platform/log.ts";
import { Signal } from "../../platform/signal.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { StoredActor } from "../../shared/model.ts";
import type { activityOperations } from "../../shared/operations/activity.ts";
import type { CallContext } from "../../shared/operations/caller.ts";
import type { HandlersFor } from "../../shared/operations/handlers.ts";
import type { HookDecision, questionOperations } from "../../shared/operations/questions.ts";
import type { InputOf, ResultOf } from "../../shared/operations/registry.ts";
import type { OpenGroup } from "../groups/group.ts";
import type { GroupRegistry } from "../groups/registry.ts";
import type { ActorStore, Change, Content } from "./actor-store.ts";
import { type ActivityListener, GroupActivity, type GroupActivityDependencies } from "./group-activity.ts";
import { answered, questionOf } from "./hooks/answers.ts";
import { closeSession } from "./hooks/closing.ts";
import { inferInterrupt, judge } from "./hooks/fences.ts";
import { failTurn, inputSteps, isQueuedPrompt, refuteTurn } from "./hooks/further-turns.ts";
import {
  type Hook,
  type HookRuntime,
  isHookRuntime,
  promptOf,
  readHook,
  transcriptOf,
} from "./hooks/hook.ts";
import { type HookState, initialState, Memory } from "./hooks/hook-state.ts";
import { type Trouble, troubleOnScreen } from "./hooks/trouble.ts";
import type {
  InputListener,
  Launch,
  Launches,
  LaunchReports,
  PromptListener,
  SessionListener,
} from "./launches.ts";
import { UNDECIDED } from "./questions/asked.ts";
import { Questions } from "./questions/questions.ts";
import { agree, type Derived, derive } from "./working-state.ts";
import { type HookEvidence, type WorkingState, WorkingStates } from "./working-states.ts";

export interface ActivityDependencies extends GroupActivityDependencies {
  log: Log;
  registry: GroupRegistry;
  launches: Launches;
}

/** As people see it. */
type Shown = Omit<WorkingState, "state" | "since" | "trouble"> & {
  state: WorkingState["state"] | "failed";
  since: string | null;
  attention: boolean;
  /** How many open questions a person may answer through svc; absent if none. */
  questions?: number;
};
type Submitted = ResultOf<"hook_submit">;
type PresenceListener = (groupId: string, actorId: string) => void;

export class Activity implements LaunchReports {
  readonly #deps: ActivityDependencies;
  readonly #groups = new Map<string, GroupActivity>();
  readonly #prompts = new Signal<Parameters<PromptListener>>();
  readonly #inputs = new Signal<Parameters<InputListener>>();
  readonly #sessions = new Signal<Parameters<SessionListener>>();
  readonly #presence = new Signal<Parameters<PresenceListener>>();
  readonly #questions: Questions;
  readonly #stops: (() => void)[] = [];
  #closed = false;
  #working: WorkingStates | null = null;

  constructor(deps: ActivityDependencies) {
    this.#deps = deps;
    this.#questions = new Questions({
      ...deps,
      find: (groupId) => deps.registry.find(groupId),
      isRunning: (launch) => this.#isRunning(launch),
      changed: (groupId, actorId) => {
        this.#presence.tell(groupId, actorId);
      },
      decided: (launch, operationId) => this.#decided(launch, operationId),
    });
  }

  /** Takes up every Group and follows its changes and the launches. */
  start(): void {
    const { registry, launches } = this.#deps;
    for (const group of registry.list()) this.#attach(group);
    this.#working = new WorkingStates({
      clock: this.#deps.clock,
      log: this.#deps.log,
      launches,
      find: (groupId) => registry.find(groupId),
      evidenceOf: (group, actor, launch) => this.#evidenceOf(group, actor, launch),
      check: (launch) => this.#check(launch),
      changed: (groupId, actorId) => {
        this.#presence.tell(groupId, actorId);
      },
    });
    this.#stops.push(
      registry.onChange(({ group_id: groupId, what }) => {
        if (what === "created") this.#attach(registry.get(groupId));
        else if (what === "removed") this.#detach(groupId);
        else if (what === "actors") this.#actorsChanged(groupId);
      }),
      launches.onEnded((launch) => this.#ended(launch)),
    );
  }

  handlers(): HandlersFor<typeof activityOperations | typeof questionOperations> {
    const { registry } = this.#deps;
    return {
      hook_submit: (input, context) => this.#submit(input, context),
      hook_decide: (input, context) => this.#decide(input, context),
      actor_questions: ({ group_id: groupId }) => ({
        questions: this.#questions.of(registry.get(groupId)),
      }),
      actor_answer: (input, context) => this.#questions.answer(registry.get(input.group_id), input, context),
      runtime_activity_snapshot: ({ group_id: groupId }) => {
        const events = this.#get(groupId).snapshot();
        return { count: events.length, events };
      },
    };
  }

  /**
   * For streams: accepted events as they are committed. Throws group_not_found or
   * group_unavailable.
   */
  follow(groupId: string, listener: ActivityListener): () => void {
    return this.#get(groupId).follow(listener);
  }

  /**
   * What a snapshot shows now. Throws group_not_found, group_unavailable or
   * runtime_activity_unavailable.
   */
  view(groupId: string): ReturnType<GroupActivity["snapshot"]> {
    return this.#get(groupId).snapshot();
  }

  /** What an Actor in a terminal is doing, as derived within the last second. */
  workingState(groupId: string, actor: StoredActor): Shown {
    const state: WorkingState = this.#working?.of(groupId, actor) ?? {
      state: "unavailable" as const,
      reason: "the daemon is starting",
      since: actor.updated_at,
      last_activity: null,
    };
    const { state: name, reason, since, last_activity: lastActivity, trouble } = state;
    const shown = name === "idle" && trouble !== undefined ? "failed" : name;
    const questions = this.#questions.count(groupId, actor.id);
    return {
      state: shown,
      reason,
      since,
      last_activity: lastActivity,
      attention: name === "waiting" || trouble !== undefined || questions > 0,
      ...(questions === 0 ? {} : { questions }),
    };
  }

  /**
   * Why the Actor can't do its work, in words. Empty if its last turn went well, null if nothing
   * says.
   */
  troubleOf(groupId: string, actor: StoredActor): string | null {
    const state = this.#working?.of(groupId, actor);
    if (state?.trouble !== undefined) return state.trouble;
    return state?.state === "idle" ? "" : null;
  }

  /** A working state or its reason changed. */
  onPresence(listener: PresenceListener): () => void {
    return this.#presence.on(listener);
  }

  onPrompt(listener: PromptListener): () => void {
    return this.#prompts.on(listener);
  }

  onInput(listener: InputListener): () => void {
    return this.#inputs.on(listener);
  }

  onSession(listener: SessionListener): () => void {
    return this.#sessions.on(listener);
  }

  typed(launch: Launch): void {
    const { launches } = this.#deps;
    this.#questions.typed(launch);
    this.#change(launch, async (_activity, _actor, { latest, answers }) => {
      const question = questionOf(latest.hooks);
      if (question !== "" && launches.asks(launch)) answers.see(question);
    });
  }

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

  doing(launch: Launch): Derived["state"] {
    const { launches } = this.#deps;
    const group = this.#groups.get(launch.group_id)?.group;
    const actor = group?.record.actors.find(({ id }) => id === launch.actor_id);
    if (group === undefined || actor?.generation !== launch.generation) return "unavailable";
    return derive({
      launch,
      committed: launches.committed(launch.group_id, launch.actor_id),
      isAlive: launches.isAlive(launch),
      ...this.#evidenceOf(group, actor, launch),
      quietSeconds: launches.quietSeconds(launch),
      // The prompter looks at the screen itself.
      needs: "",
      now: this.#deps.clock.now(),
    }).state;
  }

  /** Resolves when everything accepted is on disk or has been undone. */
  async settled(): Promise<void> {
    await Promise.all([...this.#groups.values()].map((activity) => activity.settled()));
  }

  /** Stops looking and waits for the disk. Streams end. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const stop of this.#stops.splice(0)) stop();
    this.#questions.close();
    this.#working?.close();
    await this.#working?.settled();
    await this.settled();
    for (const activity of this.#groups.values()) activity.close();
    this.#groups.clear();
  }

  async #submit(payload: InputOf<"hook_submit">, { caller }: CallContext): Promise<Submitted> {
    if (caller.kind !== "actor") throw new Refusal("permission_denied");
    const { group_id: groupId, actor_id: actorId } = caller;
    const launch = await this.#launchOf(groupId, actorId);
    // The launch fence: exactly this process, alive, with the token that was committed for it.
    if (launch === null || launch.token_digest !== caller.launch) return refused("launch");
    if (launch.generation !== caller.generation || !isHookRuntime(launch.runtime)) return refused("launch");
    const hook = readHook(launch.runtime, payload);
    const prompt = promptOf(payload);
    if (prompt !== null) {
      const isQueued = typeof hook !== "string" && this.#isQueued(launch, hook);
      this.#prompts.tell(launch, prompt, isQueued);
    }
    if (typeof hook === "string") return refused(hook);
    const activity = this.#get(groupId);
    const submitted = this.#accept(
      activity,
      activity.group.actor(actorId),
      { ...launch, pid: launch.pid! },
      hook,
    );
    if (submitted.accepted && hook.agent_id === "" && hook.event !== "SessionEnd") {
      const { session_id: sessionId, event } = hook;
      const isPrompt = event === "UserPromptSubmit";
      const report = { session_id: sessionId, transcript_path: transcriptOf(payload), isPrompt };
      this.#sessions.tell(launch, report);
    }
    return submitted;
  }

  /**
   * Waits for a person's decision. Whatever isn't certain to come from the current process of an
   * Actor whose questions are answered here gets none.
   */
  async #decide(payload: InputOf<"hook_decide">, { caller, signal }: CallContext): Promise<HookDecision> {
    if (caller.kind !== "actor") throw new Refusal("permission_denied");
    const { group_id: groupId, actor_id: actorId } = caller;
    const launch = await this.#launchOf(groupId, actorId);
    if (launch === null || launch.token_digest !== caller.launch || this.#closed) return UNDECIDED;
    if (launch.generation !== caller.generation || !isHookRuntime(launch.runtime)) return UNDECIDED;
    const hook = readHook(launch.runtime, payload);
    if (typeof hook === "string") return UNDECIDED;
    const activity = this.#get(groupId);
    const { group } = activity;
    const { hooks } = activity.storeOf(group.actor(actorId)).latest;
    const state = hooks !== null && agree(launch, hooks) ? hooks : null;
    return this.#questions.ask(group, launch, hook, payload, state, signal);
  }

  /** Whether this is the launch that runs for the Actor now. */
  #isRunning(launch: Launch): boolean {
    const { launches } = this.#deps;
    const current = launches.current(launch.group_id, launch.actor_id);
    return current !== null && agree(current, launch) && launches.isAlive(current);
  }

  /** The question of this tool use, or of all, was answered, which no hook reports. */
  #decided(launch: Launch, operationId: string): void {
    this.#change(launch, (activity, actor, store) =>
      store.submit((content) => {
        if (content.hooks === null || !agree(launch, content.hooks)) return null;
        const at = activity.timestampAfter(content);
        const { state, revisions } = answered(content.hooks, at, operationId);
        return activity.change(actor, content, state, revisions, at);
      }),
    );
  }

  /** As far as the hooks of this launch report. */
  #isQueued(launch: Launch, hook: Hook): boolean {
    const activity = this.#groups.get(launch.group_id);
    const actor = activity?.group.record.actors.find(({ id }) => id === launch.actor_id);
    if (activity === undefined || actor === undefined) return false;
    const { latest, memory } = activity.storeOf(actor);
    const { hooks } = latest;
    if (hooks === null || memory === null || !agree(launch, hooks)) return false;
    return hooks.session?.id === hook.session_id && isQueuedPrompt(hooks, memory, hook);
  }

  #tellInput(launch: Launch, before: HookState, after: HookState): void {
    for (const step of inputSteps(before, after)) {
      this.#inputs.tell(launch, step);
    }
  }

  /** The current launch, if it is committed and its process is alive. */
  async #launchOf(groupId: string, actorId: string): Promise<Launch | null> {
    const { launches } = this.#deps;
    if ((launches.current(groupId, actorId)?.pid ?? null) === null) await launches.settled(groupId, actorId);
    const launch = launches.current(groupId, actorId);
    if (launch === null || launch.pid === null || !launch.has_hooks) return null;
    const committed = launches.committed(groupId, actorId);
    if (committed === null || committed === "corrupt" || !agree(launch, committed)) return null;
    return launches.isAlive(launch) ? launch : null;
  }

  /**
   * State and records change together or not at all. The answer comes when the event is judged, not
   * when it is on disk, because the runtime waits for its hook and ignores the answer. If the disk
   * refuses, the change is undone and the working state becomes unavailable.
   */
  #accept(
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
      isOther = questionOf(fresh.hooks) !== questionOf(judged.state);
      // The end of a session takes nothing out of the queue.
      if (hook.kind !== "session") this.#tellInput(launch, fresh.hooks, judged.state);
      this.#questions.reported(launch, judged.state);
      return change;
    });
    committed.then(
      // A person is told at once what it waits for.
      () => isOther && this.#working?.look(),
      (error: unknown) => this.#warn(launch, error),
    );
    return result;
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

  /** What no hook reports: that a question was answered, and that an assumed turn isn't running. */
  #check(launch: Launch): void {
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
        if (next !== null) this.#questions.reported(launch, next.state);
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

  #ended(launch: Launch): void {
    this.#questions.ended(launch);
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

  /** Changes an Actor's activity without a waiting caller. */
  #change(
    launch: Launch,
    change: (activity: GroupActivity, actor: StoredActor, store: ActorStore) => Promise<void>,
  ): void {
    const { group_id: groupId, actor_id: actorId, generation } = launch;
    const activity = this.#groups.get(groupId);
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

  #evidenceOf(group: OpenGroup, actor: StoredActor, launch: Launch): HookEvidence {
    const store = this.#groups.get(group.group_id)?.storeOf(actor);
    if (store === undefined) return { hooks: null, storeProblem: null, trouble: null };
    try {
      const { hooks } = store.committed();
      const isInTurn = hooks !== null && hooks.turn !== null;
      const trouble = isInTurn ? troubleOnScreen(hooks.runtime, this.#deps.launches.screen(launch)) : null;
      return {
        hooks,
        storeProblem: store.hasMissed ? "one of its reports couldn't be saved" : null,
        trouble,
      };
    } catch {
      return { hooks: null, storeProblem: "its activity file is damaged", trouble: null };
    }
  }

  #get(groupId: string): GroupActivity {
    const activity = this.#groups.get(groupId);
    if (activity !== undefined) return activity;
    if (this.#closed) throw new Refusal("shutting_down");
    this.#deps.registry.get(groupId);
    throw new Refusal("group_not_found", { details: { group_id: groupId } });
  }

  #attach(group: OpenGroup): void {
    this.#detach(group.group_id);
    const activity = new GroupActivity(group, this.#deps);
    this.#groups.set(group.group_id, activity);
    activity.load();
  }

  #detach(groupId: string): void {
    const activity = this.#groups.get(groupId);
    this.#groups.delete(groupId);
    this.#working?.forget(groupId, []);
    this.#questions.recheck(groupId);
    activity?.close();
  }

  #actorsChanged(groupId: string): void {
    const activity = this.#groups.get(groupId);
    if (activity === undefined) return;
    activity.actorsChanged();
    this.#questions.recheck(groupId);
    this.#working?.forget(groupId, activity.group.record.actors);
  }
}

function refused(reason: NonNullable<Submitted["reason"]>): Submitted {
  return { accepted: false, reason };
}
