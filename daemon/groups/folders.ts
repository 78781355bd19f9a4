/** The folders of the machine, for the person who chooses one to attach. */
import { dirname, isAbsolute, join } from "node:path";
import type { ProjectFiles } from "../../platform/project-files.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { InputOf, ResultOf } from "../../shared/operations/registry.ts";

const BY_NAME = new Intl.Collator("en", { numeric: true });

/**
 * The folders in one, by name; links aren't followed, and a Home has none that could be attached.
 * Throws invalid_project_root.
 */
export async function listFolders(
  projects: ProjectFiles,
  { path, hidden }: InputOf<"folder_list">,
): Promise<ResultOf<"folder_list">> {
  const asked = path ?? projects.ownFolder();
  const refused = (why: string) =>
    new Refusal("invalid_project_root", { specifics: why, details: { path: asked } });
  if (!isAbsolute(asked)) throw refused("The path isn't absolute.");
  const canonical = projects.canonical(asked);
  if (canonical === null || !projects.isDirectory(canonical))
    throw new Refusal("invalid_project_root", { details: { path: asked } });
  let found: Awaited<ReturnType<ProjectFiles["folders"]>>;
  try {
    found = await projects.folders(canonical, LIMITS.folder.examined);
  } catch {
    throw refused("The folder can't be read.");
  }
  // In the meantime a link may have taken its place.
  if (projects.canonical(canonical) !== canonical) throw refused("The folder has been replaced.");
  const names = found.names
    // A name that isn't text can't be asked for.
    .filter((name) => (hidden || !name.startsWith(".")) && !name.includes("\ufffd"))
    .filter((name) => join(canonical, name).length <= LIMITS.folder.pathCharacters)
    .toSorted(BY_NAME.compare);
  const parent = dirname(canonical);
  return {
    path: canonical,
    parent: parent === canonical ? null : parent,
    folders: names.slice(0, LIMITS.folder.listed),
    more: found.more || names.length > LIMITS.folder.listed,
  };
}
