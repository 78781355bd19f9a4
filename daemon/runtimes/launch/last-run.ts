/**
 * What is known about an Actor's last run when its process is gone, across restarts of the daemon:
 * the conversation that the next one can continue, and why it ended. One small file per Actor. A
 * reset of the Group removes it, and an Actor of another generation doesn't have it.
 */
import { basename, isAbsolute } from "node:path";
import * as z from "zod";
import { type Clock, timestamp } from "../../../platform/clock.ts";
import { ensureDirectory, readWhole, replaceFile, unlinkIfThere } from "../../../platform/durable.ts";
import type { Files } from "../../../platform/files.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { ActorId, GroupId, Runtime, type StoredActor } from "../../../shared/model.ts";
import type { Launch, SessionReport } from "../../activity/launches.ts";
import type { OpenGroup } from "../../groups/group.ts";

/**
 * As both runtimes name their sessions. It comes from a hook's payload and goes on a command line.
 */
export const SessionId = z.string().regex(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);

const Conversation = z.strictObject({
  session_id: SessionId,
  /** Where the runtime keeps it; absolute. */
  file: z.string().max(LIMITS.activity.hook.pathBytes),
  /** Of the process: a runtime finds a session again from there only. */
  directory: z.string(),
  /** Something was said in it. */
  has_prompt: z.boolean(),
});
export type Conversation = z.infer<typeof Conversation>;

const StoredRun = z.strictObject({
  v: z.literal(1),
  group_id: GroupId,
  actor_id: ActorId,
  generation: z.string(),
  runtime: Runtime,
  conversation: Conversation.nullable(),
  ended: z.strictObject({ at: z.string(), reason: z.string() }).nullable(),
});
type StoredRun = z.infer<typeof StoredRun>;

type ActorName = Pick<StoredActor, "id" | "generation" | "runtime">;

export interface LastRunsDependencies {
  files: Files;
  clock: Clock;
  log: Log;
  /** Whether the Group is still the one that is open. */
  isOpen(group: OpenGroup): boolean;
}

export class LastRuns {
  readonly #deps: LastRunsDependencies;
  readonly #known = new WeakMap<OpenGroup, Map<string, StoredRun>>();
  /** Writes run one after the other. */
  #writing: Promise<void> = Promise.resolve();

  constructor(deps: LastRunsDependencies) {
    this.#deps = deps;
  }

  /** Why the Actor's process isn't there, in words; null when none was started, or one runs. */
  endOf(group: OpenGroup, actor: ActorName): { at: string; reason: string } | null {
    return this.#of(group, actor)?.ended ?? null;
  }

  /** The one that a next run of the same runtime can continue. */
  conversationOf(group: OpenGroup, actor: ActorName): Conversation | null {
    const run = this.#of(group, actor);
    return run?.runtime === actor.runtime ? run.conversation : null;
  }

  /**
   * A hook named the session that the process is in. What isn't a session that can be continued by
   * its id counts as none.
   */
  sawSession(group: OpenGroup, launch: Launch, directory: string, told: SessionReport): void {
    const actor = { id: launch.actor_id, generation: launch.generation, runtime: launch.runtime };
    const before = this.conversationOf(group, actor);
    const isSame = before?.session_id === told.session_id;
    const conversation = conversationFrom(directory, told, isSame && before.has_prompt);
    if (JSON.stringify(conversation) === JSON.stringify(before)) return;
    this.#write(group, actor, { conversation });
  }

  /** `isNew`: not in the last conversation, which is given up. */
  began(group: OpenGroup, actor: ActorName, isNew: boolean): void {
    const gives = isNew && this.conversationOf(group, actor) !== null;
    if (this.endOf(group, actor) === null && !gives) return;
    this.#write(group, actor, { ended: null, ...(gives ? { conversation: null } : {}) });
  }

  ended(group: OpenGroup, actor: ActorName, reason: string): void {
    this.#write(group, actor, { ended: { at: timestamp(this.#deps.clock), reason } });
  }

  /** The Actor is gone. */
  forget(group: OpenGroup, actorId: string): void {
    this.#known.get(group)?.delete(actorId);
    this.#inTurn(group, actorId, async () => {
      unlinkIfThere(this.#deps.files, group.paths.runFile(actorId));
    });
  }

  /** Resolves when everything is on disk that can be. */
  settled(): Promise<void> {
    return this.#writing;
  }

  #of(group: OpenGroup, { id, generation }: ActorName): StoredRun | null {
    const known = this.#all(group).get(id) ?? this.#read(group, id);
    return known?.generation === generation ? known : null;
  }

  #all(group: OpenGroup): Map<string, StoredRun> {
    let all = this.#known.get(group);
    if (all === undefined) this.#known.set(group, (all = new Map()));
    return all;
  }

  /** A file that can't be read counts as none. The next run writes it again. */
  #read(group: OpenGroup, actorId: string): StoredRun | null {
    try {
      const bytes = readWhole(this.#deps.files, group.paths.runFile(actorId));
      if (bytes === null) return null;
      const run = StoredRun.parse(JSON.parse(bytes.toString("utf8")));
      if (run.group_id !== group.group_id || run.actor_id !== actorId) return null;
      this.#all(group).set(actorId, run);
      return run;
    } catch {
      return null;
    }
  }

  #write(group: OpenGroup, actor: ActorName, change: Partial<StoredRun>): void {
    const { id, generation, runtime } = actor;
    const before = this.#of(group, actor);
    const run: StoredRun = {
      v: 1,
      group_id: group.group_id,
      actor_id: id,
      generation,
      runtime,
      conversation: before?.runtime === runtime ? before.conversation : null,
      ended: before?.ended ?? null,
      ...change,
    };
    this.#all(group).set(id, run);
    this.#inTurn(group, id, async () => {
      // A later change is written in its own turn. Nothing is kept of what is gone by now.
      if (this.#all(group).get(id) !== run || !this.#deps.isOpen(group)) return;
      if (!group.record.actors.some((one) => one.generation === generation)) return;
      await ensureDirectory(this.#deps.files, group.paths.runs);
      const bytes = Buffer.from(`${JSON.stringify(run, null, 2)}\n`);
      await replaceFile(this.#deps.files, group.paths.runFile(id), bytes);
    });
  }

  #inTurn(group: OpenGroup, actorId: string, step: () => Promise<void>): void {
    this.#writing = this.#writing.then(step).catch((error: unknown) => {
      this.#deps.log.warn("last run", { group_id: group.group_id, actor_id: actorId, ...errorFields(error) });
    });
  }
}

function conversationFrom(
  directory: string,
  { session_id: sessionId, transcript_path: file, isPrompt }: SessionReport,
  hadPrompt: boolean,
): Conversation | null {
  if (file === null || !isAbsolute(file) || !basename(file).includes(sessionId)) return null;
  const found = { session_id: sessionId, file, directory, has_prompt: hadPrompt || isPrompt };
  return Conversation.safeParse(found).data ?? null;
}
