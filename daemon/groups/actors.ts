/**
 * Changes a Group's Actors. Callers hold the Group's write permit. Permissions are checked here.
 */

import { type Clock, timestamp } from "../../platform/clock.ts";
import { isStorageRefusal } from "../../platform/durable.ts";
import type { Random } from "../../platform/random.ts";
import { type ErrorCode, Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { Actor, StoredActor, StoredGroup } from "../../shared/model.ts";
import type { BegunConversation } from "../../shared/operations/actors.ts";
import { type Caller, isAnybody, knownBy } from "../../shared/operations/caller.ts";
import type { InputOf, ResultOf } from "../../shared/operations/registry.ts";
import type { OpenGroup } from "./group.ts";
import type { LaunchTokens } from "./launch-tokens.ts";
import { checkMayManage } from "./permissions.ts";

/** Runs the processes of Actors whose runner is `pty`. */
export interface ActorRunner {
  /** Throws what a start would refuse. */
  check(group: OpenGroup, actorId: string): Promise<void>;
  /** With `isNew`, in a new conversation. Null for a process that others start. */
  start(group: OpenGroup, actorId: string, isNew: boolean): Promise<BegunConversation | null>;
  /** Resolves when none of it runs. `reason` in words. */
  stop(groupId: string, actorId: string, reason: string): Promise<void>;
  restart(group: OpenGroup, actorId: string, isNew: boolean): Promise<BegunConversation | null>;
  /** Throws not_running. */
  interrupt(groupId: string, actorId: string): void;
  isRunning(groupId: string, actorId: string): boolean;
}

export interface ActorsDependencies {
  clock: Clock;
  random: Random;
  launchTokens: LaunchTokens;
  runner: ActorRunner;
  /** Why the caller's credential is no longer valid; null if it is. */
  lapsed(caller: Caller): Refusal | null;
}

/** An Actor's scope must be one of its Group's. */
function checkScope(record: StoredGroup, scopeKey: string | null | undefined): void {
  if (scopeKey === undefined || scopeKey === null) return;
  if (!record.scopes.some((scope) => scope.scope_key === scopeKey)) {
    throw new Refusal("scope_not_attached", { details: { scope_key: scopeKey } });
  }
}

function stoppedBy({ by }: Caller, actorId: string): string {
  if (by === actorId) return "stopped itself";
  return by === "user" ? "stopped by a person" : `stopped by ${by}`;
}

/** As operations return it. */
export function viewActor(group: OpenGroup, actorId: string): Actor {
  const actor = group.actor(actorId);
  return { ...actor, role: group.roleOf(actorId), private_env: group.environments.names(actor) };
}

export class Actors {
  readonly #deps: ActorsDependencies;

  constructor(deps: ActorsDependencies) {
    this.#deps = deps;
  }

  /**
   * A new Actor with a new generation, last in order. Ids that differ only in case count as the
   * same, because they name files. Throws permission_denied, already_exists, limit_reached,
   * scope_not_attached.
   */
  async add(
    group: OpenGroup,
    caller: Caller,
    input: InputOf<"actor_add">,
  ): Promise<{ actor: Actor; token_file: string }> {
    checkMayManage(group, caller, "add", input.actor_id);
    const isRun = input.runner === "pty";
    if (caller.kind === "actor") checkOnlyAPersonMay(input);
    if (isRun && input.runtime === "custom" && input.command.length === 0) {
      throw new Refusal("invalid_args", {
        specifics: "A custom Actor that the daemon runs needs a command.",
        details: { field: "command" },
      });
    }
    const now = timestamp(this.#deps.clock);
    const actor: StoredActor = {
      id: input.actor_id,
      title: input.title,
      generation: this.#deps.random.uuid(),
      runtime: input.runtime,
      runner: input.runner,
      command: input.command,
      env: input.env,
      scope_key: input.scope_key ?? null,
      enabled: input.enabled,
      allow_tools: input.allow_tools,
      answerable: input.answerable,
      submit: "enter",
      prompts: input.prompts,
      created_at: now,
      updated_at: now,
    };
    const admit = (record: StoredGroup): void => {
      checkScope(record, input.scope_key);
      const same = record.actors.find((one) => one.id.toLowerCase() === actor.id.toLowerCase());
      if (same !== undefined) {
        throw new Refusal("already_exists", {
          specifics: `The Group already has an Actor '${same.id}'.`,
          details: { actor_id: actor.id },
        });
      }
      if (record.actors.length >= LIMITS.group.actors) {
        const limit = LIMITS.group.actors;
        throw new Refusal("limit_reached", {
          specifics: `The Group has ${limit} Actors, which is the limit.`,
          remedy: "Remove one first.",
          details: { limit },
        });
      }
    };
    admit(group.record);
    // The token first: an Actor without one would need a restart, and a token without its Actor is
    // harmless. An Actor that the daemon runs gets its token with each start.
    const tokenFile = isRun
      ? group.paths.tokenFile(actor.id)
      : (await this.#deps.launchTokens.issue(group, actor)).path;
    const { id, title, generation, runtime, runner } = actor;
    try {
      await group.update(
        (record) => {
          admit(record);
          return { ...record, actors: [...record.actors, actor] };
        },
        {
          kind: "actor.add",
          by: caller.by,
          data: { actor_id: id, title, generation, runtime, runner, ...knownBy(caller) },
        },
      );
    } catch (error) {
      if (!group.record.actors.some((one) => one.generation === generation)) {
        await this.#deps.launchTokens.remove(group, id);
      }
      throw error;
    }
    return { actor: viewActor(group, id), token_file: tokenFile };
  }

  /** Fields that aren't given stay, and so does the generation (MSG-016). */
  async update(group: OpenGroup, caller: Caller, input: InputOf<"actor_update">): Promise<Actor> {
    checkMayManage(group, caller, "update", input.actor_id);
    const { group_id: _group, actor_id: actorId, ...wanted } = input;
    const { title, scope_key: scopeKey } = wanted;
    checkScope(group.record, scopeKey);
    const named: Partial<StoredActor> = Object.fromEntries(
      Object.entries(wanted).filter(([, value]) => value !== undefined),
    );
    const chosen = named.command === undefined && named.env === undefined ? {} : confirmedBy(caller);
    await this.#change(group, actorId, { ...named, ...chosen }, (fields) => ({
      kind: "actor.update",
      by: caller.by,
      // The ledger doesn't record values of commands and environments.
      data: {
        actor_id: actorId,
        fields,
        ...(fields.includes("title") ? { title } : {}),
        ...knownBy(caller),
      },
    }));
    return viewActor(group, actorId);
  }

  /**
   * Enables the Actor. If the daemon runs it, starts it. Throws as `checkMayManage` and
   * `ActorRunner.start`.
   */
  async start(
    group: OpenGroup,
    caller: Caller,
    { actor_id: actorId, new_conversation: newConversation }: InputOf<"actor_start">,
  ): Promise<ResultOf<"actor_start">> {
    const { runner } = this.#deps;
    const event = { kind: "actor.start" as const, by: caller.by, data: { actor_id: actorId } };
    const isRun = await this.#exclusively(group, caller, async () => {
      checkMayManage(group, caller, "start", actorId);
      const isRun = group.actor(actorId).runner === "pty";
      if (isRun) await runner.check(group, actorId);
      const starts = isRun && !runner.isRunning(group.group_id, actorId);
      await telling(starts ? "The process wasn't started." : null, async () => {
        const wanted = { enabled: true, ...confirmedBy(caller) };
        const changed = await this.#change(group, actorId, wanted, () => event);
        if (starts && !changed) await group.note(event);
      });
      return isRun;
    });
    const conversation = isRun ? await runner.start(group, actorId, newConversation) : null;
    return { actor: viewActor(group, actorId), conversation };
  }

  /**
   * Disables the Actor. If the daemon runs it, ends it, also if the disk fails: the process may be
   * what fills it. Throws storage_full or storage_failed then.
   */
  async stop(group: OpenGroup, caller: Caller, actorId: string): Promise<Actor> {
    const { runner } = this.#deps;
    const event = {
      kind: "actor.stop" as const,
      by: caller.by,
      data: { actor_id: actorId, reason: "requested" },
    };
    const recorded = this.#exclusively(group, caller, async () => {
      checkMayManage(group, caller, "stop", actorId);
      const changed = await this.#change(group, actorId, { enabled: false }, () => event);
      if (!changed && runner.isRunning(group.group_id, actorId)) await group.note(event);
    });
    const failure = await recorded.then(
      () => null,
      (error: unknown) => {
        if (isStorageRefusal(error) && runner.isRunning(group.group_id, actorId)) return error;
        throw error;
      },
    );
    await runner.stop(group.group_id, actorId, stoppedBy(caller, actorId));
    if (failure !== null) throw endedOnly(failure, group.actor(actorId).enabled);
    return viewActor(group, actorId);
  }

  /**
   * Issues a new launch token and, if the daemon runs the Actor, a new process. The generation
   * stays (MSG-017).
   */
  async restart(
    group: OpenGroup,
    caller: Caller,
    { actor_id: actorId, new_conversation: newConversation }: InputOf<"actor_restart">,
  ): Promise<ResultOf<"actor_restart">> {
    const { runner, launchTokens } = this.#deps;
    const isRun = await this.#exclusively(group, caller, async () => {
      const actor = group.actor(actorId);
      checkMayManage(group, caller, "restart", actorId);
      const isRun = actor.runner === "pty";
      if (isRun) await runner.check(group, actorId);
      await telling(isRun ? "The process wasn't restarted." : null, async () => {
        if (isRun) await this.#enable(group, caller, actorId);
        else await launchTokens.issue(group, actor);
        await group.note({ kind: "actor.restart", by: caller.by, data: { actor_id: actorId } });
      });
      return isRun;
    });
    const conversation = isRun ? await runner.restart(group, actorId, newConversation) : null;
    return { actor: viewActor(group, actorId), token_file: group.paths.tokenFile(actorId), conversation };
  }

  /**
   * Starting and ending a process takes time, so the Group's permit is held only for the record.
   * Permissions are checked inside, because the caller or the Actor may have been removed or
   * replaced by the time the permit comes. Throws as `lapsed` says, or what `step` throws.
   */
  async #exclusively<Result>(group: OpenGroup, caller: Caller, step: () => Promise<Result>): Promise<Result> {
    const release = await group.permit.acquireWrite();
    try {
      const lapsed = this.#deps.lapsed(caller);
      if (lapsed !== null) throw lapsed;
      return await step();
    } finally {
      release();
    }
  }

  /** Throws permission_denied, runner_mismatch or not_running. */
  interrupt(group: OpenGroup, caller: Caller, actorId: string): void {
    checkMayManage(group, caller, "interrupt", actorId);
    if (group.actor(actorId).runner !== "pty") throw new Refusal("runner_mismatch");
    this.#deps.runner.interrupt(group.group_id, actorId);
  }

  async remove(group: OpenGroup, caller: Caller, actorId: string): Promise<void> {
    const { generation } = group.actor(actorId);
    checkMayManage(group, caller, "remove", actorId);
    try {
      await group.update(
        (record) => ({ ...record, actors: record.actors.filter((actor) => actor.id !== actorId) }),
        { kind: "actor.remove", by: caller.by, data: { actor_id: actorId, generation, ...knownBy(caller) } },
      );
    } finally {
      // Gone from the record means gone, even if the ledger event failed.
      if (!group.record.actors.some((actor) => actor.id === actorId)) {
        try {
          await this.#deps.launchTokens.remove(group, actorId);
        } finally {
          await group.environments.remove(actorId);
        }
      }
    }
  }

  /**
   * Returns the Actor afterwards, with the names of its private values. The event says that
   * something changed, not what.
   */
  async setSecrets(
    group: OpenGroup,
    caller: Caller,
    { actor_id: actorId, set, unset }: InputOf<"actor_secrets">,
  ): Promise<Actor> {
    const actor = group.actor(actorId);
    checkMayManage(group, caller, "secrets", actorId);
    if (Object.keys(set).length > 0 || unset.length > 0) {
      await group.environments.change(actor, set, unset);
      await group.note({
        kind: "actor.secrets",
        by: caller.by,
        data: { actor_id: actorId, ...knownBy(caller) },
      });
    }
    return viewActor(group, actorId);
  }

  async #enable(group: OpenGroup, caller: Caller, actorId: string): Promise<void> {
    await this.#change(group, actorId, { enabled: true, ...confirmedBy(caller) }, (fields) => ({
      kind: "actor.update",
      by: caller.by,
      data: { actor_id: actorId, fields },
    }));
  }

  /**
   * Changes fields of an Actor in the record. If they already have these values, nothing happens
   * and the result is false.
   */
  async #change(
    group: OpenGroup,
    actorId: string,
    wanted: Partial<StoredActor>,
    eventOf: (fields: string[]) => Parameters<OpenGroup["update"]>[1],
  ): Promise<boolean> {
    const now = group.actor(actorId);
    const fields = Object.keys(wanted).filter(
      (name) => JSON.stringify(Reflect.get(wanted, name)) !== JSON.stringify(Reflect.get(now, name)),
    );
    if (fields.length === 0) return false;
    const updatedAt = timestamp(this.#deps.clock);
    await group.update(
      (record) => ({
        ...record,
        actors: record.actors.map((actor) =>
          actor.id === actorId ? { ...actor, ...wanted, updated_at: updatedAt } : actor,
        ),
      }),
      eventOf(fields),
    );
    return true;
  }
}

