/**
 * All Groups of the Home. The directory `groups/` is the registry: a Group exists when its directory has its own name. One that is being
 * made is called `new-<id>`, one that is deleted `gone-<id>`; the next start removes whatever a crash left under these names.
 */
import { join } from "node:path";
import { type GroupPaths, groupPaths, type HomePaths } from "../../client/paths.ts";
import { type Clock, type Timer, timestamp } from "../../platform/clock.ts";
import { errorCode, removeTree, storageRefusal, syncDirectory } from "../../platform/durable.ts";
import type { Files } from "../../platform/files.ts";
import { HomeProblem } from "../../platform/problem.ts";
import type { Random } from "../../platform/random.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { DEFAULT_GROUP_SETTINGS, GroupId, type StoredGroup } from "../../shared/model.ts";
import { Ledger } from "../ledger/ledger.ts";
import type { LedgerLimits, LedgerOptions, Projection } from "../ledger/types.ts";
import { OpenGroup } from "./group.ts";
import { PrivateEnvironments } from "./private-environments.ts";
import { commitReset, finishReset } from "./reset.ts";
import { createGroup, readGroup } from "./stored-group.ts";

export interface RegistryDependencies {
  files: Files;
  clock: Clock;
  random: Random;
  paths: HomePaths;
  /** What follows a Group's ledger; called once per opening of a Group. */
  projectionsFor(group_id: string): Projection[];
  keyOf: LedgerOptions["keyOf"];
  /** Smaller limits, for tests. */
  ledgerLimits?: Partial<LedgerLimits>;
}

export interface GroupChange {
  group_id: string;
  /** `created` also after a reset (which says `removed` first, of the old OpenGroup); `actors` when Actors changed. */
  what: "created" | "changed" | "actors" | "removed";
}

/** What a new Group begins with. */
export interface GroupSeed {
  title: string;
  topic: string;
  by: string;
  /** For imports. */
  record?: Partial<Pick<StoredGroup, "state" | "settings" | "actors" | "created_at">>;
  /** Fills the new Group's directory (ledger, blobs) before the Group exists; a throw leaves nothing behind. */
  prepare?(group_id: string, paths: GroupPaths): Promise<void>;
}

function noteReset(group: OpenGroup, by: string): Promise<void> {
  return group.note({ kind: "group.reset", by, data: { generation: group.record.generation } });
}

function notDirectory(path: string): HomeProblem {
  return new HomeProblem("insecure", path, "It isn't a directory.", "Remove it, or put the directory back.");
}

const MAKING = "new-";
const DOOMED = "gone-";

/** In words for people; of errors that aren't ours only the kind, since their text may quote content. */
function reasonOf(error: unknown): string {
  if (error instanceof HomeProblem || error instanceof Refusal) return error.message;
  return error instanceof Error ? error.name : "unknown";
}

/** Whether a disk with space, or another day, may open the Group: nothing is wrong with its files. */
function passes(error: unknown): boolean {
  if (error instanceof HomeProblem) return false;
  if (error instanceof Refusal) return error.code === "storage_full" || error.code === "storage_failed";
  return errorCode(error) !== undefined;
}

export class GroupRegistry {
  readonly #deps: RegistryDependencies;
  readonly #open = new Map<string, OpenGroup>();
  readonly #unavailable = new Map<string, string>();
  /** Unavailable ones that are tried again by and by. */
  readonly #waiting = new Set<string>();
  #retry: Timer | null = null;
  #retrying: Promise<void> = Promise.resolve();
  #closed = false;
  /** Being deleted or reset. */
  readonly #busy = new Set<string>();
  /** Deleted, but it isn't sure yet that the disk knows: their files stay until it does. */
  readonly #unsure = new Set<string>();
  readonly #listeners = new Set<(change: GroupChange) => void>();
  readonly #mourners = new Set<(group_id: string) => Promise<void>>();

  private constructor(deps: RegistryDependencies) {
    this.#deps = deps;
  }

