/**
 * All Groups of the Home. The directory `groups/` is the registry: a Group exists if a directory
 * has its name. A Group that is being created is called `new-<id>`, one that is being deleted
 * `gone-<id>`. The next start removes anything that a crash left under these names.
 */
import { join } from "node:path";
import { type GroupPaths, groupPaths, type HomePaths } from "../../client/paths.ts";
import { type Clock, type Timer, timestamp } from "../../platform/clock.ts";
import {
  errorCode,
  exhaustedRefusal,
  isStorageRefusal,
  removeTree,
  storageRefusal,
  syncDirectory,
} from "../../platform/durable.ts";
import type { Files } from "../../platform/files.ts";
import { errorFields, type Log } from "../../platform/log.ts";
import { HomeProblem } from "../../platform/problem.ts";
import type { Random } from "../../platform/random.ts";
import { Refusal } from "../../shared/errors.ts";
import type { LedgerDamage } from "../../shared/ledger-damage.ts";
import { LIMITS } from "../../shared/limits.ts";
import { DEFAULT_GROUP_SETTINGS, GroupId, type StoredGroup } from "../../shared/model.ts";
import { Ledger } from "../ledger/ledger.ts";
import type { LedgerLimits, LedgerOptions, Projection } from "../ledger/types.ts";
import { OpenGroup } from "./group.ts";
import { PrivateEnvironments } from "./private-environments.ts";
import { commitReset, endReset, finishReset } from "./reset.ts";
import { createGroup, readGroup } from "./stored-group.ts";

export interface RegistryDependencies {
  log?: Log;
  files: Files;
  clock: Clock;
  random: Random;
  paths: HomePaths;
  kept?: KeptGroups;
  /** Follows a Group's ledger; called once per opening of a Group. */
  projectionsFor(groupId: string): Projection[];
  keyOf: LedgerOptions["keyOf"];
  /** Throws too_many_open_files if another Group would take what the daemon needs to answer. */
  checkOpenFiles?(): void;
  /** Smaller limits, for tests. */
  ledgerLimits?: Partial<LedgerLimits>;
}

export interface GroupChange {
  group_id: string;
  /**
   * `created` also after a reset (which says `removed` first, of the old OpenGroup); `actors` when
   * Actors changed.
   */
  what: "created" | "changed" | "actors" | "removed";
  /** Of `created`: the Group couldn't be opened before. What a crash left in it is still there. */
  late?: true;
}

/** Remembers which Groups there were. */
export interface KeptGroups {
  readonly groups: readonly string[];
  /** The Group is durable. What can't be remembered now is remembered by the next start. */
  addGroup(groupId: string): Promise<void>;
  /** It was deleted. Throws Refusal if the disk fails. */
  forgetGroup(groupId: string): Promise<void>;
}

/** What a new Group begins with. */
export interface GroupSeed {
  title: string;
  topic: string;
  by: string;
  /** For imports. */
  record?: Partial<Pick<StoredGroup, "state" | "settings" | "actors" | "created_at">>;
  /**
   * Fills the new Group's directory (ledger, blobs) before the Group exists. If it throws, nothing
   * is left.
   */
  prepare?(groupId: string, paths: GroupPaths): Promise<void>;
}

function noteReset(group: OpenGroup, by: string): Promise<void> {
  return group.note({ kind: "group.reset", by, data: { generation: group.record.generation } });
}

/** Throws Refusal when the disk fails; the next opening tries again. */
async function recordDecision(ledger: Ledger, decision: NonNullable<Ledger["decision"]>): Promise<void> {
  const { by, event_id: id, missing_events: missingEvents, missing, aside } = decision;
  if (ledger.ordinalOf(id) === undefined) {
    const data = { missing_events: missingEvents, missing, kept: aside.map(({ kept }) => kept) };
    await ledger.append({ id, kind: "group.continue", scope_key: "", by, data });
  }
  await ledger.forgetDecision();
}

function notDirectory(path: string): HomeProblem {
  return new HomeProblem("insecure", path, "It isn't a directory.", "Remove it, or put the directory back.");
}

function missing(path: string): HomeProblem {
  const wrong = "The Group's folder was here and is gone, with its messages, files and Actors.";
  return new HomeProblem("missing", path, wrong, "Put it back from a backup.");
}

