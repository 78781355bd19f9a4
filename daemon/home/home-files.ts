/**
 * Which needed files and Groups this Home has had, in `home_files.json` (docs/core-model.md#home).
 * What is noted is durable before, so that nothing is ever missed that wasn't there.
 */
import { dirname, join } from "node:path";
import * as z from "zod";
import { nameInHome, neededFiles, wayOn } from "../../client/home-files.ts";
import type { HomePaths } from "../../client/paths.ts";
import { type DocumentOptions, JsonDocument, type KeptFiles } from "../../platform/documents.ts";
import { storageRefusal, syncDirectory } from "../../platform/durable.ts";
import type { Files } from "../../platform/files.ts";
import { HomeProblem } from "../../platform/problem.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { GroupId } from "../../shared/model.ts";

const NAMES_MAX = 64;
const NAME_CHARACTERS = 128;

const HomeFilesDocument = z.object({
  v: z.literal(1),
  /** Paths below the Home, with slashes. */
  files: z.array(z.string().min(1).max(NAME_CHARACTERS)).max(NAMES_MAX),
  /** Groups that weren't deleted. */
  groups: z.array(GroupId).max(LIMITS.group.perHome).default([]),
});
type HomeFilesDocument = z.infer<typeof HomeFilesDocument>;

function options(files: Files, paths: HomePaths): DocumentOptions<HomeFilesDocument> {
  return { files, path: paths.files, version: 1, schema: HomeFilesDocument };
}

export class HomeFiles implements KeptFiles {
  readonly #files: Files;
  readonly #paths: HomePaths;
  #document: JsonDocument<HomeFilesDocument> | null;
  /** The disk failed in the last write: what is in the file may be what was to be written. */
  #isDoubtful = false;
  /** What is expected without a document. */
  readonly #inferred: readonly string[];

  /** Why the document can't be read, in words. It stays as it is then. */
  readonly problem: string | null;

