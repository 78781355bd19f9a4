/**
 * Which generation of each Group its queued work belongs to. A reset ends its Group's queued work.
 * A power cut may bring back records whose removal wasn't durable yet, or that were still to be
 * removed. This file distinguishes them from the work of the Group as it is now (OUT-037).
 */
import * as z from "zod";
import { type DocumentOptions, JsonDocument } from "../../../platform/documents.ts";
import type { Files } from "../../../platform/files.ts";
import { HomeProblem } from "../../../platform/problem.ts";
import { GroupId } from "../../../shared/model.ts";

const Stored = z.strictObject({ v: z.literal(1), groups: z.record(GroupId, z.string().min(1).max(128)) });
type Stored = z.infer<typeof Stored>;

/** A Group's generation now; undefined while it isn't open. */
export type GenerationOf = (groupId: string) => string | undefined;

export class WorkGenerations {
  readonly #options: DocumentOptions<Stored>;
  readonly #now: GenerationOf;
  #document: JsonDocument<Stored> | null;
  /** The first note creates the file, and the others wait for it. */
  #making: Promise<JsonDocument<Stored>> | null = null;
  /** By Group, while its generation is being written. */
  readonly #noting = new Map<string, Promise<void>>();
  /** What this run knows when the file can't be read. */
  readonly #known = new Map<string, string>();
  /**
   * Why the file can't be read, in words. Then it stays as it is, and generations are known only
   * for this run.
   */
  readonly problem: string | null;

  private constructor(
    options: DocumentOptions<Stored>,
    found: { document: JsonDocument<Stored> | null; problem: string | null },
    now: GenerationOf,
  ) {
    this.#options = options;
    this.#document = found.document;
    this.problem = found.problem;
    this.#now = now;
  }

  /**
   * Reads `state/connect/outbox_generations.json`. Without it, what an earlier run left counts as
   * work of the Groups as they are. `RemoteReplies.recover` still sees in their ledgers what a
   * reset ended.
   */
  static async open(files: Files, path: string, now: GenerationOf): Promise<WorkGenerations> {
    const options: DocumentOptions<Stored> = { files, path, version: 1, schema: Stored };
    try {
      return new WorkGenerations(options, { document: await JsonDocument.read(options), problem: null }, now);
    } catch (error) {
      if (!(error instanceof HomeProblem)) throw error;
      return new WorkGenerations(options, { document: null, problem: error.message }, now);
    }
  }

  /** Whether queued work of the Group belongs to a past generation. */
  isPast(groupId: string): boolean {
    const now = this.#now(groupId);
    const then = this.#then(groupId);
    return now !== undefined && then !== undefined && then !== now;
  }

  /**
   * From now on queued work belongs to the Group's current generation. Durable when resolved.
   * Resolves at once when that is so already. Otherwise `forget` first removes work of an earlier
   * generation. Throws storage_full or storage_failed, and what `forget` throws.
   */
  async begin(groupId: string, forget: () => Promise<void>): Promise<void> {
    // The Group may be reset while an earlier generation is being noted.
    for (;;) {
      const generation = this.#now(groupId);
      if (generation === undefined || this.#then(groupId) === generation) return;
      let noting = this.#noting.get(groupId);
      if (noting === undefined) {
        noting = forget()
          .then(() => this.#note(groupId, generation))
          .finally(() => this.#noting.delete(groupId));
        this.#noting.set(groupId, noting);
      }
      await noting;
    }
  }

  #then(groupId: string): string | undefined {
    return this.#document?.value.groups[groupId] ?? this.#known.get(groupId);
  }

  async #note(groupId: string, generation: string): Promise<void> {
    if (this.problem !== null) {
      this.#known.set(groupId, generation);
      return;
    }
    this.#making ??= this.#make();
    const document = await this.#making.finally(() => {
      if (this.#document === null) this.#making = null;
    });
    // Groups that aren't open keep theirs, because they may come back with their work.
    await document.update(({ v, groups }) => ({ v, groups: { ...groups, [groupId]: generation } }));
  }

  async #make(): Promise<JsonDocument<Stored>> {
    this.#document ??= await JsonDocument.create(this.#options, { v: 1, groups: {} });
    return this.#document;
  }
}
