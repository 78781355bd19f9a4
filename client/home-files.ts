/**
 * The files of a Home that hold what nothing else has (docs/core-model.md#home). One that is gone
 * isn't taken for one that never was.
 */
import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs";
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

const DOCUMENT_BYTES = 64 * 1024;
const BEGINNING_BYTES = 16;

/**
 * The needed files that are gone, empty or zeroed. None if the Home has no readable
 * document of them: then the daemon says what is wrong.
 */
export function lostFiles(paths: HomePaths): NeededFile[] {
  let names: unknown;
  try {
    if (statSync(paths.files).size > DOCUMENT_BYTES) return [];
    ({ files: names } = JSON.parse(readFileSync(paths.files, "utf8")) as { files?: unknown });
  } catch {
    return [];
  }
  if (!Array.isArray(names)) return [];
  const had = new Set<unknown>(names);
  return neededFiles(paths).filter(({ path, kind }) => {
    if (!had.has(nameInHome(paths, path))) return false;
    const status = statSync(path, { throwIfNoEntry: false });
    if (status === undefined) return true;
    return kind === "directory" ? !status.isDirectory() : !status.isFile() || isBlank(path);
  });
}

/** Whether it begins with nothing but zeros, as a file may after a power failure. */
function isBlank(path: string): boolean {
  const start = Buffer.alloc(BEGINNING_BYTES);
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    readSync(file, start, 0, BEGINNING_BYTES, 0);
    return start.every((byte) => byte === 0);
  } catch {
    return false;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
