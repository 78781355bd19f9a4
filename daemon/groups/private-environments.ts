/**
 * Private environment values of a Group's Actors, each in an owner-only file separate from the
 * record. Only names are ever returned. Values go only to the process that is started with them.
 */
import { join } from "node:path";
import * as z from "zod";
import type { GroupPaths } from "../../client/paths.ts";
import { JsonDocument } from "../../platform/documents.ts";
import { ensureDirectory, storageRefusal, syncDirectory, unlinkIfThere } from "../../platform/durable.ts";
import type { Files } from "../../platform/files.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { ActorId, Environment, type StoredActor } from "../../shared/model.ts";

const PrivateEnvironment = z.strictObject({
  v: z.literal(1),
  actor_id: ActorId,
  generation: z.string(),
  values: Environment,
});
type PrivateEnvironment = z.infer<typeof PrivateEnvironment>;

export class PrivateEnvironments {
  readonly #files: Files;
  readonly #paths: GroupPaths;
  readonly #documents = new Map<string, JsonDocument<PrivateEnvironment>>();

  private constructor(files: Files, paths: GroupPaths) {
    this.#files = files;
    this.#paths = paths;
  }

  /** Reads those of `actors`. Throws HomeProblem. */
  static async open(
    files: Files,
    paths: GroupPaths,
    actors: readonly StoredActor[],
  ): Promise<PrivateEnvironments> {
    const environments = new PrivateEnvironments(files, paths);
    environments.#removeLeftovers(actors);
    for (const actor of actors) {
      const document = await JsonDocument.read(environments.#options(actor.id));
      if (document !== null) environments.#documents.set(actor.id, document);
    }
    return environments;
  }

  /**
   * Values of Actors that are gone, and what a crash left of a change. Where the disk refuses, the
   * next opening tries again.
   */
  #removeLeftovers(actors: readonly StoredActor[]): void {
    const kept = new Set(actors.map(({ id }) => this.#paths.privateEnvironmentFile(id)));
    try {
      if (this.#files.stat(this.#paths.privateEnvironment) === null) return;
      for (const name of this.#files.list(this.#paths.privateEnvironment)) {
        const path = join(this.#paths.privateEnvironment, name);
        if (!kept.has(path)) unlinkIfThere(this.#files, path);
      }
    } catch {
      // As above.
    }
  }

  /**
   * Names of the Actor's private values, sorted. Those of an earlier Actor with that id don't
   * count.
   */
  names(actor: StoredActor): string[] {
    return Object.keys(this.values(actor)).sort();
  }

  /** The values, only for the process that is started with them. */
  values(actor: StoredActor): Readonly<Record<string, string>> {
    const found = this.#documents.get(actor.id)?.value;
    return found?.generation === actor.generation ? found.values : {};
  }

  /**
   * Removes `unset`, then sets `set`; durable when resolved. Throws limit_reached, storage_full or
   * storage_failed.
   */
  async change(
    actor: StoredActor,
    set: Readonly<Record<string, string>>,
    unset: readonly string[],
  ): Promise<void> {
    const values = { ...this.values(actor) };
    for (const name of unset) delete values[name];
    Object.assign(values, set);
    if (Object.keys(values).length > LIMITS.actor.environmentEntries) {
      const limit = LIMITS.actor.environmentEntries;
      throw new Refusal("limit_reached", {
        specifics: `An Actor can have at most ${limit} private values.`,
        remedy: "Remove some first.",
        details: { limit },
      });
    }
    try {
      await ensureDirectory(this.#files, this.#paths.privateEnvironment);
    } catch (error) {
      throw storageRefusal(error);
    }
    const value: PrivateEnvironment = { v: 1, actor_id: actor.id, generation: actor.generation, values };
    this.#documents.set(actor.id, await JsonDocument.create(this.#options(actor.id), value));
  }

  /** After the Actor was removed. */
  async remove(actorId: string): Promise<void> {
    this.#documents.delete(actorId);
    try {
      if (unlinkIfThere(this.#files, this.#paths.privateEnvironmentFile(actorId))) {
        await syncDirectory(this.#files, this.#paths.privateEnvironment);
      }
    } catch (error) {
      throw storageRefusal(error);
    }
  }

  #options(actorId: string) {
    const path = this.#paths.privateEnvironmentFile(actorId);
    return { files: this.#files, path, version: 1, schema: PrivateEnvironment };
  }
}
