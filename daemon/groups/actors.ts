/** Changes of a Group's Actors. Callers hold the Group's write permit; permissions are checked here. */

import { type Clock, timestamp } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { Actor, StoredActor, StoredGroup } from "../../shared/model.ts";
import type { BegunConversation } from "../../shared/operations/actors.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { InputOf, ResultOf } from "../../shared/operations/registry.ts";
import type { OpenGroup } from "./group.ts";
import type { LaunchTokens } from "./launch-tokens.ts";
import { checkMayManage } from "./permissions.ts";

/** Runs the processes of Actors whose runner is `pty`. */
export interface ActorRunner {
  /** Throws what a start would refuse. */
  check(group: OpenGroup, actor_id: string): void;
  /** With `isNew` in a new conversation. Null for a process that others start. */
  start(group: OpenGroup, actor_id: string, isNew: boolean): Promise<BegunConversation | null>;
  /** Resolves when nothing of it runs any more. `reason` in words. */
  stop(group_id: string, actor_id: string, reason: string): Promise<void>;
  restart(group: OpenGroup, actor_id: string, isNew: boolean): Promise<BegunConversation | null>;
  /** Throws not_running. */
  interrupt(group_id: string, actor_id: string): void;
  isRunning(group_id: string, actor_id: string): boolean;
}

export interface ActorsDependencies {
  clock: Clock;
  random: Random;
  launchTokens: LaunchTokens;
  runner: ActorRunner;
  /** Why the caller's credential is worth nothing any more; null when it still is. */
  lapsed(caller: Caller): Refusal | null;
}

/** An Actor's scope must be one of its Group's. */
function checkScope(record: StoredGroup, scope_key: string | null | undefined): void {
  if (scope_key === undefined || scope_key === null) return;
  if (!record.scopes.some((scope) => scope.scope_key === scope_key)) {
    throw new Refusal("scope_not_attached", { details: { scope_key } });
  }
}

function stoppedBy({ by }: Caller, actor_id: string): string {
  if (by === actor_id) return "stopped itself";
  return by === "user" ? "stopped by a person" : `stopped by ${by}`;
}

/** As operations return it. */
export function viewActor(group: OpenGroup, actor_id: string): Actor {
  const actor = group.actor(actor_id);
  return { ...actor, role: group.roleOf(actor_id), private_env: group.environments.names(actor) };
}

export class Actors {
  readonly #deps: ActorsDependencies;

  constructor(deps: ActorsDependencies) {
    this.#deps = deps;
  }

