/**
 * People's project directories as the daemon sees them: outside the Home, full of links, changed by
 * others at any moment.
 */
import type { OpenFile } from "./files.ts";

export interface ProjectFiles {
  /**
   * Absolute path without links. Null if it doesn't exist or is in the Home, whose files can't
   * belong to a project.
   */
  canonical(path: string): string | null;
  isDirectory(path: string): boolean;
  /** The folder of the person whose process this is. */
  ownFolder(): string;
  /**
   * The names of the directories in a canonical one, in no order, links and the Home excluded. At
   * most `examined` entries of any kind are looked at; `more` if there are others. Throws Node's
   * errors.
   */
  folders(directory: string, examined: number): Promise<{ names: string[]; more: boolean }>;
  /**
   * The URL of the Git remote `origin` of the work tree that contains `directory`, or null. It may
   * contain credentials.
   */
  gitOrigin(directory: string): string | null;
  /** Whether two canonical directories are the same place in two work trees of one repository. */
  isSamePlace(one: string, other: string): boolean;
  /**
   * Opens a regular file below `root` (canonical) without following any link. The components are
   * checked on the way, so that none can be swapped. `create` makes a new file with mode 0600 and
   * fails with EEXIST. Fails with ELOOP or ENOTDIR at a link.
   */
  openBelow(root: string, components: readonly string[], mode: "read" | "create"): OpenFile;
}
