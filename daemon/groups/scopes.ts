/** Project directories bound to Groups, and the files in them (docs/core-model.md#scope). */
import { createHash } from "node:crypto";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { errorCode, exhaustedRefusal } from "../../platform/durable.ts";
import type { OpenFile } from "../../platform/files.ts";
import type { ProjectFiles } from "../../platform/project-files.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { newLabel, type Scope, type StoredActor, type StoredGroup } from "../../shared/model.ts";

/** A file inside a scope. The caller closes it. */
export interface ScopedFile {
  file: OpenFile;
  /** Base name. */
  name: string;
  /** Canonical path. */
  path: string;
  scope_key: string;
}

/** Where paths may lead: the scopes, and the one that relative paths start from, or null. */
export interface Reach {
  scopes: readonly Scope[];
  base: Scope | null;
}

/**
 * Relative paths start at the Actor's own project, as its process does, or at the Group's active
 * one (MSG-062).
 */
export function reachOf(
  { scopes, active_scope_key: activeScopeKey }: Pick<StoredGroup, "scopes" | "active_scope_key">,
  actor: Pick<StoredActor, "scope_key"> | null,
): Reach {
  const key = actor?.scope_key ?? activeScopeKey;
  return { scopes, base: scopes.find((scope) => scope.scope_key === key) ?? null };
}

/** Those in which an Actor of the Group works; none for a Group without Actors. */
export function scopesInUse({
  scopes,
  active_scope_key: activeScopeKey,
  actors,
}: Pick<StoredGroup, "scopes" | "active_scope_key" | "actors">): Scope[] {
  const keys = new Set(actors.map(({ scope_key: scopeKey }) => scopeKey ?? activeScopeKey));
  return scopes.filter(({ scope_key: scopeKey }) => keys.has(scopeKey));
}

const DEFAULT_PORTS: Record<string, string> = { ssh: "22", https: "443", http: "80", git: "9418" };

