/**
 * Which needed files this Home has had, in `home_files.json` (docs/core-model.md#home). A file is
 * durable before it is noted, so that nothing is ever missed that wasn't there.
 */
import * as z from "zod";
import { nameInHome, neededFiles, wayOn } from "../../client/home-files.ts";
import type { HomePaths } from "../../client/paths.ts";
import { type DocumentOptions, JsonDocument, type KeptFiles } from "../../platform/documents.ts";
import type { Files } from "../../platform/files.ts";
import { HomeProblem } from "../../platform/problem.ts";
import { Refusal } from "../../shared/errors.ts";

const NAMES_MAX = 64;
const NAME_CHARACTERS = 128;

const HomeFilesDocument = z.object({
  v: z.literal(1),
  /** Paths below the Home, with slashes. */
  files: z.array(z.string().min(1).max(NAME_CHARACTERS)).max(NAMES_MAX),
});
type HomeFilesDocument = z.infer<typeof HomeFilesDocument>;

function options(files: Files, paths: HomePaths): DocumentOptions<HomeFilesDocument> {
  return { files, path: paths.files, version: 1, schema: HomeFilesDocument };
}

export class HomeFiles implements KeptFiles {
  readonly #files: Files;
  readonly #paths: HomePaths;
  #document: JsonDocument<HomeFilesDocument> | null;
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

  /**
   * Notes the needed files that are here, unless the document can't be read. Throws Refusal if the
   * disk fails.
   */
  async noteAll(): Promise<void> {
    if (this.problem !== null) return;
    const found = neededFiles(this.#paths).filter(({ path }) => this.#files.stat(path) !== null);
    await this.#note(found.map(({ path }) => nameInHome(this.#paths, path)));
  }

  async add(path: string): Promise<void> {
    try {
      await this.#note([nameInHome(this.#paths, path)]);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }

  /** It is no longer expected. Throws Refusal if the disk fails. */
  async forget(path: string): Promise<void> {
    const document = await this.#writable();
    const name = nameInHome(this.#paths, path);
    await document.update((value) => ({ ...value, files: value.files.filter((one) => one !== name) }));
  }

  async #writable(): Promise<JsonDocument<HomeFilesDocument>> {
    if (this.problem !== null) throw new Refusal("storage_failed", { specifics: this.problem });
    const first: HomeFilesDocument = { v: 1, files: [...this.#inferred] };
    return (this.#document ??= await JsonDocument.create(options(this.#files, this.#paths), first));
  }

  async #note(names: readonly string[]): Promise<void> {
    const document = await this.#writable();
    await document.update((value) => {
      const added = names.filter((name) => !value.files.includes(name));
      return added.length === 0 ? value : { ...value, files: [...value.files, ...added].sort() };
    });
  }
}
