/**
 * Whose process calls (docs/security.md#who-is-at-the-socket): whatever an Actor started, in its
 * session, at its terminal or with its environment, is that Actor. Nothing here holds against a
 * program that wants to hide: it is against mistakes.
 */
import type { ProcessEntry, ProcessTable } from "../../platform/process-table.ts";
import { ENVIRONMENT } from "../../shared/names.ts";
import type { Known } from "../../shared/operations/caller.ts";

/** A process that is an Actor's. */
export interface ActorRoot {
  group_id: string;
  actor_id: string;
  generation: string;
  /** Digest of the launch token that it runs with; absent for one that others started. */
  launch?: string;
  pid: number;
  /** Null where the system doesn't say. */
  birth: string | null;
  /** Its terminal; empty for none. */
  terminal: string;
  /** In the environment of what it starts; empty for none. */
  mark: string;
}

/** A caller's process and those that it comes from, when it connected. */
export interface Ancestry {
  /** The caller first. */
  entries: readonly ProcessEntry[];
  /** Launches of this Home whose environment one of them had. */
  marks: ReadonlySet<string>;
  /** Token files that an environment of them named. */
  actorFiles: ReadonlySet<string>;
  isEditor: boolean;
}

export type Standing =
  | { kind: "actor"; root: Omit<ActorRoot, "pid" | "birth" | "terminal" | "mark"> }
  /** Left over from an Actor's process that has ended. */
  | { kind: "former" }
  | { kind: "person"; known: Known }
  | { kind: "unknown" };

export interface LineageDependencies {
  table: ProcessTable;
  /** Whether a process's environment is of this Home. */
  isOfHome(environment: Readonly<Record<string, string>>): boolean;
  /** The launched Actors whose processes live. */
  launched(): readonly ActorRoot[];
  /** The Actor whose token file this is; null for none. */
  ofFile(path: string): Standing | null;
  /** The Actor still exists in this generation. */
  isCurrent(root: Pick<ActorRoot, "group_id" | "actor_id" | "generation">): boolean;
  /** Of the daemon itself. */
  pid: number;
}

/** Where a desktop's or a server's VS Code runs its extensions. */
const EDITOR = ["VSCODE_ESM_ENTRYPOINT", "VSCODE_AMD_ENTRYPOINT"] as const;
const EXTENSION_HOST = /extensionHostProcess$/;
const NAMES = [...Object.values(ENVIRONMENT), "HOME", ...EDITOR];
/** They take in what others left behind, or start what nobody sits at. */
const INITS =
  /^(?:systemd|init|launchd|tini|dumb-init|docker-init|catatonit|s6-.*|runsv.*|openrc.*|cron|crond|atd|anacron)$/;
const SHELLS = /^-?(?:sh|bash|dash|ash|zsh|fish|ksh|tcsh|csh|nu|pwsh|busybox|login|su|sudo)$/;
/** Agents that others started and that connected: the oldest is forgotten. */
const CONNECTED = 256;

export class Lineage {
  readonly #deps: LineageDependencies;
  readonly #connected = new Map<string, ActorRoot>();
  #starters: readonly ProcessEntry[] = [];

  constructor(deps: LineageDependencies) {
    this.#deps = deps;
  }

  /** Remembers what started the daemon: what comes from there is its person's. */
  async start(): Promise<void> {
    const all = await this.#deps.table.ancestry(this.#deps.pid);
    this.#starters = all.filter(({ name }) => !INITS.test(name));
  }

  /** A caller could be an Actor. */
  get isWatching(): boolean {
    return this.#connected.size > 0 || this.#deps.launched().length > 0;
  }

  /** None of the Actor's processes is one that the daemon started. */
  isUnseen({ group_id: groupId, actor_id: actorId }: Pick<ActorRoot, "group_id" | "actor_id">): boolean {
    return !this.#deps.launched().some((root) => root.group_id === groupId && root.actor_id === actorId);
  }

  /** Seconds since the machine's start. */
  uptime(): number {
    return this.#deps.table.uptime();
  }

