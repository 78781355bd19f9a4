/**
 * A file system in memory that knows what of it would outlive a power cut. Every change is an
 * operation that stays in doubt until the file's `sync` or the directory's `syncDir`; `crashStates`
 * lists what a crash at this moment could leave.
 */
import type { FileStatus, Files, OpenFile, OpenMode, SyncDone } from "../../platform/files.ts";
import {
  applyName,
  changed,
  cornerStates,
  crashState,
  crashStates,
  type DataChange,
  type DirectoryNode,
  type FileNode,
  type Node,
  type Tree,
  treeOf,
} from "./crash-states.ts";

/** A call on `Files` or `OpenFile`, as fault injection and crash enumeration see it. */
export interface Call {
  name:
    | "open"
    | "create"
    | "rename"
    | "link"
    | "unlink"
    | "list"
    | "stat"
    | "mkdir"
    | "rmdir"
    | "syncDir"
    | "size"
    | "read"
    | "write"
    | "truncate"
    | "sync"
    | "close";
  path: string;
}

const CHANGING = new Set<Call["name"]>([
  "create",
  "rename",
  "link",
  "unlink",
  "mkdir",
  "rmdir",
  "syncDir",
  "write",
  "truncate",
  "sync",
]);

/** Without a stack: most are expected, and there are many. */
function failure(code: string, call: Call): NodeJS.ErrnoException {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return error(code, call);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function error(code: string, call: Call): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: simulated, ${call.name} '${call.path}'`), { code });
}

export class SimulatedFiles implements Files {
  readonly #root: DirectoryNode = {
    kind: "directory",
    inode: 1,
    entries: new Map(),
    base: new Map(),
    changes: [],
  };
  #inodes = 1;
  #sequence = 0;
  #time = 0;
  /** Calls made so far. */
  calls = 0;
  /** Called before every call that changes anything: the moment to look at `crashStates`. */
  beforeChange: ((call: Call) => void) | null = null;
  /**
   * The error code that this call fails with, null for none. A failing write leaves its first half.
   */
  fault: ((call: Call, index: number) => string | null) | null = null;
  /** When a sync is done: a turn later unless somebody else says when. */
  later: (task: () => void) => void = (task) => void setImmediate(task);

  constructor(tree: Tree = { directories: [], files: new Map() }) {
    for (const path of [...tree.directories].sort()) {
      const node: DirectoryNode = {
        kind: "directory",
        inode: this.#inode(),
        entries: new Map(),
        base: new Map(),
        changes: [],
      };
      this.#settled(path, node);
    }
    for (const [path, bytes] of tree.files) {
      this.#settled(path, {
        kind: "file",
        inode: this.#inode(),
        bytes,
        base: bytes,
        changes: [],
        modifiedMs: 0,
      });
    }
  }

  #inode(): number {
    this.#inodes += 1;
    return this.#inodes;
  }

  #settled(path: string, node: Node): void {
    const { parent, name } = this.#parent(path);
    parent.entries.set(name, node);
    parent.base.set(name, node);
  }

  #enter(name: Call["name"], path: string): Call {
    const call: Call = { name, path };
    if (CHANGING.has(name)) this.beforeChange?.(call);
    this.calls += 1;
    return call;
  }

  #faultOf(call: Call): Error | null {
    const code = this.fault?.(call, this.calls - 1) ?? null;
    return code === null ? null : failure(code, call);
  }

  #begin(name: Call["name"], path: string): Call {
    const call = this.#enter(name, path);
    const error = this.#faultOf(call);
    if (error !== null) throw error;
    return call;
  }

  #node(path: string): Node | null {
    let node: Node = this.#root;
    for (let begin = 0; begin <= path.length; ) {
      const slash = path.indexOf("/", begin);
      const end = slash === -1 ? path.length : slash;
      const name = path.slice(begin, end);
      begin = end + 1;
      if (name === "" || name === ".") continue;
      if (node.kind !== "directory") return null;
      const next = node.entries.get(name);
      if (next === undefined) return null;
      node = next;
    }
    return node;
  }

  #parent(path: string): { parent: DirectoryNode; name: string } {
    const cut = path.lastIndexOf("/");
    const parent = this.#node(path.slice(0, Math.max(cut, 0)));
    if (parent?.kind !== "directory") throw failure("ENOENT", { name: "open", path });
    return { parent, name: path.slice(cut + 1) };
  }

  #rename(parent: DirectoryNode, removed: string | null, added: { name: string; node: Node } | null): void {
    if (removed !== null) parent.entries.delete(removed);
    if (added !== null) parent.entries.set(added.name, added.node);
    this.#sequence += 1;
    parent.changes.push({ sequence: this.#sequence, doubtful: false, removed, added });
  }

  open(path: string, mode: OpenMode): OpenFile {
    const call = this.#begin(mode === "create" ? "create" : "open", path);
    let node = this.#node(path);
    if (mode === "create") {
      if (node !== null) throw failure("EEXIST", call);
      const { parent, name } = this.#parent(path);
      const bytes = new Uint8Array(0);
      node = { kind: "file", inode: this.#inode(), bytes, base: bytes, changes: [], modifiedMs: this.#time };
      this.#rename(parent, null, { name, node });
    }
    if (node === null) throw failure("ENOENT", call);
    if (node.kind !== "file") throw failure("EISDIR", call);
    return this.#opened(path, node, mode);
  }

  #opened(path: string, node: FileNode, mode: OpenMode): OpenFile {
    let isOpen = true;
    const begin = (name: Call["name"]): Call => {
      const call = this.#enter(name, path);
      if (!isOpen) throw failure("EBADF", call);
      return call;
    };
    const change = (made: Pick<DataChange, "data" | "position" | "length">): void => {
      node.bytes = changed(node.bytes, made);
      this.#sequence += 1;
      this.#time += 1;
      node.modifiedMs = this.#time;
      node.changes.push({ ...made, sequence: this.#sequence, doubtful: false });
    };
    const stop = (call: Call): void => {
      const error = this.#faultOf(call);
      if (error !== null) throw error;
    };
    return {
      size: () => {
        stop(begin("size"));
        return node.bytes.length;
      },
      read: (buffer, position) => {
        stop(begin("read"));
        const part = node.bytes.subarray(position, position + buffer.length);
        buffer.set(part);
        return part.length;
      },
      write: (data, position) => {
        const call = begin("write");
        if (mode === "read") throw failure("EBADF", call);
        const error = this.#faultOf(call);
        const written = error === null ? data.length : data.length >>> 1;
        if (written > 0) change({ data: new Uint8Array(data.subarray(0, written)), position, length: null });
        if (error !== null) throw error;
      },
      truncate: (length) => {
        stop(begin("truncate"));
        change({ data: new Uint8Array(0), position: 0, length });
      },
      sync: (done) => this.#sync(node, begin("sync"), done),
      close: () => {
        if (!isOpen) return;
        isOpen = false;
        this.calls += 1;
      },
    };
  }

  /** Takes effect a turn later, and covers what was written before the call. */
  #sync(node: FileNode, call: Call, done: SyncDone): void {
    const error = this.#faultOf(call);
    const covered = this.#sequence;
    this.later(() => {
      if (error !== null) {
        for (const change of node.changes) if (change.sequence <= covered) change.doubtful = true;
      } else {
        this.#settleFile(node, covered);
      }
      done(error);
    });
  }

  #settleFile(node: FileNode, covered: number): void {
    const isSettled = (change: DataChange): boolean => change.sequence <= covered && !change.doubtful;
    if (node.changes.every(isSettled)) {
      node.base = node.bytes;
      node.changes = [];
      return;
    }
    // A doubtful change below keeps everything after it in the list; a settled one among them is
    // marked as such.
    while (node.changes[0] !== undefined && isSettled(node.changes[0]))
      node.base = changed(node.base, node.changes.shift()!);
    for (const change of node.changes) if (isSettled(change)) change.sequence = 0;
  }

  rename(from: string, to: string): void {
    const call = this.#begin("rename", from);
    const node = this.#node(from);
    if (node === null) throw failure("ENOENT", call);
    const source = this.#parent(from);
    const target = this.#parent(to);
    if (source.parent === target.parent) {
      this.#rename(source.parent, source.name, { name: target.name, node });
      return;
    }
    this.#rename(target.parent, null, { name: target.name, node });
    this.#rename(source.parent, source.name, null);
  }

  link(from: string, to: string): void {
    const call = this.#begin("link", to);
    const node = this.#node(from);
    if (node === null) throw failure("ENOENT", call);
    if (this.#node(to) !== null) throw failure("EEXIST", call);
    const { parent, name } = this.#parent(to);
    this.#rename(parent, null, { name, node });
  }

  unlink(path: string): void {
    const call = this.#begin("unlink", path);
    if (this.#node(path)?.kind !== "file") throw failure("ENOENT", call);
    const { parent, name } = this.#parent(path);
    this.#rename(parent, name, null);
  }

  list(path: string): string[] {
    const call = this.#begin("list", path);
    const node = this.#node(path);
    if (node?.kind !== "directory") throw failure("ENOENT", call);
    return [...node.entries.keys()];
  }

  stat(path: string): FileStatus | null {
    this.#begin("stat", path);
    const node = this.#node(path);
    if (node === null) return null;
    const uid = process.getuid?.() ?? 0;
    if (node.kind === "directory")
      return {
        kind: "directory",
        bytes: 0,
        mode: 0o700,
        uid,
        device: 1,
        inode: node.inode,
        modifiedMs: 0,
        changedMs: 0,
      };
    return {
      kind: "file",
      bytes: node.bytes.length,
      mode: 0o600,
      uid,
      device: 1,
      inode: node.inode,
      modifiedMs: node.modifiedMs,
      changedMs: node.modifiedMs,
    };
  }

  mkdir(path: string): void {
    const call = this.#begin("mkdir", path);
    if (this.#node(path) !== null) throw failure("EEXIST", call);
    const { parent, name } = this.#parent(path);
    const node: DirectoryNode = {
      kind: "directory",
      inode: this.#inode(),
      entries: new Map(),
      base: new Map(),
      changes: [],
    };
    this.#rename(parent, null, { name, node });
  }

  rmdir(path: string): void {
    const call = this.#begin("rmdir", path);
    const node = this.#node(path);
    if (node?.kind !== "directory") throw failure("ENOENT", call);
    if (node.entries.size > 0) throw failure("ENOTEMPTY", call);
    const { parent, name } = this.#parent(path);
    this.#rename(parent, name, null);
  }

  syncDir(path: string, done: SyncDone): void {
    const call = this.#enter("syncDir", path);
    const error = this.#faultOf(call);
    const node = this.#node(path);
    const covered = this.#sequence;
    this.later(() => {
      if (node?.kind !== "directory") return done(failure("ENOENT", call));
      if (error === null) {
        while (node.changes[0] !== undefined && node.changes[0].sequence <= covered)
          applyName(node.base, node.changes.shift()!);
      }
      done(error);
    });
  }

  /** The tree as a running program sees it. */
  tree(): Tree {
    return treeOf(this.#root, () => true);
  }

  /** Every tree that a crash now could leave. */
  crashStates(): Tree[] {
    return crashStates(this.#root);
  }

  /**
   * What a crash now leaves when `keeps` is asked once for each change that is in doubt, in the
   * order they were made.
   */
  crashState(keeps: (kind: "name" | "data") => boolean): Tree {
    return crashState(this.#root, keeps);
  }

  /** Nothing that is in doubt, all of it, names without data, data without names. */
  cornerStates(): Tree[] {
    return cornerStates(this.#root);
  }
}
