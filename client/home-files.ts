/**
 * The files of a Home that hold what nothing else has (docs/core-model.md#home). One that is gone
 * isn't taken for one that never was.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync } from "node:fs";
import { relative, sep } from "node:path";
import { commandLine } from "./failures.ts";
import type { HomePaths } from "./paths.ts";

export interface NeededFile {
  path: string;
  kind: "file" | "directory";
  /** What is lost with it, in a sentence. */
  lost: string;
}

/** Those without which the daemon doesn't start come first, then those of which a part waits. */
export function neededFiles(paths: HomePaths): readonly NeededFile[] {
  const file = (path: string, lost: string): NeededFile => ({ path, kind: "file", lost });
  return [
    file(
      paths.identity,
      "Without its key this instance becomes another one: its Direct connections and its link to an account end.",
    ),
    file(paths.settings, "It has the access tokens and the settings of this instance."),
    {
      path: paths.connect.outbox,
      kind: "directory",
      lost: "It has the messages that wait for other instances.",
    },
    file(paths.directConnections, "It has the Direct connections and the settings of their listener."),
    file(paths.membership, "It has the link to an account."),
    file(paths.pushKey, "It has the key that push services know this instance by."),
    file(paths.push, "It has the browsers that are notified."),
  ];
}

/** The name of a needed file: its path below the Home, with slashes. */
export function nameInHome(paths: HomePaths, path: string): string {
  return relative(paths.root, path).split(sep).join("/");
}

/** How a person goes on without the file of this name, in words. */
export function wayOn({ root }: HomePaths, name: string): string {
  return `To go on without what was in it: ${commandLine(root, "home", "forget", name, "--confirm", name)}`;
}

/** A larger one isn't read to the end, and counts as damaged. */
const FILE_BYTES = 32 * 1024 * 1024;
const BEGINNING_BYTES = 16;
const IDENTITY_MEMBERS = ["private_key", "public_key", "peer_id"];
/** Links aren't followed, and a FIFO in a file's place can't block the process. */
const OPEN = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

export interface LostFile extends NeededFile {
  /** `gone` also if it is empty or zeroed, or something else is in its place. */
  how: "gone" | "damaged";
}

/**
 * The needed files that are gone or obviously damaged. If the Home has no readable document of
 * them, the daemon says what is wrong with that, and only damaged ones are found.
 */
export function lostFiles(paths: HomePaths): LostFile[] {
  const had = new Set(namesIn(paths.files));
  return neededFiles(paths).flatMap((needed): LostFile[] => {
    const { path, kind } = needed;
    const found = kindAt(path);
    // Then the daemon's folder or the Home itself is closed, which is said elsewhere.
    if (found === null) return [];
    if (found !== kind || (kind === "file" && isBlank(path))) {
      return had.has(nameInHome(paths, path)) ? [{ ...needed, how: "gone" }] : [];
    }
    return kind === "file" && isDamaged(path) ? [{ ...needed, how: "damaged" }] : [];
  });
}

/** What is at a path; null if that can't be found out. */
function kindAt(path: string): NeededFile["kind"] | "none" | "other" | null {
  try {
    const status = lstatSync(path);
    if (status.isFile()) return "file";
    return status.isDirectory() ? "directory" : "other";
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    // Something else may be in the place of a folder above it.
    return ["ENOENT", "ENOTDIR"].includes(code) ? "none" : null;
  }
}

function namesIn(path: string): readonly unknown[] {
  try {
    const { files } = JSON.parse(beginningOf(path, FILE_BYTES).toString("utf8")) as { files?: unknown };
    return Array.isArray(files) ? files : [];
  } catch {
    return [];
  }
}

/** Whether it is no JSON object with members, or no identity. What can't be opened isn't known. */
function isDamaged(path: string): boolean {
  let text: string;
  try {
    text = beginningOf(path, FILE_BYTES).toString("utf8");
  } catch {
    return false;
  }
  if (path.endsWith(".yaml")) return IDENTITY_MEMBERS.some((name) => !text.match(`${name}: .+\n`));
  try {
    const value: unknown = JSON.parse(text);
    return (
      typeof value !== "object" || value === null || Array.isArray(value) || Object.keys(value).length === 0
    );
  } catch {
    return true;
  }
}

/** Whether it begins with nothing but zeros, as a file may after a power failure. */
function isBlank(path: string): boolean {
  try {
    return beginningOf(path, BEGINNING_BYTES).every((byte) => byte === 0);
  } catch {
    return false;
  }
}

/** At most the first `bytes` of a file. Throws Node's errors. */
function beginningOf(path: string, bytes: number): Buffer {
  const file = openSync(path, OPEN);
  try {
    const start = Buffer.alloc(Math.min(bytes, fstatSync(file).size));
    return start.subarray(0, readSync(file, start, 0, start.length, 0));
  } finally {
    closeSync(file);
  }
}
