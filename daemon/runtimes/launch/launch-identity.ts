/**
 * Launch identities: which process may act as an Actor that the daemon runs. The token is written
 * first, its digest committed without a pid, then bound to the spawned process. It is valid only
 * while that process lives. Its start time distinguishes the process from a later one with the same
 * pid.
 */
import * as z from "zod";
import { type Clock, timestamp } from "../../../platform/clock.ts";
import {
  ensureDirectory,
  readWhole,
  replaceFile,
  storageRefusal,
  syncDirectory,
  unlinkIfThere,
  versionOf,
} from "../../../platform/durable.ts";
import type { Files } from "../../../platform/files.ts";
import type { Processes } from "../../../platform/processes.ts";
import type { Random } from "../../../platform/random.ts";
import { ActorId, GroupId, Runtime } from "../../../shared/model.ts";
import type { Launch } from "../../activity/launches.ts";
import type { OpenGroup } from "../../groups/group.ts";
import type { LaunchTokens } from "../../groups/launch-tokens.ts";

const StoredLaunch = z.strictObject({
  v: z.literal(1),
  group_id: GroupId,
  actor_id: ActorId,
  generation: z.string(),
  runtime: Runtime,
  token_digest: z.string(),
  pid: z.int().positive().nullable(),
  /** Start time of the process as the system reports it; null without a pid. */
  birth: z.string().nullable(),
  started_at: z.string(),
  has_hooks: z.boolean(),
  /** In the environment of the launch's processes; empty in files of earlier versions. */
  mark: z.union([z.uuid(), z.literal("")]).default(""),
});
export type StoredLaunch = z.infer<typeof StoredLaunch>;

export interface LaunchIdentitiesDependencies {
  files: Files;
  clock: Clock;
  processes: Processes;
  random: Random;
  launchTokens: LaunchTokens;
}

export interface BegunLaunch {
  launch: StoredLaunch;
  token: string;
  tokenFile: string;
}

export class LaunchIdentities {
  readonly #deps: LaunchIdentitiesDependencies;
  /**
   * The files' contents when they were last read, by path: every hook asks twice, and something
   * else asks every second.
   */
  readonly #known = new Map<string, { version: string; launch: StoredLaunch }>();

  constructor(deps: LaunchIdentitiesDependencies) {
    this.#deps = deps;
  }

  /** Token first, then the identity without a process. Throws storage_full or storage_failed. */
  async begin(
    group: OpenGroup,
    actor: { id: string; generation: string; runtime: Runtime },
    hasHooks: boolean,
  ): Promise<BegunLaunch> {
    const { path, token, digest } = await this.#deps.launchTokens.issue(group, actor);
    const launch: StoredLaunch = {
      v: 1,
      group_id: group.group_id,
      actor_id: actor.id,
      generation: actor.generation,
      runtime: actor.runtime,
      token_digest: digest,
      pid: null,
      birth: null,
      started_at: timestamp(this.#deps.clock),
      has_hooks: hasHooks,
      mark: this.#deps.random.uuid(),
    };
    await this.#write(group, launch);
    return { launch, token, tokenFile: path };
  }

  /** Binds the identity to the process. Throws storage_full or storage_failed. */
  async bind(group: OpenGroup, launch: StoredLaunch, pid: number): Promise<StoredLaunch> {
    const bound = { ...launch, pid, birth: this.#deps.processes.birthOf(pid) };
    await this.#write(group, bound);
    return bound;
  }

  /** As stored in the Home; null when there is none. */
  committed(group: OpenGroup, actorId: string): StoredLaunch | "corrupt" | null {
    try {
      const path = group.paths.launchFile(actorId);
      const found = this.#deps.files.stat(path);
      const version = found && versionOf(found);
      const known = this.#known.get(path);
      if (known !== undefined && known.version === version) return known.launch;
      const bytes = readWhole(this.#deps.files, path);
      if (version === null || bytes === null) return null;
      const parsed = StoredLaunch.safeParse(JSON.parse(bytes.toString("utf8")));
      const isIts = parsed.data?.actor_id === actorId && parsed.data.group_id === group.group_id;
      if (!parsed.success || !isIts) return "corrupt";
      this.#known.set(path, { version, launch: parsed.data });
      return parsed.data;
    } catch {
      return "corrupt";
    }
  }

  /** The process is the one that was spawned, and lives. */
  isAlive({ pid, birth }: Pick<StoredLaunch, "pid" | "birth">): boolean {
    return pid !== null && birth !== null && this.#deps.processes.birthOf(pid) === birth;
  }

  /**
   * The process of the Actor in this generation is gone: its token becomes invalid and its identity
   * is forgotten. The token of another Actor that has got its id stays. Throws storage_full or
   * storage_failed.
   */
  async end(
    group: OpenGroup,
    { actor_id: actorId, generation }: Pick<StoredLaunch, "actor_id" | "generation">,
  ): Promise<void> {
    const path = group.paths.launchFile(actorId);
    this.#known.delete(path);
    const isThere = group.record.actors.some(
      (actor) => actor.generation === generation && actor.runner === "pty",
    );
    if (isThere) await this.#deps.launchTokens.remove(group, actorId);
    try {
      if (unlinkIfThere(this.#deps.files, path)) {
        await syncDirectory(this.#deps.files, group.paths.launches);
      }
    } catch (error) {
      throw storageRefusal(error);
    }
  }

  async #write(group: OpenGroup, launch: StoredLaunch): Promise<void> {
    const { files } = this.#deps;
    try {
      await ensureDirectory(files, group.paths.launches);
      const path = group.paths.launchFile(launch.actor_id);
      await replaceFile(files, path, Buffer.from(`${JSON.stringify(launch, null, 2)}\n`));
    } catch (error) {
      throw storageRefusal(error);
    }
  }
}

/** Without what only the system compares. */
export function launchOf({ v: _v, birth: _birth, mark: _mark, ...launch }: StoredLaunch): Launch {
  return launch;
}
