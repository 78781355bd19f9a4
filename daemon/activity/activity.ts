/**
 * The activity service: accepts hook events, keeps what may be shown of them, and says what every
 * Actor is doing. The folder's face.
 */

import type { Log } from "../../platform/log.ts";
import { Signal } from "../../platform/signal.ts";
import { Refusal } from "../../shared/errors.ts";
import type { StoredActor } from "../../shared/model.ts";
import type { activityOperations } from "../../shared/operations/activity.ts";
import type { CallContext } from "../../shared/operations/caller.ts";
import type { HandlersFor } from "../../shared/operations/handlers.ts";
import type { HookDecision, questionOperations } from "../../shared/operations/questions.ts";
import type { InputOf } from "../../shared/operations/registry.ts";
import type { OpenGroup } from "../groups/group.ts";
import type { GroupRegistry } from "../groups/registry.ts";
import { hasWork } from "./actor-store.ts";
import { type ActivityListener, GroupActivity, type GroupActivityDependencies } from "./group-activity.ts";
import { HookStates, refused, type Submitted } from "./hook-states.ts";
import { isHookRuntime, promptOf, readHook, transcriptOf } from "./hooks/hook.ts";
import { troubleOnScreen } from "./hooks/trouble.ts";
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
type PresenceListener = (groupId: string, actorId: string) => void;

export class Activity implements LaunchReports {
  readonly #deps: ActivityDependencies;
  readonly #groups = new Map<string, GroupActivity>();
  readonly #prompts = new Signal<Parameters<PromptListener>>();
  readonly #sessions = new Signal<Parameters<SessionListener>>();
  readonly #presence = new Signal<Parameters<PresenceListener>>();
  readonly #questions: Questions;
  readonly #hooks: HookStates;
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
      decided: (launch, operationId) => this.#hooks.decided(launch, operationId),
    });
    this.#hooks = new HookStates({
      ...deps,
      questions: this.#questions,
      find: (groupId) => this.#groups.get(groupId),
      look: () => this.#working?.look(),
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
      check: (launch) => this.#hooks.check(launch),
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
      launches.onEnded((launch) => this.#hooks.ended(launch)),
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
    return this.#hooks.onInput(listener);
  }

  onSession(listener: SessionListener): () => void {
    return this.#sessions.on(listener);
  }

  typed(launch: Launch): void {
    this.#hooks.typed(launch);
  }

  interrupted(launch: Launch): void {
    this.#hooks.interrupted(launch);
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

  isInWork(groupId: string, actor: { id: string; generation: string }): boolean {
    const launch = this.#deps.launches.current(groupId, actor.id);
    if (launch?.generation === actor.generation && this.#hooks.isCutOff(launch)) return true;
    try {
      const store = this.#groups.get(groupId)?.storeOf(actor);
      if (store === undefined) return false;
      const { records } = store.committed();
      return hasWork(records) || (launch === null && store.wasLeftInWork);
    } catch {
      return false;
    }
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
      const isQueued = typeof hook !== "string" && this.#hooks.isQueued(launch, hook);
      this.#prompts.tell(launch, prompt, isQueued);
    }
    if (typeof hook === "string") return refused(hook);
    const activity = this.#get(groupId);
    const submitted = this.#hooks.accept(
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
