/**
 * Which repository a folder is checked out from. Git isn't run: it may be missing, and it obeys
 * GIT_DIR and a foreign repository's configuration. What the files say is taken only where both
 * ends agree, because anybody can put a `.git` into a folder that others unpack.
 */
import * as fs from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { ownWorkTree } from "./git-config.ts";

/** A work tree, and the folder that all work trees of its repository share. Both without links. */
export interface Checkout {
  root: string;
  common: string;
}

/** Larger files are no `.git`, and no configuration that we read. */
const GIT_FILE_BYTES = 1024 * 1024;

/** A small regular file as text; null for anything else. */
export function readSmall(path: string): string | null {
  try {
    const status = fs.statSync(path);
    return status.isFile() && status.size <= GIT_FILE_BYTES ? fs.readFileSync(path, "utf8") : null;
  } catch {
    return null;
  }
}

/** Where a `.git` file leads, as it is written; null for anything else. */
export function gitFileTarget(path: string): string | null {
  const target = /^gitdir: ([^\n]+)/u.exec(readSmall(path) ?? "")?.[1]?.trim() ?? "";
  return target === "" ? null : target;
}

/** The work trees around a canonical folder, the innermost first. */
export function checkoutsAround(folder: string): Checkout[] {
  const found: Checkout[] = [];
  for (let root = folder; ; root = dirname(root)) {
    const common = commonFolder(root);
    if (common !== null) found.push({ root, common });
    if (root === dirname(root)) return found;
  }
}

/**
 * Where the scope's folder is in the work tree that contains `folder`, if that is one of the same
 * repository: as close as `nearness` says (a length). -1 if it has nothing to do with `folder`.
 */
export function nearnessOf(scope: string, folder: string, checkouts: readonly Checkout[]): number {
  let nearest = isInside(scope, folder) ? scope.length : -1;
  if (checkouts.length === 0) return nearest;
  const others = checkoutsAround(scope);
  for (const { root, common } of checkouts) {
    for (const other of others) {
      if (other.common !== common || other.root === root) continue;
      const place = join(root, relative(other.root, scope));
      if (isInside(place, folder)) nearest = Math.max(nearest, place.length);
    }
    // The main work tree is in the scope, though it isn't the scope: this one goes with it, after
    // any that is attached by itself.
    const main = basename(common) === ".git" ? dirname(common) : null;
    if (main !== null && main !== root && main !== scope && isInside(scope, main))
      nearest = Math.max(nearest, root.length - 1 / (1 + scope.length));
  }
  return nearest;
}

/** Whether the two folders are the same place in two work trees of one repository. */
export function isSamePlace(one: string, other: string): boolean {
  const [first] = checkoutsAround(one);
  const [second] = checkoutsAround(other);
  if (first === undefined || second === undefined || first.common !== second.common) return false;
  return relative(first.root, one) === relative(second.root, other);
}

/** Of the work tree at `root`; null if there is none, or if its repository doesn't know it. */
function commonFolder(root: string): string | null {
  const dotGit = join(root, ".git");
  try {
    const status = fs.lstatSync(dotGit, { throwIfNoEntry: false });
    if (status?.isDirectory() === true) {
      return fs.existsSync(join(dotGit, "commondir")) ? null : fs.realpathSync.native(dotGit);
    }
    if (status?.isFile() !== true) return null;
    const target = gitFileTarget(dotGit);
    return target === null ? null : linked(root, fs.realpathSync.native(resolve(root, target)));
  } catch {
    return null;
  }
}

/** `own` is the folder that the `.git` file at `root` names. */
function linked(root: string, own: string): string | null {
  const shared = readSmall(join(own, "commondir"))?.trim();
  if (shared === undefined) {
    // A submodule, or a repository that is kept elsewhere.
    const config = readSmall(join(own, "config"));
    const tree = config === null ? null : ownWorkTree(config);
    return tree !== null && fs.realpathSync.native(resolve(own, tree)) === root ? own : null;
  }
  const common = fs.realpathSync.native(resolve(own, shared));
  if (dirname(own) !== join(common, "worktrees")) return null;
  const back = readSmall(join(own, "gitdir"))?.trim() ?? "";
  const named = resolve(own, back);
  return basename(named) === ".git" && fs.realpathSync.native(dirname(named)) === root ? common : null;
}

function isInside(root: string, path: string): boolean {
  const below = relative(root, path);
  return below === "" || (!isAbsolute(below) && below !== ".." && !below.startsWith(`..${sep}`));
}