function joinRemote(host: string, port: string, path: string): string | null {
  const clean = path
    .replaceAll(/\/{2,}/g, "/")
    .replace(/^\//, "")
    .replace(/\/$/, "")
    .replace(/\.git$/, "")
    .replace(/\/$/, "");
  if (host === "" || clean === "") return null;
  return `${host.toLowerCase()}${port === "" ? "" : `:${port}`}/${clean}`;
}

/**
 * `host/path` of a Git remote: the same for ssh, scp-like, http and https addresses, without
 * credentials, default port, `.git`, closing slash and the host's case. `file:/path` for a
 * repository on this machine. Null for anything else.
 */
export function normaliseRemote(url: string): string | null {
  const trimmed = url.trim();
  const address = /^(?:git\+)?([a-z][a-z0-9+.-]*):\/\/(.*)$/i.exec(trimmed);
  if (address !== null) {
    const scheme = address[1]!.toLowerCase();
    const rest = address[2]!;
    if (scheme === "file") {
      const path = joinRemote("file", "", rest.replace(/^[^/]*/, ""));
      return path?.replace("file/", "file:/") ?? null;
    }
    // The host ends at the first slash, credentials at the last @ before it.
    const parts = /^(?:[^/]*@)?(\[[^\]/]*\]|[^:/@]*)(?::(\d*))?(\/.*)?$/.exec(rest.replace(/[?#].*$/, ""));
    if (parts === null) return null;
    const port = parts[2] ?? "";
    return joinRemote(parts[1] ?? "", port === DEFAULT_PORTS[scheme] ? "" : port, parts[3] ?? "");
  }
  if (trimmed.startsWith("/")) {
    return joinRemote("file", "", trimmed)?.replace("file/", "file:/") ?? null;
  }
  // scp-like; a single letter before the colon is a drive of Windows.
  const scp = /^(?:[^/@:]*@)?(\[[^\]/]*\]|[^:/@[\]]{2,}):(?!\/\/)(.+)$/.exec(trimmed);
  return scp === null ? null : joinRemote(scp[1]!, "", scp[2]!);
}

function isInside(root: string, path: string): boolean {
  const below = relative(root, path);
  return below === "" || (!isAbsolute(below) && below !== ".." && !below.startsWith(`..${sep}`));
}

const Label = newLabel(LIMITS.group.titleBytes);

/** The directory's name, unless it would look misleading as a title. */
function labelOf(root: string): string | null {
  const name = (basename(root) || root).trim();
  return [name, `Folder ${name}`].find((title) => name !== "" && Label.safeParse(title).success) ?? null;
}

/** The key of a scope that is known by its path (or, in the same way, by its remote). */
export function pathKey(path: string): string {
  return `s_${createHash("sha256").update(path).digest("hex").slice(0, 12)}`;
}

/**
 * The scope at a directory. Throws invalid_project_root unless `path` is absolute, exists and is
 * outside the Home.
 */
export function describeScope(projects: ProjectFiles, path: string): Scope {
  if (!isAbsolute(path)) {
    throw new Refusal("invalid_project_root", {
      specifics: "The path isn't absolute.",
      remedy: "Give the full path of a directory.",
    });
  }
  const root = projects.canonical(path);
  if (root === null || !projects.isDirectory(root)) throw new Refusal("invalid_project_root");
  const url = projects.gitOrigin(root);
  const gitRemote = url === null ? null : normaliseRemote(url);
  const scopeKey = pathKey(gitRemote ?? root);
  return { scope_key: scopeKey, path: root, label: labelOf(root) ?? scopeKey, git_remote: gitRemote };
}

function absolute({ scopes, base }: Reach, path: string): string {
  if (scopes.length === 0) throw new Refusal("scope_not_attached");
  if (path.includes("\u0000")) throw new Refusal("invalid_path");
  if (isAbsolute(path)) return path;
  if (base === null) throw new Refusal("scope_not_attached");
  return join(base.path, path);
}

function openCanonical(
  projects: ProjectFiles,
  scopes: readonly Scope[],
  path: string,
  mode: "read" | "create",
): ScopedFile {
  for (const scope of scopes) {
    // If a link has replaced a scope's directory since it was attached, it is no longer that scope.
    if (projects.canonical(scope.path) !== scope.path || !isInside(scope.path, path)) continue;
    const components = relative(scope.path, path)
      .split(sep)
      .filter((name) => name !== "");
    try {
      const file = projects.openBelow(scope.path, components, mode);
      return { file, name: basename(path), path, scope_key: scope.scope_key };
    } catch (error) {
      if (errorCode(error) === "EEXIST") {
        throw new Refusal("already_exists", {
          specifics: "A file with that name already exists.",
          remedy: "Choose another name. Existing files aren't overwritten.",
          details: { path },
        });
      }
      throw exhaustedRefusal(error) ?? new Refusal("invalid_path", { cause: error });
    }
  }
  throw new Refusal("invalid_path");
}

/**
 * Opens a regular file inside one of `scopes` by its canonical path. Links may lead around inside
 * but never out, even if one is swapped at that moment (MSG-062, MSG-063). Throws invalid_path or
 * scope_not_attached.
 */
export function openInScope(projects: ProjectFiles, reach: Reach, path: string): ScopedFile {
  const canonical = projects.canonical(absolute(reach, path));
  if (canonical === null) throw new Refusal("invalid_path", { specifics: "There is no such file." });
  return openCanonical(projects, reach.scopes, canonical, "read");
}

/** The same for a new file with mode 0600 in an existing directory. Throws already_exists, too. */
export function createInScope(projects: ProjectFiles, reach: Reach, path: string): ScopedFile {
  const wanted = absolute(reach, path);
  const directory = projects.canonical(dirname(wanted));
  if (directory === null) throw new Refusal("invalid_path", { specifics: "There is no such directory." });
  return openCanonical(projects, reach.scopes, join(directory, basename(wanted)), "create");
}