  /** Null if the process that was there at that time is gone. */
  async read(pid: number, since: number): Promise<Ancestry | null> {
    const { table } = this.#deps;
    const entries = await table.ancestry(pid);
    const [caller] = entries;
    if (caller === undefined || table.beganAfter(caller, since)) return null;
    const marks = new Set<string>();
    const actorFiles = new Set<string>();
    let isEditor = false;
    for (const entry of entries) {
      const environment = table.environment(entry.pid, NAMES);
      if (entry === caller) isEditor = EDITOR.some((name) => EXTENSION_HOST.test(environment[name] ?? ""));
      const { [ENVIRONMENT.launchMark]: mark, [ENVIRONMENT.actorFile]: file } = environment;
      if ((mark === undefined && file === undefined) || !this.#deps.isOfHome(environment)) continue;
      if (mark !== undefined && mark !== "") marks.add(mark);
      if (file !== undefined) actorFiles.add(file);
    }
    return table.isThere(caller) ? { entries, marks, actorFiles, isEditor } : null;
  }

  /** Null counts as unknown. */
  judge(ancestry: Ancestry | null): Standing {
    if (ancestry === null || !this.#deps.table.isThere(ancestry.entries[0]!)) return { kind: "unknown" };
    return this.#actorOf(ancestry) ?? this.#personOf(ancestry);
  }

  /**
   * An agent that somebody started at a terminal has connected by its MCP server: the process that
   * started that server is the Actor's. Never a shell, and nothing that the daemon comes from: more
   * than the agent would become the Actor.
   */
  connect(root: Pick<ActorRoot, "group_id" | "actor_id" | "generation">, { entries }: Ancestry): void {
    const [, agent] = entries;
    if (agent === undefined || agent.terminal === "" || SHELLS.test(agent.name)) return;
    if (agent.pid === 1 || this.#isStarter(agent)) return;
    for (const [key, { pid, birth }] of this.#connected) {
      if (!this.#deps.table.isThere({ pid, birth: birth ?? "" })) this.#connected.delete(key);
    }
    const { group_id: groupId, actor_id: actorId, generation } = root;
    const key = `${agent.pid} ${agent.birth}`;
    this.#connected.delete(key);
    this.#connected.set(key, {
      group_id: groupId,
      actor_id: actorId,
      generation,
      pid: agent.pid,
      birth: agent.birth,
      terminal: "",
      mark: "",
    });
    const [oldest] = this.#connected.keys();
    if (this.#connected.size > CONNECTED && oldest !== undefined) this.#connected.delete(oldest);
  }

  #actorOf({ entries, marks, actorFiles }: Ancestry): Standing | null {
    const births = new Map(entries.map(({ pid, birth }) => [pid, birth]));
    const isRoot = ({ pid, birth }: ActorRoot): boolean => {
      const found = births.get(pid);
      return found !== undefined && (birth === null || birth === "" || found === birth);
    };
    const launched = this.#deps.launched();
    for (const root of launched) if (isRoot(root) || marks.has(root.mark)) return actor(root);
    for (const root of launched) if (sharesPlace(root, entries)) return actor(root);
    for (const root of this.#connected.values())
      if (isRoot(root) && this.#deps.isCurrent(root)) return actor(root);
    for (const path of actorFiles) {
      const found = this.#deps.ofFile(path);
      if (found !== null) return found;
    }
    return marks.size > 0 ? { kind: "former" } : null;
  }

  #personOf({ entries, isEditor }: Ancestry): Standing {
    if (entries.some(({ terminal }) => terminal !== "")) return { kind: "person", known: "terminal" };
    if (isEditor) return { kind: "person", known: "editor" };
    const top = entries.at(-1)!;
    // Entered from outside of the container that this is.
    const isFromOutside = top.parent === 0 && top.pid !== 1;
    const isStarter = isFromOutside || entries.some((entry) => this.#isStarter(entry));
    return isStarter ? { kind: "person", known: "starter" } : { kind: "unknown" };
  }

  #isStarter({ pid, birth, session }: ProcessEntry): boolean {
    return this.#starters.some((starter) => {
      if (starter.pid === pid) return starter.birth === birth;
      // As long as it runs, its session's number stands for no other.
      const isSame = session !== 0 && starter.session === session && starter.pid !== this.#deps.pid;
      return isSame && this.#deps.table.isThere(starter);
    });
  }
}

/** A launched Actor's process leads the session of its terminal. */
function sharesPlace({ pid, birth, terminal }: ActorRoot, entries: readonly ProcessEntry[]): boolean {
  // Another process has its number, and so may lead another session.
  if (entries.some((entry) => entry.pid === pid && birth !== null && entry.birth !== birth)) return false;
  return entries.some((entry) => entry.session === pid || (terminal !== "" && entry.terminal === terminal));
}

function actor({ group_id: groupId, actor_id: actorId, generation, launch }: ActorRoot): Standing {
  const root = { group_id: groupId, actor_id: actorId, generation };
  return { kind: "actor", root: launch === undefined ? root : { ...root, launch } };
}