  private constructor(
    files: Files,
    paths: HomePaths,
    document: JsonDocument<HomeFilesDocument> | null,
    problem: string | null,
  ) {
    this.#files = files;
    this.#paths = paths;
    this.#document = document;
    this.problem = problem;
    const hasGroups = files.stat(paths.groups) !== null && files.list(paths.groups).length > 0;
    const hasSettings = files.stat(paths.settings) !== null;
    this.#inferred = [
      ...(hasSettings || hasGroups ? [paths.identity] : []),
      ...(hasGroups ? [paths.settings] : []),
    ].map((path) => nameInHome(paths, path));
  }

  /**
   * Reads the document and writes nothing. Without one, as in a Home of before: whoever has
   * settings had a key, and whoever has Groups had both.
   */
  static async open(files: Files, paths: HomePaths): Promise<HomeFiles> {
    try {
      return new HomeFiles(files, paths, await JsonDocument.read(options(files, paths)), null);
    } catch (error) {
      if (!(error instanceof HomeProblem)) throw error;
      return new HomeFiles(files, paths, null, error.message);
    }
  }

  get #names(): readonly string[] {
    return this.#document?.value.files ?? this.#inferred;
  }

  has(path: string): boolean {
    return this.#names.includes(nameInHome(this.#paths, path));
  }

  /** Throws HomeProblem if the file is gone. */
  check(path: string): void {
    if (this.has(path) && this.#files.stat(path) === null) throw this.missing(path);
  }

  missing(path: string): HomeProblem {
    const name = nameInHome(this.#paths, path);
    const lost = neededFiles(this.#paths).find((needed) => needed.path === path)?.lost ?? "";
    return new HomeProblem(
      "missing",
      path,
      `It was here and is gone. ${lost}`,
      `Put it back from a backup. ${wayOn(this.#paths, name)}`,
    );
  }

  /** Groups that there were, though their folders may be gone. */
  get groups(): readonly string[] {
    return this.#document?.value.groups ?? [];
  }

  /**
   * Notes the needed files and Groups that are here, unless the document can't be read. Throws
   * Refusal if the disk fails.
   */
  async noteAll(): Promise<void> {
    if (this.problem !== null) return;
    const files = this.#files;
    const found = neededFiles(this.#paths).filter(({ path }) => files.stat(path) !== null);
    const names = found.map(({ path }) => nameInHome(this.#paths, path));
    const groups = files
      .list(this.#paths.groups)
      .filter((name) => GroupId.safeParse(name).success)
      .slice(0, LIMITS.group.perHome);
    await this.#note({ files: names, groups });
  }

  async add(path: string): Promise<void> {
    await this.#noteIfPossible({ files: [nameInHome(this.#paths, path)], groups: [] });
  }

  /** The Group is here. What can't be noted now is noted by the next start. */
  async addGroup(groupId: string): Promise<void> {
    await this.#noteIfPossible({ files: [], groups: [groupId] });
  }

  /** The Group is gone because a person wanted it. Throws Refusal if the disk fails. */
  async forgetGroup(groupId: string): Promise<void> {
    if (this.#document === null) return;
    if (!this.#isDoubtful && !this.groups.includes(groupId)) return;
    await this.#update((value) => ({ ...value, groups: without(value.groups, groupId) }));
  }

  /** It is no longer expected. Throws Refusal if the disk fails. */
  async forget(path: string): Promise<void> {
    const name = nameInHome(this.#paths, path);
    await this.#update((value) => ({ ...value, files: without(value.files, name) }));
  }

  /** Throws Refusal storage_failed if the document can't be read, so that it stays as it is. */
  checkWritable(): void {
    if (this.problem !== null) throw new Refusal("storage_failed", { specifics: this.problem });
  }

  async #writable(): Promise<JsonDocument<HomeFilesDocument>> {
    this.checkWritable();
    const first: HomeFilesDocument = { v: 1, files: [...this.#inferred], groups: [] };
    return (this.#document ??= await JsonDocument.create(options(this.#files, this.#paths), first));
  }

  async #update(change: (value: Readonly<HomeFilesDocument>) => HomeFilesDocument): Promise<void> {
    const document = await this.#writable();
    try {
      await document.update(change);
      this.#isDoubtful = false;
    } catch (error) {
      this.#isDoubtful = true;
      throw error;
    }
  }

  async #noteIfPossible(found: Found): Promise<void> {
    try {
      await this.#note(found);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }

  async #note({ files, groups }: Found): Promise<void> {
    const { value } = await this.#writable();
    const newFiles = files.filter((name) => !value.files.includes(name));
    const newGroups = groups.filter((groupId) => !value.groups.includes(groupId));
    if (newFiles.length === 0 && newGroups.length === 0) return;
    await this.#makeDurable([
      ...newFiles.map((name) => join(this.#paths.root, name)),
      ...newGroups.map((groupId) => this.#paths.group(groupId).root),
    ]);
    await this.#update((last) => ({
      ...last,
      files: united(last.files, newFiles),
      groups: united(last.groups, newGroups),
    }));
  }

  /**
   * An earlier run may have ended between making one of them and syncing its directory: then it is
   * here, and a power cut would still take it away.
   */
  async #makeDurable(paths: readonly string[]): Promise<void> {
    const { root } = this.#paths;
    const directories = new Set<string>();
    for (const path of paths)
      for (let at = dirname(path); at.length >= root.length; at = dirname(at)) directories.add(at);
    for (const directory of directories) {
      await syncDirectory(this.#files, directory).catch((error: unknown) => {
        throw storageRefusal(error);
      });
    }
  }
}

/** Names of needed files, and ids of Groups. */
interface Found {
  files: readonly string[];
  groups: readonly string[];
}

function without(names: readonly string[], name: string): string[] {
  return names.filter((one) => one !== name);
}

function united(some: readonly string[], others: readonly string[]): string[] {
  return [...new Set([...some, ...others])].sort();
}