  /**
   * A new Actor with a fresh generation, last in order. Ids that differ only in case count as the same: they name files. Throws
   * permission_denied, already_exists, limit_reached, scope_not_attached.
   */
  async add(
    group: OpenGroup,
    caller: Caller,
    input: InputOf<"actor_add">,
  ): Promise<{ actor: Actor; token_file: string }> {
    checkMayManage(group, caller, "add", input.actor_id);
    const isRun = input.runner === "pty";
    if (input.prompts && caller.kind === "actor") {
      throw new Refusal("permission_denied", {
        specifics: "Only a person may say that a command reads prompts.",
        details: { field: "prompts" },
      });
    }
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
    // The token first: an Actor without one would need a restart, a token without its Actor is worth nothing. One that the daemon runs
    // gets its token with each start.
    const token_file = isRun
      ? group.paths.tokenFile(actor.id)
      : (await this.#deps.launchTokens.issue(group, actor)).path;
    const { id, title, generation, runtime, runner } = actor;
    try {
      await group.update(
        (record) => {
          admit(record);
          return { ...record, actors: [...record.actors, actor] };
        },
        { kind: "actor.add", by: caller.by, data: { actor_id: id, title, generation, runtime, runner } },
      );
    } catch (error) {
      if (!group.record.actors.some((one) => one.generation === generation)) {
        await this.#deps.launchTokens.remove(group, id);
      }
      throw error;
    }
    return { actor: viewActor(group, id), token_file };
  }

  /** What isn't named stays, and so does the generation (MSG-016). */
  async update(group: OpenGroup, caller: Caller, input: InputOf<"actor_update">): Promise<Actor> {
    checkMayManage(group, caller, "update", input.actor_id);
    const { group_id: _group, actor_id, ...wanted } = input;
    const { title, scope_key } = wanted;
    checkScope(group.record, scope_key);
    const named = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined));
    await this.#change(group, actor_id, named, (fields) => ({
      kind: "actor.update",
      by: caller.by,
      // Values of commands and environments aren't for the ledger.
      data: { actor_id, fields, ...(fields.includes("title") ? { title } : {}) },
    }));
    return viewActor(group, actor_id);
  }

  /** Enables the Actor; one that the daemon runs is started. Throws as `checkMayManage` and `ActorRunner.start`. */
  async start(
    group: OpenGroup,
    caller: Caller,
    { actor_id, new_conversation }: InputOf<"actor_start">,
  ): Promise<ResultOf<"actor_start">> {
    const { runner } = this.#deps;
    const event = { kind: "actor.start" as const, by: caller.by, data: { actor_id } };
    const isRun = await this.#exclusively(group, caller, async () => {
      checkMayManage(group, caller, "start", actor_id);
      const isRun = group.actor(actor_id).runner === "pty";
      if (isRun) runner.check(group, actor_id);
      const starts = isRun && !runner.isRunning(group.group_id, actor_id);
      const changed = await this.#change(group, actor_id, { enabled: true }, () => event);
      if (starts && !changed) await group.note(event);
      return isRun;
    });
    const conversation = isRun ? await runner.start(group, actor_id, new_conversation) : null;
    return { actor: viewActor(group, actor_id), conversation };
  }

  /** Disables the Actor; one that the daemon runs is ended. */
  async stop(group: OpenGroup, caller: Caller, actor_id: string): Promise<Actor> {
    const { runner } = this.#deps;
    const event = { kind: "actor.stop" as const, by: caller.by, data: { actor_id, reason: "requested" } };
    await this.#exclusively(group, caller, async () => {
      checkMayManage(group, caller, "stop", actor_id);
      const changed = await this.#change(group, actor_id, { enabled: false }, () => event);
      if (!changed && runner.isRunning(group.group_id, actor_id)) await group.note(event);
    });
    await runner.stop(group.group_id, actor_id, stoppedBy(caller, actor_id));
    return viewActor(group, actor_id);
  }

  /** A new launch token, and for one that the daemon runs a new process; the generation stays (MSG-017). */
  async restart(
    group: OpenGroup,
    caller: Caller,
    { actor_id, new_conversation }: InputOf<"actor_restart">,
  ): Promise<ResultOf<"actor_restart">> {
    const { runner, launchTokens } = this.#deps;
    const isRun = await this.#exclusively(group, caller, async () => {
      const actor = group.actor(actor_id);
      checkMayManage(group, caller, "restart", actor_id);
      const isRun = actor.runner === "pty";
      if (isRun) runner.check(group, actor_id);
      if (isRun) await this.#enable(group, caller, actor_id);
      else await launchTokens.issue(group, actor);
      await group.note({ kind: "actor.restart", by: caller.by, data: { actor_id } });
      return isRun;
    });
    const conversation = isRun ? await runner.restart(group, actor_id, new_conversation) : null;
    return { actor: viewActor(group, actor_id), token_file: group.paths.tokenFile(actor_id), conversation };
  }

  /**
   * Starting and ending a process takes time: the Group's permit is held for the record alone. Who may do it is checked inside, since the
   * caller or the Actor may have been removed, or be another by now, when the permit comes. Throws as `lapsed` says, or what `step` throws.
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
  interrupt(group: OpenGroup, caller: Caller, actor_id: string): void {
    checkMayManage(group, caller, "interrupt", actor_id);
    if (group.actor(actor_id).runner !== "pty") throw new Refusal("runner_mismatch");
    this.#deps.runner.interrupt(group.group_id, actor_id);
  }

  async remove(group: OpenGroup, caller: Caller, actor_id: string): Promise<void> {
    const { generation } = group.actor(actor_id);
    checkMayManage(group, caller, "remove", actor_id);
    try {
      await group.update(
        (record) => ({ ...record, actors: record.actors.filter((actor) => actor.id !== actor_id) }),
        { kind: "actor.remove", by: caller.by, data: { actor_id, generation } },
      );
    } finally {
      // Gone from the record means gone, also when the note failed.
      if (!group.record.actors.some((actor) => actor.id === actor_id)) {
        await this.#deps.launchTokens.remove(group, actor_id);
        await group.environments.remove(actor_id);
      }
    }
  }

  /** The Actor afterwards, with the names of its private values. The event says that something changed, not what. */
  async setSecrets(
    group: OpenGroup,
    caller: Caller,
    { actor_id, set, unset }: InputOf<"actor_secrets">,
  ): Promise<Actor> {
    const actor = group.actor(actor_id);
    checkMayManage(group, caller, "secrets", actor_id);
    if (Object.keys(set).length > 0 || unset.length > 0) {
      await group.environments.change(actor, set, unset);
      await group.note({ kind: "actor.secrets", by: caller.by, data: { actor_id } });
    }
    return viewActor(group, actor_id);
  }

  async #enable(group: OpenGroup, caller: Caller, actor_id: string): Promise<void> {
    await this.#change(group, actor_id, { enabled: true }, () => ({
      kind: "actor.update",
      by: caller.by,
      data: { actor_id, fields: ["enabled"] },
    }));
  }

  /** Changes fields of an Actor in the record; nothing happens, and the answer is false, when they have these values already. */
  async #change(
    group: OpenGroup,
    actor_id: string,
    wanted: Partial<StoredActor>,
    eventOf: (fields: string[]) => Parameters<OpenGroup["update"]>[1],
  ): Promise<boolean> {
    const now = group.actor(actor_id);
    const fields = Object.keys(wanted).filter(
      (name) => JSON.stringify(Reflect.get(wanted, name)) !== JSON.stringify(Reflect.get(now, name)),
    );
    if (fields.length === 0) return false;
    const updated_at = timestamp(this.#deps.clock);
    await group.update(
      (record) => ({
        ...record,
        actors: record.actors.map((actor) =>
          actor.id === actor_id ? { ...actor, ...wanted, updated_at } : actor,
        ),
      }),
      eventOf(fields),
    );
    return true;
  }
}
