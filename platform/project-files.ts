/** People's project directories as the daemon sees them: outside the Home, full of links, changed by others at any moment. */
import type { OpenFile } from "./files.ts";

export interface ProjectFiles {
  /** Absolute path without links; null when it doesn't exist or lies in the Home, whose files belong to no project. */
  canonical(path: string): string | null;
  isDirectory(path: string): boolean;
  /** The URL of the Git remote `origin` of the work tree that `directory` lies in; null without one. It may hold credentials. */
  gitOrigin(directory: string): string | null;
  /**
   * Opens a regular file below `root` (canonical) without following any link, the components checked while walking, so that nobody can
   * swap one in between. `create` makes a new file with mode 0600 and fails with EEXIST. ELOOP or ENOTDIR when a link is met.
   */
  openBelow(root: string, components: readonly string[], mode: "read" | "create"): OpenFile;
}
