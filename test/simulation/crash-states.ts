/**
 * Files and directories with what isn't surely on disk of each, and the trees that a crash could
 * leave of them.
 */
const SECTOR_BYTES = 512;

/**
 * A directory tree as a plain value: what a crash leaves, and what a new simulation starts from.
 */
export interface Tree {
  directories: string[];
  files: Map<string, Uint8Array>;
}

/** A change that isn't surely on disk. */
interface Change {
  /** Order of all changes in the simulation. */
  sequence: number;
  /** A failed sync covered it: it may be on disk or not, and no later sync says more. */
  doubtful: boolean;
}

export interface DataChange extends Change {
  data: Uint8Array;
  position: number;
  /** A truncation when not null; `data` is empty then. */
  length: number | null;
}

export interface FileNode {
  kind: "file";
  inode: number;
  bytes: Uint8Array;
  base: Uint8Array;
  changes: DataChange[];
  modifiedMs: number;
}

interface NameChange extends Change {
  removed: string | null;
  added: { name: string; node: Node } | null;
}

export interface DirectoryNode {
  kind: "directory";
  inode: number;
  entries: Map<string, Node>;
  base: Map<string, Node>;
  changes: NameChange[];
}

export type Node = FileNode | DirectoryNode;

/**
 * What a crash now could leave: nothing that is in doubt, all of it, each beginning of it, each
 * change alone or missing, names without data and data without names, and writes torn at sectors,
 * in both orders, or kept in length alone.
 */
export function crashStates(root: DirectoryNode): Tree[] {
  const pending = pendingOf(root);
  const states = [treeOf(root, () => false), treeOf(root, () => true)];
  states.push(
    treeOf(root, isName),
    treeOf(root, (change) => !isName(change)),
  );
  for (const [at, chosen] of pending.entries()) {
    const before = new Set<Change>(pending.slice(0, at));
    states.push(treeOf(root, (change) => before.has(change)));
    states.push(treeOf(root, (change) => change === chosen));
    states.push(treeOf(root, (change) => change !== chosen));
    if (isName(chosen)) continue;
    for (const torn of tornVersions(chosen as DataChange)) {
      states.push(treeOf(root, () => true, { chosen, torn }));
      states.push(treeOf(root, (change) => change === chosen || before.has(change), { chosen, torn }));
    }
  }
  return states;
}

/**
 * What a crash now leaves when `keeps` is asked once for each change that is in doubt, in the order
 * they were made.
 */
export function crashState(root: DirectoryNode, keeps: (kind: "name" | "data") => boolean): Tree {
  const pending = pendingOf(root);
  const kept = new Set(pending.filter((change) => keeps(isName(change) ? "name" : "data")));
  return treeOf(root, (change) => kept.has(change));
}

/** Nothing that is in doubt, all of it, names without data, data without names. */
export function cornerStates(root: DirectoryNode): Tree[] {
  const choices = [() => false, () => true, isName, (change: Change) => !isName(change)];
  return choices.map((choice) => treeOf(root, choice));
}

/** What is in doubt, in the order it was made. */
function pendingOf(root: DirectoryNode): Change[] {
  return [...changesOf(root)].filter(({ sequence }) => sequence > 0).sort((a, b) => a.sequence - b.sequence);
}

function* changesOf(node: Node, seen = new Set<Node>()): Generator<Change> {
  if (seen.has(node)) return;
  seen.add(node);
  yield* node.changes;
  if (node.kind === "file") return;
  const below = [
    ...node.entries.values(),
    ...node.base.values(),
    ...node.changes.flatMap(({ added }) => (added === null ? [] : [added.node])),
  ];
  for (const child of below) yield* changesOf(child, seen);
}

/**
 * What is left when of the changes in doubt those are on disk that `keeps` names, one of them torn.
 */
export function treeOf(
  root: DirectoryNode,
  keeps: (change: Change) => boolean,
  replaced?: { chosen: Change; torn: DataChange[] },
): Tree {
  const tree: Tree = { directories: [], files: new Map() };
  const kept = (change: Change): boolean => change.sequence === 0 || keeps(change);
  const visit = (node: Node, path: string): void => {
    if (node.kind === "file") {
      let bytes = node.base;
      for (const change of node.changes.filter(kept)) {
        for (const part of change === replaced?.chosen ? replaced.torn : [change])
          bytes = changed(bytes, part);
      }
      tree.files.set(path, bytes);
      return;
    }
    if (path !== "") tree.directories.push(path);
    const entries = new Map(node.base);
    for (const change of node.changes.filter(kept)) applyName(entries, change);
    for (const [name, child] of entries) visit(child, `${path}/${name}`);
  };
  visit(root, "");
  return tree;
}

/** The file's bytes with a change made to them. */
export function changed(
  bytes: Uint8Array,
  change: Pick<DataChange, "data" | "position" | "length">,
): Uint8Array {
  const length = change.length ?? Math.max(bytes.length, change.position + change.data.length);
  const isCut = length <= bytes.length;
  const result = isCut ? new Uint8Array(bytes.subarray(0, length)) : new Uint8Array(length);
  if (!isCut) result.set(bytes);
  if (change.length === null) result.set(change.data, change.position);
  return result;
}

function isName(change: Change): boolean {
  return !("data" in change);
}

export function applyName(entries: Map<string, Node>, change: NameChange): void {
  if (change.removed !== null) entries.delete(change.removed);
  if (change.added !== null) entries.set(change.added.name, change.added.node);
}

/** Which sectors of a write may have arrived without the others. */
function tornVersions(change: DataChange): DataChange[][] {
  if (change.length !== null) return [];
  const sectors: DataChange[] = [];
  let at = 0;
  while (at < change.data.length) {
    const position = change.position + at;
    const next = Math.min(change.data.length, at + SECTOR_BYTES - (position % SECTOR_BYTES));
    sectors.push({ ...change, data: change.data.subarray(at, next), position });
    at = next;
  }
  const end = change.position + change.data.length;
  const lengthOnly: DataChange = { ...change, data: new Uint8Array(0), position: end };
  if (sectors.length === 1) return [[lengthOnly]];
  const half = sectors.length >>> 1;
  return [
    [lengthOnly],
    sectors.slice(0, half),
    sectors.slice(half),
    sectors.filter((_, index) => index % 2 === 0),
    sectors.filter((_, index) => index % 2 === 1),
  ];
}