const MAKING = "new-";
const DOOMED = "gone-";

/**
 * In words for people. For unexpected errors only the kind, because their text may quote content.
 */
function reasonOf(error: unknown): string {
  const known = exhaustedRefusal(error) ?? error;
  if (known instanceof HomeProblem || known instanceof Refusal) return known.message;
  return error instanceof Error ? error.name : "unknown";
}

/** Whether freeing the disk or waiting may let the Group open: nothing is wrong with its files. */
function passes(error: unknown): boolean {
  if (error instanceof HomeProblem) return false;
  if (error instanceof Refusal) return isStorageRefusal(error);
  return errorCode(error) !== undefined;
}

export class GroupRegistry {
  readonly #deps: RegistryDependencies;
  readonly #open = new Map<string, OpenGroup>();
  readonly #unavailable = new Map<string, string>();
  /** Unavailable Groups that are tried again from time to time. */
  readonly #waiting = new Set<string>();
  #retry: Timer | null = null;
  #retrying: Promise<void> = Promise.resolve();
  #closed = false;
  /** Being deleted or reset. */
  readonly #busy = new Set<string>();
  /** Deleted, but the disk may not know yet. Their files stay until it does. */
  readonly #unsure = new Set<string>();
  readonly #listeners = new Set<(change: GroupChange) => void>();
  readonly #goneListeners = new Set<(groupId: string) => Promise<void>>();

  private constructor(deps: RegistryDependencies) {
    this.#deps = deps;
  }