  /** Opens every Group and completes what a crash interrupted. A Group that can't be opened stays unavailable; after a failure of the disk it is tried again. */
  static async open(deps: RegistryDependencies): Promise<GroupRegistry> {
    const registry = new GroupRegistry(deps);
    for (const name of deps.files.list(deps.paths.groups).sort()) {
      if (name.startsWith(MAKING) || name.startsWith(DOOMED)) {
        await removeTree(deps.files, join(deps.paths.groups, name));
      } else if (GroupId.safeParse(name).success) {
        await registry.#take(name);
      }
    }
    return registry;
  }

  /** Open Groups in order of creation. */
  list(): OpenGroup[] {
    return [...this.#open.values()].sort((one, other) =>
      `${one.record.created_at} ${one.group_id}` < `${other.record.created_at} ${other.group_id}` ? -1 : 1,
    );
  }

  /** Groups that can't be opened, with the reason. */
  unavailable(): { group_id: string; reason: string }[] {
    return [...this.#unavailable].map(([group_id, reason]) => ({ group_id, reason }));
  }

  /** The Group when it is open. */
  find(group_id: string): OpenGroup | undefined {
    return this.#open.get(group_id);
  }

  /** Whether the Group exists, though it may be unavailable or busy. */
  knows(group_id: string): boolean {
    return this.#open.has(group_id) || this.#busy.has(group_id) || this.#unavailable.has(group_id);
  }

  /** Throws group_not_found, group_unavailable or group_busy; shutting_down once closed. */
  get(group_id: string): OpenGroup {
    const group = this.#open.get(group_id);
    if (group !== undefined) return group;
    if (this.#busy.has(group_id)) throw new Refusal("group_busy");
    const reason = this.#unavailable.get(group_id);
    if (reason !== undefined) throw new Refusal("group_unavailable", { details: { reason } });
    if (this.#closed) throw new Refusal("shutting_down");
    throw new Refusal("group_not_found", { details: { group_id } });
  }

  /** Throws limit_reached, storage_full, storage_failed, or what `prepare` throws. */
  async create(seed: GroupSeed): Promise<OpenGroup> {
    const { files, clock, random, paths } = this.#deps;
    if (this.#open.size + this.#unavailable.size + this.#busy.size >= LIMITS.group.perHome) {
      const limit = LIMITS.group.perHome;
      throw new Refusal("limit_reached", {
        specifics: `The limit of ${limit} Groups has been reached.`,
        remedy: "Delete one first.",
        details: { limit },
      });
    }
    const group_id = `g_${Buffer.from(random.bytes(6)).toString("hex")}`;
    const now = timestamp(clock);
    const making = groupPaths(join(paths.groups, `${MAKING}${group_id}`));
    try {
      files.mkdir(making.root);
      await createGroup(files, making, {
        v: 1,
        group_id,
        title: seed.title,
        topic: seed.topic,
        created_at: now,
        updated_at: now,
        generation: random.uuid(),
        state: "active",
        active_scope_key: null,
        scopes: [],
        actors: [],
        settings: DEFAULT_GROUP_SETTINGS,
        ...seed.record,
      });
      await seed.prepare?.(group_id, making);
      await syncDirectory(files, making.root);
      files.rename(making.root, paths.group(group_id).root);
      await syncDirectory(files, paths.groups);
      void this.#clear();
    } catch (error) {
      try {
        await removeTree(files, making.root);
      } catch {
        // The next start tries again.
      }
      throw error instanceof HomeProblem ? error : storageRefusal(error);
    }
    await this.#take(group_id);
    const group = this.get(group_id);
    this.#tell({ group_id, what: "created" });
    // An import has noted it behind what it brought.
    if (group.ledger.count > 0) return group;
    try {
      await group.note({ kind: "group.create", by: seed.by, data: { title: seed.title } });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      await this.#withdraw(group_id, error);
    }
    return group;
  }

  /** Takes a new Group back whose first event couldn't be written. Throws why; with its id when it stays nevertheless. */
  async #withdraw(group_id: string, refusal: Refusal): Promise<never> {
    try {
      await this.delete(group_id, group_id);
    } catch {
      const specifics = "The Group was created, but that couldn't be recorded in its ledger.";
      const details = { ...refusal.details, group_id };
      throw new Refusal(refusal.code, { specifics, details, cause: refusal });
    }
    throw refusal.cause instanceof Refusal ? refusal.cause : refusal;
  }

  /**
   * Removes a Group, available or not. Takes its write permit itself. Throws confirmation_required unless `confirm` is the id,
   * group_not_found, group_busy, storage_full or storage_failed. When only the last sync failed, the Group is gone and its files stay until
   * one succeeds: this call again, any other that makes or removes a Group, or the next start.
   */
  async delete(group_id: string, confirm: string): Promise<void> {
    const { files, paths } = this.#deps;
    if (confirm === group_id && this.#unsure.has(group_id)) {
      await syncDirectory(files, paths.groups).catch((error: unknown) => {
        throw storageRefusal(error);
      });
    } else {
      await this.#exclusively(group_id, confirm, async () => {
        files.rename(paths.group(group_id).root, this.#doomed(group_id));
        this.#unsure.add(group_id);
        await syncDirectory(files, paths.groups);
        return false;
      });
    }
    await this.#clear();
  }

  #doomed(group_id: string): string {
    return join(this.#deps.paths.groups, `${DOOMED}${group_id}`);
  }

  /** The directory of all Groups is synced: those that were deleted are gone for good, and their files go. */
  async #clear(): Promise<void> {
    const gone = [...this.#unsure];
    this.#unsure.clear();
    for (const group_id of gone) {
      await this.#mourn(group_id);
      try {
        await removeTree(this.#deps.files, this.#doomed(group_id));
      } catch {
        // The Group is gone; the next start removes the rest.
      }
    }
  }

  /**
   * Clears history and files; a fresh generation in a new OpenGroup, while the old one's ledger is closed. Takes the write permit itself.
   * Throws as `delete`, and group_unavailable.
   */
  async reset(group_id: string, confirm: string, by: string): Promise<OpenGroup> {
    const { files, clock, random, paths } = this.#deps;
    if (confirm === group_id) this.get(group_id);
    await this.#exclusively(group_id, confirm, async () => {
      const marker = { v: 1, generation: random.uuid(), updated_at: timestamp(clock), by } as const;
      await commitReset(files, paths.group(group_id), marker);
      return true;
    });
    await this.#mourn(group_id);
    const group = this.get(group_id);
    // Opening it has tried before.
    if (group.ledger.count === 0) await noteReset(group, by);
    return group;
  }

