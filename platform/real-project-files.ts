/** Project directories on the disk. */
import * as fs from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";
import type { OpenFile } from "./files.ts";
import { gitFileTarget, isSamePlace, readSmall } from "./git-checkout.ts";
import { originUrl } from "./git-config.ts";
import type { ProjectFiles } from "./project-files.ts";
import { RealFile } from "./real-files.ts";

const NOFOLLOW = fs.constants.O_NOFOLLOW ?? 0;
const DIRECTORY = fs.constants.O_DIRECTORY ?? 0;
const NONBLOCK = fs.constants.O_NONBLOCK ?? 0;
/** macOS: no component of the path may be a link. */
const NOFOLLOW_ANY_DARWIN = 0x2000_0000;
const FLAGS = {
  read: fs.constants.O_RDONLY | NOFOLLOW | NONBLOCK,
  create: fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_EXCL | NOFOLLOW,
};
/**
 * The directory with the configuration that `.git` in `directory` leads to. Worktrees and
 * submodules point elsewhere.
 */
function gitDirectory(directory: string): string | null {
  const dotGit = join(directory, ".git");
  if (isDirectory(dotGit)) return dotGit;
  const target = gitFileTarget(dotGit);
  if (target === null) return null;
  const own = isAbsolute(target) ? target : resolve(directory, target);
  const common = readSmall(join(own, "commondir"))?.trim();
  return common === undefined || common === "" ? own : resolve(own, common);
}

function isDirectory(path: string): boolean {
  try {
    return fs.statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Throws if the file at `path` must not even be opened. */
type Check = (path: string) => void;

/** Linux: each step opens below the directory opened before, which can no longer be swapped. */
function openStepwise(root: string, components: readonly string[], flags: number, check: Check): number {
  let directory = fs.openSync(root, fs.constants.O_RDONLY | DIRECTORY | NOFOLLOW);
  try {
    for (const name of components.slice(0, -1)) {
      const next = fs.openSync(
        `/proc/self/fd/${directory}/${name}`,
        fs.constants.O_RDONLY | DIRECTORY | NOFOLLOW,
      );
      fs.closeSync(directory);
      directory = next;
    }
    const path = `/proc/self/fd/${directory}/${components.at(-1)}`;
    check(path);
    return fs.openSync(path, flags, 0o600);
  } finally {
    fs.closeSync(directory);
  }
}

/**
 * Elsewhere: open it, then check again that the path still leads, without links, to the open file.
 */
function openAndCompare(root: string, components: readonly string[], flags: number, check: Check): number {
  const path = join(root, ...components);
  check(path);
  const descriptor = fs.openSync(path, flags, 0o600);
  const opened = fs.fstatSync(descriptor, { bigint: true });
  const now = fs.lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (fs.realpathSync(path) === path && now?.ino === opened.ino && now.dev === opened.dev) return descriptor;
  fs.closeSync(descriptor);
  throw Object.assign(new Error("The path contains a link."), { code: "ELOOP" });
}

function realPath(path: string): string | null {
  try {
    return fs.realpathSync.native(path);
  } catch {
    return null;
  }
}

export class RealProjectFiles implements ProjectFiles {
  readonly #home: string;

  /** Nothing in `home` is a project's file. */
  constructor(home: string) {
    this.#home = realPath(home) ?? home;
  }

  canonical(path: string): string | null {
    const real = realPath(path);
    return real === this.#home || real?.startsWith(`${this.#home}${sep}`) === true ? null : real;
  }

  isDirectory(path: string): boolean {
    return isDirectory(path);
  }

  ownFolder(): string {
    return homedir();
  }

  async folders(directory: string, examined: number): Promise<{ names: string[]; more: boolean }> {
    const names: string[] = [];
    let count = 0;
    for await (const entry of await fs.promises.opendir(directory, { bufferSize: 256 })) {
      count += 1;
      if (count > examined) return { names, more: true };
      if (entry.isDirectory() && join(directory, entry.name) !== this.#home) names.push(entry.name);
    }
    return { names, more: false };
  }

  gitOrigin(directory: string): string | null {
    for (let at = directory; ; at = dirname(at)) {
      const git = gitDirectory(at);
      if (git !== null) {
        const config = readSmall(join(git, "config"));
        return config === null ? null : originUrl(config);
      }
      if (at === dirname(at)) return null;
    }
  }

  isSamePlace(one: string, other: string): boolean {
    return isSamePlace(one, other);
  }

  openBelow(root: string, components: readonly string[], mode: "read" | "create"): OpenFile {
    if (components.length === 0 || components.some((name) => /^\.{0,2}$|\//.test(name))) {
      throw Object.assign(new Error("The path isn't canonical."), { code: "EINVAL" });
    }
    const flags = FLAGS[mode];
    const check = (path: string): void => this.#checkNotLock(path);
    const descriptor =
      process.platform === "linux"
        ? openStepwise(root, components, flags, check)
        : openAndCompare(
            root,
            components,
            process.platform === "darwin" ? (flags & ~NOFOLLOW) | NOFOLLOW_ANY_DARWIN : flags,
            check,
          );
    if (fs.fstatSync(descriptor).isFile()) {
      if (mode === "create") fs.fchmodSync(descriptor, 0o600);
      return new RealFile(descriptor);
    }
    fs.closeSync(descriptor);
    throw Object.assign(new Error("It isn't a regular file."), { code: "EINVAL" });
  }

  /** The Home's lock under another name. Closing it would drop this process's lock (POSIX). */
  #checkNotLock(path: string): void {
    const found = fs.lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined || found.nlink < 2) return;
    const lock = fs.lstatSync(join(this.#home, "daemon", "lock"), { throwIfNoEntry: false });
    if (lock?.ino !== found.ino || lock.dev !== found.dev) return;
    throw Object.assign(new Error("It is the Home's lock."), { code: "EACCES" });
  }
}
