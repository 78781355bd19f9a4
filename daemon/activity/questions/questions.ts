/**
 * Open questions: each belongs to one hook that waits for its answer. It ends with the first of
 * these: a person answers here, the hook is gone (its runtime was answered in the terminal,
 * interrupted or ended), its tool goes on, its Actor or launch is over, or its time is up. Nothing
 * of them is kept on disk but the decision, in the ledger.
 */

import { type Clock, type Timer, timestamp } from "../../../platform/clock.ts";
import type { Random } from "../../../platform/random.ts";
import { Refusal } from "../../../shared/errors.ts";
import type { EventData } from "../../../shared/events.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { type CallContext, knownBy } from "../../../shared/operations/caller.ts";
import type { HookDecision, Question } from "../../../shared/operations/questions.ts";
import type { InputOf, ResultOf } from "../../../shared/operations/registry.ts";
import type { OpenGroup } from "../../groups/group.ts";
import type { Hook } from "../hooks/hook.ts";
import { type HookState, isOpen } from "../hooks/hook-state.ts";
import type { Launch } from "../launches.ts";
import { type Asked, decisionOf, readAsked, UNDECIDED } from "./asked.ts";

export interface QuestionsDependencies {
  clock: Clock;
  random: Random;
  /** The Group as it is open now. */
  find(groupId: string): OpenGroup | undefined;
  /** The launch runs now, as committed. */
  isRunning(launch: Launch): boolean;
  /** An Actor has another number of open questions. */
  changed(groupId: string, actorId: string): void;
  /** The runtime has got its answer. */
  decided(launch: Launch, operationId: string): void;
}

type HowClosed = "answered" | "terminal" | "expired" | "over";

const CLOSED: Readonly<Record<HowClosed, string>> = {
  answered: "It has been answered already.",
  terminal: "It was left to the Actor's terminal.",
  expired: "It has expired. Only the Actor's terminal can still answer it.",
  over: "It has been answered in the Actor's terminal, or the turn has ended.",
};

interface OpenQuestion {
  readonly question: Question;
  readonly asked: Asked;
  readonly group: OpenGroup;
  readonly launch: Launch;
  readonly hook: Hook;
  /** The tool use that it is about, if that is certain; else empty. */
  readonly operationId: string;
  /** The hooks have reported that this tool use waits. */
  isHeld: boolean;
  /** A decision is being recorded: no other one counts. */
  isClaimed: boolean;
  close(decision: HookDecision, how: HowClosed): void;
}

export class Questions {
  readonly #deps: QuestionsDependencies;
  readonly #open = new Map<string, OpenQuestion>();
  /** How the last ones ended, by id. */
  readonly #closed = new Map<string, HowClosed>();

  constructor(deps: QuestionsDependencies) {
    this.#deps = deps;
  }