  /** Returns the way to stop listening. Called after the change is durable and, for `removed`, before the ledger closes. */
  onChange(listener: (change: GroupChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Called, and waited for, when a Group was deleted or reset for good, never for one that was rolled back; a crash may come in between.
   * What it throws is lost: the Group is gone either way.
   */
  onGone(listener: (group_id: string) => Promise<void>): void {
    this.#mourners.add(listener);
  }

  /** Waits for the permits in use, refuses later ones with shutting_down, closes the ledgers. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#retry?.cancel();
    await this.#retrying;
    await Promise.all(
      [...this.#open.values()].map(async (group) => {
        await group.permit.acquireWrite();
        group.permit.destroy(new Refusal("shutting_down"));
        await group.ledger.close();
      }),
    );
    this.#open.clear();
  }

  /** Runs `step` while nobody has the Group; it says whether the Group is there afterwards. After a failure the Group is opened again. */
  async #exclusively(group_id: string, confirm: string, step: () => Promise<boolean>): Promise<void> {
    if (confirm !== group_id) throw new Refusal("confirmation_required");
    const group = this.#unavailable.has(group_id) ? undefined : this.get(group_id);
    await group?.permit.acquireWrite();
    // Somebody else may have been faster.
    if (group !== undefined && this.#open.get(group_id) !== group) throw new Refusal("group_busy");
    if (this.#busy.has(group_id)) throw new Refusal("group_busy");
    this.#busy.add(group_id);
    this.#open.delete(group_id);
    this.#unavailable.delete(group_id);
    this.#waiting.delete(group_id);
    let there = true;
    try {
      if (group !== undefined) this.#tell({ group_id, what: "removed" });
      await group?.ledger.close();
      there = await step();
    } catch (error) {
      throw storageRefusal(error);
    } finally {
      group?.permit.destroy(new Refusal(there ? "group_busy" : "group_not_found"));
      if (there && this.#isThere(group_id)) await this.#take(group_id);
      this.#busy.delete(group_id);
      if (this.#open.has(group_id)) this.#tell({ group_id, what: "created" });
    }
  }

  /** False after a delete whose last sync failed: the Group is out of sight, though a crash may bring it back. */
  #isThere(group_id: string): boolean {
    try {
      return this.#deps.files.stat(this.#deps.paths.group(group_id).root) !== null;
    } catch {
      return true;
    }
  }

  /** Opens the Group, or keeps the reason why it can't be. */
  async #take(group_id: string): Promise<void> {
    try {
      this.#open.set(group_id, await this.#openGroup(group_id));
    } catch (error) {
      this.#unavailable.set(group_id, reasonOf(error));
      if (passes(error)) this.#tryLater(group_id);
    }
  }

  #tryLater(group_id: string): void {
    this.#waiting.add(group_id);
    if (this.#closed) return;
    const again = LIMITS.group.reopenSeconds * 1000;
    this.#retry ??= this.#deps.clock.after(again, () => void (this.#retrying = this.#tryWaiting()), {
      background: true,
    });
  }

  async #tryWaiting(): Promise<void> {
    this.#retry = null;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const group_id of waiting) {
      if (this.#closed || this.#busy.has(group_id) || !this.#unavailable.delete(group_id)) continue;
      this.#busy.add(group_id);
      await this.#take(group_id);
      this.#busy.delete(group_id);
      if (this.#open.has(group_id)) this.#tell({ group_id, what: "created" });
    }
  }

  async #openGroup(group_id: string): Promise<OpenGroup> {
    const { files, clock, random, keyOf, ledgerLimits } = this.#deps;
    const paths = this.#deps.paths.group(group_id);
    if (files.stat(paths.root) === null) throw notDirectory(paths.root);
    const { root, ledger: ledgerPath, blobs, cursors, drafts, tokens, privateEnvironment } = paths;
    for (const path of [root, ledgerPath, blobs, cursors, drafts, tokens, privateEnvironment]) {
      // A link would lead out of the Home.
      if ((files.stat(path)?.kind ?? "directory") !== "directory") throw notDirectory(path);
    }
    const reset = await finishReset(files, paths);
    const document = await readGroup(files, paths);
    if (document === null || document.value.group_id !== group_id) {
      const wrong = "The Group's record is missing or belongs to another Group.";
      throw new HomeProblem("corrupt", paths.document, wrong, "Restore it from a backup.");
    }
    const environments = await PrivateEnvironments.open(files, paths, document.value.actors);
    const ledger = await Ledger.open({ files, clock, random }, paths.ledger, {
      group_id,
      projections: this.#deps.projectionsFor(group_id),
      keyOf,
      ...(ledgerLimits === undefined ? {} : { limits: ledgerLimits }),
    });
    const group = new OpenGroup({
      paths,
      document,
      ledger,
      environments,
      clock,
      changed: (what) => this.#tell({ group_id, what }),
    });
    const { created_at, updated_at } = document.value;
    if (ledger.count === 0 && (reset !== null || created_at !== updated_at)) {
      // What comes back of the time before is known by it, so it comes first. A disk that fails now doesn't take the Group away.
      await noteReset(group, reset?.by ?? "user").catch(() => undefined);
    }
    return group;
  }

  async #mourn(group_id: string): Promise<void> {
    await Promise.allSettled([...this.#mourners].map((listener) => listener(group_id)));
  }

  #tell(change: GroupChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}