  /**
   * Opens every Group and completes what a crash interrupted. A Group that can't be opened stays
   * unavailable. After a disk failure it is tried again.
   */
  static async open(deps: RegistryDependencies): Promise<GroupRegistry> {
    const registry = new GroupRegistry(deps);
    const doomed = new Set<string>();
    for (const name of deps.files.list(deps.paths.groups).sort()) {
      if (name.startsWith(MAKING)) {
        await removeTree(deps.files, join(deps.paths.groups, name));
      } else if (name.startsWith(DOOMED)) {
        const groupId = name.slice(DOOMED.length);
        doomed.add(groupId);
        await registry.#removeDoomed(groupId);
      } else if (GroupId.safeParse(name).success) {
        await registry.#take(name);
      }
    }
    for (const groupId of deps.kept?.groups ?? [])
      if (!registry.knows(groupId) && !doomed.has(groupId)) await registry.#take(groupId);
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
    return [...this.#unavailable].map(([groupId, reason]) => ({ group_id: groupId, reason }));
  }

  /** The Group when it is open. */
  find(groupId: string): OpenGroup | undefined {
    return this.#open.get(groupId);
  }

  /** Whether the Group exists, though it may be unavailable or busy. */
  knows(groupId: string): boolean {
    return this.#open.has(groupId) || this.#busy.has(groupId) || this.#unavailable.has(groupId);
  }

  /** Whether the Group is being deleted, reset or opened again. */
  isChanging(groupId: string): boolean {
    return this.#busy.has(groupId);
  }

  /** Throws group_not_found, group_unavailable or group_busy; shutting_down once closed. */
  get(groupId: string): OpenGroup {
    const group = this.#open.get(groupId);
    if (group !== undefined) return group;
    if (this.#busy.has(groupId)) throw new Refusal("group_busy");
    const reason = this.#unavailable.get(groupId);
    if (reason !== undefined)
      throw new Refusal("group_unavailable", {
        specifics: `The Group can't be opened. ${reason}`,
        details: { reason },
      });
    if (this.#closed) throw new Refusal("shutting_down");
    throw new Refusal("group_not_found", { details: { group_id: groupId } });
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
    this.#deps.checkOpenFiles?.();
    const groupId = `g_${Buffer.from(random.bytes(6)).toString("hex")}`;
    const now = timestamp(clock);
    const making = groupPaths(join(paths.groups, `${MAKING}${groupId}`));
    try {
      files.mkdir(making.root);
      await createGroup(files, making, {
        v: 1,
        group_id: groupId,
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
      await seed.prepare?.(groupId, making);
      await syncDirectory(files, making.root);
      files.rename(making.root, paths.group(groupId).root);
      await syncDirectory(files, paths.groups);
      await this.#deps.kept?.addGroup(groupId);
      void this.#clear();
    } catch (error) {
      try {
        await removeTree(files, making.root);
      } catch {
        // The next start tries again.
      }
      throw error instanceof HomeProblem ? error : storageRefusal(error);
    }
    await this.#take(groupId);
    const group = this.get(groupId);
    this.#tell({ group_id: groupId, what: "created" });
    // An import has recorded it after what it brought.
    if (group.ledger.count > 0) return group;
    try {
      await group.note({ kind: "group.create", by: seed.by, data: { title: seed.title } });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      await this.#withdraw(groupId, error);
    }
    return group;
  }

  /**
   * Removes a new Group whose first event couldn't be written. Throws the reason, with its id if it
   * stays nevertheless.
   */
  async #withdraw(groupId: string, refusal: Refusal): Promise<never> {
    try {
      await this.delete(groupId, groupId);
    } catch {
      const specifics = "The Group was created, but that couldn't be recorded in its ledger.";
      const details = { ...refusal.details, group_id: groupId };
      throw new Refusal(refusal.code, { specifics, details, cause: refusal });
    }
    throw refusal.cause instanceof Refusal ? refusal.cause : refusal;
  }

  /**
   * Removes a Group, whether available or not. Takes its write permit itself. Throws
   * confirmation_required unless `confirm` is the id, and group_not_found, group_busy, storage_full
   * or storage_failed. If only the last sync failed, the Group is gone and its files stay until a
   * sync succeeds: in this call again, in any other that creates or removes a Group, or at the next
   * start.
   */
  async delete(groupId: string, confirm: string): Promise<void> {
    const { files, paths } = this.#deps;
    if (confirm === groupId && this.#unsure.has(groupId)) {
      await syncDirectory(files, paths.groups).catch((error: unknown) => {
        throw storageRefusal(error);
      });
    } else {
      await this.#exclusively(groupId, confirm, async () => {
        const { root } = paths.group(groupId);
        // Its folder was removed by somebody else: what is left is that it was there.
        if (files.stat(root) === null) files.mkdir(this.#doomed(groupId));
        else files.rename(root, this.#doomed(groupId));
        this.#unsure.add(groupId);
        await syncDirectory(files, paths.groups);
        return false;
      });
    }
    await this.#clear();
  }

  #doomed(groupId: string): string {
    return join(this.#deps.paths.groups, `${DOOMED}${groupId}`);
  }

  /**
   * The directory of all Groups is synced: those that were deleted are gone for good, and their
   * files go.
   */
  async #clear(): Promise<void> {
    const gone = [...this.#unsure];
    this.#unsure.clear();
    for (const groupId of gone) {
      await this.#tellGone(groupId);
      try {
        await this.#removeDoomed(groupId);
      } catch {
        // The Group is gone; the next start removes the rest.
      }
    }
  }

  /**
   * The Group's files go. Their folder goes last, when the Group is no longer expected: as long as
   * it is there, the Group is known to be deleted. Throws Node's errors.
   */
  async #removeDoomed(groupId: string): Promise<void> {
    const { files, kept, log } = this.#deps;
    const root = this.#doomed(groupId);
    const names = files.stat(root)?.kind === "directory" ? files.list(root) : [];
    for (const name of names) await removeTree(files, join(root, name));
    try {
      await kept?.forgetGroup(groupId);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      log?.warn("group_not_forgotten", { group_id: groupId, ...errorFields(error) });
      return;
    }
    await removeTree(files, root);
  }

  /**
   * Clears history and files and gives the Group a new generation in a new OpenGroup. Closes the
   * old one's ledger. Takes the write permit itself. Throws as `delete`, and group_unavailable.
   */
  async reset(groupId: string, confirm: string, by: string): Promise<OpenGroup> {
    const { files, clock, random, paths } = this.#deps;
    if (confirm === groupId) this.get(groupId).ledger.checkWritable();
    await this.#exclusively(groupId, confirm, async () => {
      const marker = { v: 1, generation: random.uuid(), updated_at: timestamp(clock), by } as const;
      await commitReset(files, paths.group(groupId), marker);
      return true;
    });
    await this.#tellGone(groupId);
    const group = this.get(groupId);
    // Opening it has tried before.
    if (group.ledger.count === 0) {
      await noteReset(group, by);
      await endReset(files, group.paths);
    }
    return group;
  }

  /**
   * Goes on without what the Group's damaged ledger has lost: the damaged files are kept, and an
   * event says what is missing and who decided. Nothing happens to a whole one. Throws
   * confirmation_required unless `confirm` is the id, group_not_found, group_busy,
   * group_unavailable when it can't be opened even so, storage_full or storage_failed.
   */
  async continueDamaged(groupId: string, confirm: string, by: string): Promise<OpenGroup> {
    if (confirm !== groupId)
      throw new Refusal("confirmation_required", { remedy: "Pass confirm with the Group id." });
    if (this.#open.get(groupId)?.ledger.damage !== null) {
      const paths = this.#deps.paths.group(groupId);
      await this.#exclusively(groupId, groupId, async () => {
        const document = await readGroup(this.#deps.files, paths);
        const isRecorded = document !== null && document.value.created_at !== document.value.updated_at;
        const options = { group_id: groupId, projections: [], keyOf: this.#deps.keyOf, isRecorded };
        await Ledger.decideToContinue(this.#deps, paths.ledger, options, by);
        return true;
      });
    }
    return this.get(groupId);
  }

  /** Opens the Group again, after a file was put back. Throws as `continueDamaged`. */
  async reopen(groupId: string): Promise<OpenGroup> {
    await this.#exclusively(groupId, groupId, async () => true);
    return this.get(groupId);
  }

  /**
   * Returns a function that stops listening. Listeners are called after the change is durable and,
   * for `removed`, before the ledger closes.
   */
  onChange(listener: (change: GroupChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Called and awaited when a Group was finally deleted or reset, never if that was rolled back. A
   * crash may come in between. Its errors are ignored, because the Group is gone either way.
   */
  onGone(listener: (groupId: string) => Promise<void>): void {
    this.#goneListeners.add(listener);
  }

  /**
   * Waits for the permits in use, refuses later ones with shutting_down, and closes the ledgers.
   */
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

  /**
   * Runs `step` while no one else has the Group. It says whether the Group exists afterwards. After
   * a failure the Group is opened again.
   */
  async #exclusively(groupId: string, confirm: string, step: () => Promise<boolean>): Promise<void> {
    if (confirm !== groupId) throw new Refusal("confirmation_required");
    const group = this.#unavailable.has(groupId) ? undefined : this.get(groupId);
    await group?.permit.acquireWrite();
    // Another call may have been faster.
    if (group !== undefined && this.#open.get(groupId) !== group) throw new Refusal("group_busy");
    if (this.#busy.has(groupId)) throw new Refusal("group_busy");
    this.#busy.add(groupId);
    this.#open.delete(groupId);
    this.#unavailable.delete(groupId);
    this.#waiting.delete(groupId);
    let there = true;
    try {
      if (group !== undefined) this.#tell({ group_id: groupId, what: "removed" });
      await group?.ledger.close();
      there = await step();
    } catch (error) {
      throw storageRefusal(error);
    } finally {
      group?.permit.destroy(new Refusal(there ? "group_busy" : "group_not_found"));
      if (there && (this.#isThere(groupId) || this.#isMissed(groupId))) await this.#take(groupId);
      this.#busy.delete(groupId);
      if (this.#open.has(groupId)) this.#tell({ group_id: groupId, what: "created" });
    }
  }

  /**
   * False after a delete whose last sync failed: the Group is no longer visible, but a crash may
   * bring it back.
   */
  #isThere(groupId: string): boolean {
    try {
      return this.#deps.files.stat(this.#deps.paths.group(groupId).root) !== null;
    } catch {
      return true;
    }
  }

  /** Whether the Group's folder should be there. */
  #isMissed(groupId: string): boolean {
    return !this.#unsure.has(groupId) && this.#deps.kept?.groups.includes(groupId) === true;
  }

  /** Opens the Group, or keeps the reason why it can't be. */
  async #take(groupId: string): Promise<void> {
    try {
      this.#open.set(groupId, await this.#openGroup(groupId));
    } catch (error) {
      const reason = reasonOf(error);
      this.#unavailable.set(groupId, reason);
      this.#deps.log?.error("group_unavailable", { group_id: groupId, reason });
      if (passes(error)) this.#tryLater(groupId);
    }
  }

  #tryLater(groupId: string): void {
    this.#waiting.add(groupId);
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
    for (const groupId of waiting) {
      if (this.#closed || this.#busy.has(groupId) || !this.#unavailable.delete(groupId)) continue;
      this.#busy.add(groupId);
      await this.#take(groupId);
      this.#busy.delete(groupId);
      if (this.#open.has(groupId)) this.#tell({ group_id: groupId, what: "created", late: true });
    }
  }

  async #openGroup(groupId: string): Promise<OpenGroup> {
    const { files, clock } = this.#deps;
    const paths = this.#deps.paths.group(groupId);
    if (files.stat(paths.root) === null) throw missing(paths.root);
    this.#deps.checkOpenFiles?.();
    const { root, ledger: ledgerPath, blobs, cursors, drafts, tokens, privateEnvironment } = paths;
    for (const path of [root, ledgerPath, blobs, cursors, drafts, tokens, privateEnvironment]) {
      // A link would lead out of the Home.
      if ((files.stat(path)?.kind ?? "directory") !== "directory") throw notDirectory(path);
    }
    const reset = await finishReset(files, paths);
    const document = await readGroup(files, paths);
    if (document === null || document.value.group_id !== groupId) {
      const wrong = "The Group's record is missing or belongs to another Group.";
      throw new HomeProblem("corrupt", paths.document, wrong, "Restore it from a backup.");
    }
    const environments = await PrivateEnvironments.open(files, paths, document.value.actors);
    const { created_at: createdAt, updated_at: updatedAt } = document.value;
    const ledger = await this.#openLedger(paths, {
      group_id: groupId,
      projections: this.#deps.projectionsFor(groupId),
      keyOf: this.#deps.keyOf,
      // What created the Group was recorded before anything could change in it.
      isRecorded: reset === null && createdAt !== updatedAt,
      ...(this.#deps.ledgerLimits === undefined ? {} : { limits: this.#deps.ledgerLimits }),
    });
    const isReset = ledger.count === 0 && reset !== null;
    const group = new OpenGroup({
      paths,
      document,
      ledger,
      environments,
      clock,
      isReset,
      changed: (what) => this.#tell({ group_id: groupId, what }),
    });
    if (reset !== null) await this.#endReset(group, reset.by);
    return group;
  }

  /**
   * Later events are identified by the reset's, so it comes first. A disk that fails now doesn't
   * take the Group away.
   */
  async #endReset(group: OpenGroup, by: string): Promise<void> {
    try {
      if (group.ledger.count === 0) await noteReset(group, by);
      await endReset(this.#deps.files, group.paths);
    } catch {
      // The next start tries again.
    }
  }

  /**
   * A damaged one is opened for reading, and a decision about it is recorded before anything else.
   */
  async #openLedger(paths: GroupPaths, options: LedgerOptions): Promise<Ledger> {
    const { files, clock, random, log } = this.#deps;
    const groupId = options.group_id;
    let ledger: Ledger;
    try {
      ledger = await Ledger.open({ files, clock, random }, paths.ledger, options);
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== "ledger_corrupt") throw error;
      ledger = Ledger.openDamaged({ files, clock, random }, paths.ledger, options, error);
    }
    const tell = (damage: LedgerDamage): void => {
      log?.error("ledger_damaged", {
        group_id: groupId,
        missing_events: damage.missing_events,
        files: damage.files.join(", "),
        problems: damage.problems.join(" "),
      });
      void ledger.noteDamage();
    };
    if (ledger.damage !== null) {
      tell(ledger.damage);
      return ledger;
    }
    ledger.onDamage((damage) => {
      tell(damage);
      this.#tell({ group_id: groupId, what: "changed" });
    });
    if (ledger.decision !== null) await recordDecision(ledger, ledger.decision);
    return ledger;
  }

  async #tellGone(groupId: string): Promise<void> {
    await Promise.allSettled([...this.#goneListeners].map((listener) => listener(groupId)));
  }

  #tell(change: GroupChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}