  /**
   * Waits for a decision about what a hook of this launch asks. `state`: what the hooks have
   * reported so far.
   */
  ask(
    group: OpenGroup,
    launch: Launch,
    hook: Hook,
    payload: Readonly<Record<string, unknown>>,
    state: HookState | null,
    signal: AbortSignal,
  ): Promise<HookDecision> {
    const asked = hook.event === "PermissionRequest" ? readAsked(payload) : null;
    const isTooMany = this.count(launch.group_id, launch.actor_id) >= LIMITS.questions.perActor;
    if (asked === null || isTooMany || signal.aborted || !isAnswerable(group, launch)) {
      return Promise.resolve(UNDECIDED);
    }
    return new Promise((resolve) => this.#add(group, launch, hook, asked, state, signal, resolve));
  }

  /** Of a Group's Actors, oldest first. */
  of(group: OpenGroup): Question[] {
    return this.#all((open) => open.group === group && this.#isCurrent(open)).map(({ question }) => question);
  }

  count(groupId: string, actorId: string): number {
    return this.#all(({ launch }) => launch.group_id === groupId && launch.actor_id === actorId).length;
  }

  /**
   * Records a decision and then gives it to the runtime. Throws question_closed, actor_not_found,
   * invalid_args, storage_full or storage_failed.
   */
  async answer(
    group: OpenGroup,
    input: InputOf<"actor_answer">,
    { caller }: CallContext,
  ): Promise<ResultOf<"actor_answer">> {
    if (caller.kind !== "user") throw new Refusal("permission_denied");
    const { id: actorId, generation } = group.actor(input.actor_id);
    const { question_id: questionId, decision } = input;
    const open = this.#open.get(questionId);
    const isIts = open?.group === group && open.launch.actor_id === actorId;
    if (open === undefined || !isIts || !this.#isCurrent(open)) throw this.#refusal(questionId);
    if (open.isClaimed) throw closed(questionId, "answered");
    const answer = decisionOf(open.asked, input);
    const { shown, input_sha256: inputSha256 } = open.asked;
    if (decision === "terminal") {
      open.close(answer, "terminal");
      return { question_id: questionId, decision };
    }
    const isAnswer = decision === "allow" && shown.kind === "choices";
    const data: EventData<"actor.answer"> = {
      actor_id: actorId,
      actor_generation: generation,
      question_id: questionId,
      tool_name: shown.tool_name,
      input_sha256: inputSha256,
      decision: isAnswer ? "answer" : decision,
      via: caller.via,
      ...knownBy(caller),
    };
    open.isClaimed = true;
    try {
      await record(group, data);
    } catch (error) {
      open.isClaimed = false;
      throw error;
    }
    // The terminal may have answered, or the Actor ended, while the disk was busy.
    if (this.#open.get(questionId) !== open || !this.#isCurrent(open)) {
      await record(group, { ...data, late: true });
      throw this.#refusal(questionId);
    }
    open.close(answer, "answered");
    this.#deps.decided(open.launch, open.operationId);
    return { question_id: questionId, decision };
  }

  /**
   * A person types in the launch's terminal. A runtime that doesn't ask there yet asks there now.
   */
  typed(launch: Launch): void {
    this.#closeAll((open) => !open.question.in_terminal && isOf(open, launch) && !open.isClaimed, "terminal");
  }

  /** What the hooks of this launch have reported has changed. */
  reported(launch: Launch, state: HookState): void {
    for (const open of this.#all((one) => isOf(one, launch))) {
      const use = usesOf(state, open.hook);
      const its = use.find(({ id }) => id === open.operationId);
      const isOver = state.session?.id !== open.hook.session_id || use.length === 0;
      if (its?.status === "waiting") open.isHeld = true;
      const goesOn =
        open.operationId !== "" && (its === undefined || (open.isHeld && its.status === "started"));
      if (isOver || goesOn) open.close(UNDECIDED, "over");
    }
  }

  /** Closes what belongs to Actors or launches that are gone, or isn't wanted any more. */
  recheck(groupId: string): void {
    this.#closeAll((open) => open.launch.group_id === groupId && !this.#isCurrent(open), "over");
  }

  ended(launch: Launch): void {
    this.#closeAll((open) => isOf(open, launch), "over");
  }

  close(): void {
    this.#closeAll(() => true, "over");
  }

  #add(
    group: OpenGroup,
    launch: Launch,
    hook: Hook,
    asked: Asked,
    state: HookState | null,
    signal: AbortSignal,
    resolve: (decision: HookDecision) => void,
  ): void {
    const { clock, random } = this.#deps;
    const { group_id: groupId, actor_id: actorId, generation } = launch;
    const questionId = random.uuid();
    const milliseconds = LIMITS.questions.openSeconds * 1000;
    const question: Question = {
      question_id: questionId,
      actor_id: actorId,
      generation,
      ...asked.shown,
      asked_at: timestamp(clock),
      expires_at: new Date(clock.now() + milliseconds).toISOString(),
      in_terminal: launch.runtime === "claude",
    };
    const gone = (): void => close(UNDECIDED, "over");
    const timer: Timer = clock.after(milliseconds, () => close(UNDECIDED, "expired"), { background: true });
    const close = (decision: HookDecision, how: HowClosed): void => {
      if (!this.#open.delete(questionId)) return;
      timer.cancel();
      signal.removeEventListener("abort", gone);
      this.#remember(questionId, how);
      resolve(decision);
      this.#deps.changed(groupId, actorId);
    };
    signal.addEventListener("abort", gone, { once: true });
    const operationId = this.#operationOf(launch, hook, state);
    const open = {
      question,
      asked,
      group,
      launch,
      hook,
      operationId,
      isHeld: false,
      isClaimed: false,
      close,
    };
    this.#open.set(questionId, open);
    this.#deps.changed(groupId, actorId);
  }

  /**
   * Claude asks about one tool use of an agent at a time: the newest one. Codex asks about several
   * at once and doesn't say about which; while its hook waits, nothing else can answer.
   */
  #operationOf(launch: Launch, hook: Hook, state: HookState | null): string {
    if (launch.runtime !== "claude" || state === null || state.session?.id !== hook.session_id) return "";
    return usesOf(state, hook).at(-1)?.id ?? "";
  }

  #isCurrent({ group, launch }: OpenQuestion): boolean {
    const isThere = this.#deps.find(group.group_id) === group;
    return isThere && isAnswerable(group, launch) && this.#deps.isRunning(launch);
  }

  #all(isWanted: (open: OpenQuestion) => boolean): OpenQuestion[] {
    return [...this.#open.values()].filter(isWanted);
  }

  #closeAll(isWanted: (open: OpenQuestion) => boolean, how: HowClosed): void {
    for (const open of this.#all(isWanted)) open.close(UNDECIDED, how);
  }

  #remember(questionId: string, how: HowClosed): void {
    this.#closed.set(questionId, how);
    if (this.#closed.size <= LIMITS.questions.remembered) return;
    for (const oldest of this.#closed.keys()) {
      this.#closed.delete(oldest);
      return;
    }
  }

  #refusal(questionId: string): Refusal {
    return closed(questionId, this.#closed.get(questionId));
  }
}

/** The Actor is still the one that was started, and its questions are to be answered here. */
function isAnswerable(group: OpenGroup, { actor_id: actorId, generation }: Launch): boolean {
  const actor = group.record.actors.find(({ id }) => id === actorId);
  return actor?.generation === generation && actor.answerable;
}

function isOf({ launch }: OpenQuestion, other: Launch): boolean {
  return launch.token_digest === other.token_digest && launch.pid === other.pid;
}

/** The open uses of the tool by the same agent. */
function usesOf(state: HookState, { tool_name: toolName, agent_id: agentId }: Hook) {
  return state.operations.filter(
    (operation) => isOpen(operation) && operation.tool_name === toolName && operation.agent_id === agentId,
  );
}

function closed(questionId: string, how: HowClosed | undefined): Refusal {
  return new Refusal("question_closed", {
    ...(how === undefined ? {} : { specifics: CLOSED[how] }),
    details: { question_id: questionId },
  });
}

async function record(group: OpenGroup, data: EventData<"actor.answer">): Promise<void> {
  const scopeKey = group.record.active_scope_key ?? "";
  await group.ledger.append({ kind: "actor.answer", scope_key: scopeKey, by: "user", data });
}