/** What a failing disk kept from a stop. */
function endedOnly(failure: Refusal, isEnabled: boolean): Refusal {
  const what = isEnabled ? "the Actor couldn't be disabled" : "the ledger doesn't say so";
  return withOutcome(failure, `The process was ended, but ${what}.`);
}

const WHY: Partial<Record<ErrorCode, string>> = {
  storage_full: "The disk is full.",
  too_many_open_files: "Too many files are open.",
};

/** The same refusal of the disk, with what became of the process. */
function withOutcome(failure: Refusal, outcome: string): Refusal {
  const { code, details } = failure;
  const why = WHY[code] ?? "The disk failed.";
  return new Refusal(code, { specifics: `${why} ${outcome}`, details, cause: failure });
}

/** Where the disk refuses `step`, says what became of the process, if it is about one. */
async function telling(outcome: string | null, step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    throw outcome !== null && isStorageRefusal(error) ? withOutcome(error, outcome) : error;
  }
}

/** A person who starts an Actor has chosen what it runs. */
function confirmedBy(caller: Caller): Partial<StoredActor> {
  return caller.kind === "actor" || isAnybody(caller) ? {} : { unconfirmed: undefined };
}

const ONLY_A_PERSON_CHOOSES = {
  command: "Only a person may choose a command. Name a runtime, whose own command is used.",
  env: "Only a person may choose an Actor's environment.",
  prompts: "Only a person may say that a command reads prompts.",
  answerable: "Only a person may choose that an Actor's questions are answered through svc.",
};

/** Throws permission_denied for what an Actor can't choose for another. */
function checkOnlyAPersonMay({ command, env, prompts, answerable }: InputOf<"actor_add">): void {
  const has = { command: command.length > 0, env: Object.keys(env).length > 0, prompts, answerable };
  const chosen = (Object.keys(has) as (keyof typeof has)[]).find((field) => has[field]);
  if (chosen === undefined) return;
  throw new Refusal("permission_denied", {
    specifics: ONLY_A_PERSON_CHOOSES[chosen],
    details: { field: chosen },
  });
}

/** Whether somebody chose more for the Actor than its runtime's own command. */
export function hasOwnWords({ command, env }: Pick<StoredActor, "command" | "env">): boolean {
  return command.length > 0 || Object.keys(env).length > 0;
}
