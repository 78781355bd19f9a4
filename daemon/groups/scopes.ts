/** Project directories bound to Groups (core-model.md, "Scope"). */
import type { Scope } from "../../shared/model.ts";
import type { OpenFile } from "../platform/files.ts";
import type { ProjectFiles } from "../platform/project-files.ts";

/** A file inside a scope. */
export interface ScopedFile {
  file: OpenFile;
  /** Base name. */
  name: string;
  /** Canonical path. */
  path: string;
  scope_key: string;
}

/** Opens a file inside one of the scopes by its canonical path; relative paths count from the first scope. Throws invalid_path. */
export function openInScope(_files: ProjectFiles, _scopes: readonly Scope[], _path: string): ScopedFile {
  throw new Error("not yet");
}

/** The same for a new file; already_exists when the name is taken. */
export function createInScope(_files: ProjectFiles, _scopes: readonly Scope[], _path: string): ScopedFile {
  throw new Error("not yet");
}
