/**
 * What the daemon says about its Groups, Actors and connections, kept current from the window's one
 * stream. The views draw from it. It knows nothing of the editor.
 */
import { EventEmitter } from "node:events";
import { sharedCount } from "../../shared/any-connection-words.ts";
import type { Group } from "../../shared/model.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { Connection } from "../../shared/operations/connect.ts";
import type { DirectRelation } from "../../shared/operations/direct.ts";
import type { GroupSummary } from "../../shared/operations/groups.ts";
import type { NeedsYouItem } from "../../shared/operations/notifications.ts";
import type { Question } from "../../shared/operations/questions.ts";
import type { ArgumentsOf, OperationName, ResultOf } from "../../shared/operations/registry.ts";
import type { GroupsListener } from "../../shared/stream-client/listeners.ts";

export type AccountShown = ResultOf<"account_show">;
type Connected = ResultOf<"connect_status">;

/** Another instance of the account. */
export interface OtherInstance {
  instance_id: string;
  name: string;
  /** Null: it has no address. */
  origin: string | null;
  /** What was seen of it belongs to this link, device and origin alone. */
  identity: string;
}

/** The part of the link that the store uses. */
export interface Source {
  call<Name extends OperationName>(name: Name, input: ArgumentsOf<Name>): Promise<ResultOf<Name>>;
}

export interface KnownGroup {
  summary: GroupSummary;
  /** In order, the foreman first; null until they are read. */
  actors: readonly ActorWithPresence[] | null;
  /** Paths of the attached folders; null until they are read. */
  scopes: readonly Group["scopes"][number][] | null;
  /** What its agents ask the person now and can be answered here, oldest first. */
  questions: readonly Question[];
}

interface Entry extends KnownGroup {
  /** `actor_list` is being read; another change came since. */
  reading: "no" | "yes" | "again";
}

/** Groups whose Actors are read at the same time. */
const READERS = 4;
/** Changes within this time are told together. */
const TOGETHER_MS = 30;
/**
 * The same while more Groups wait to be read. An editor asks for every row again each time, which
 * takes longer than reading a few of 200 Groups.
 */
const READING_MS = 500;
/** When a daemon that couldn't answer is asked again. */
const AGAIN_MS = 5000;
/** Made when it is first needed: that takes tens of milliseconds. */
let collator: Intl.Collator | undefined;

function compareNames(one: string, other: string): number {
  return (collator ??= new Intl.Collator(undefined, { numeric: true })).compare(one, other);
}

export class Instance extends EventEmitter<{ change: [] }> implements GroupsListener {
  readonly #source: Source;
  readonly #againMs: number;
  readonly #groups = new Map<string, Entry>();
  #relations: readonly DirectRelation[] = [];
  #connections: readonly Connection[] = [];
  #account: AccountShown | null = null;
  #shared: Connected["group_connections"] = null;
  #connect: Connected["connect"] = null;
  #loaded = false;
  #round = 0;
  /** How often connections were asked for, and which of the answers is shown. */
  #asked = 0;
  #taken = 0;
  /** Connections that wait for the person, as last heard. */
  #awaiting = "";
  #telling: { at: number; timer: ReturnType<typeof setTimeout> } | null = null;
  readonly #waiting: string[] = [];
  #readers = 0;

  constructor(source: Source, againMs = AGAIN_MS) {
    super();
    this.#source = source;
    this.#againMs = againMs;
  }

  /** The list of Groups and their Actors have been read since the connection began. */
  get loaded(): boolean {
    return this.#loaded;
  }

  /** Sorted by title. */
  get groups(): KnownGroup[] {
    return [...this.#groups.values()].sort(
      (a, b) =>
        compareNames(a.summary.title, b.summary.title) || (a.summary.group_id < b.summary.group_id ? -1 : 1),
    );
  }

  get relations(): readonly DirectRelation[] {
    return this.#relations;
  }

  /** Of every kind. */
  get connections(): readonly Connection[] {
    return this.#connections;
  }

  /** Instances of this account, and Groups of other accounts. */
  get accountConnections(): readonly Connection[] {
    return this.#connections.filter(({ kind }) => kind !== "direct");
  }

  /**
   * The other instances of the account by name; null while the account service doesn't confirm
   * them.
   */
  get others(): OtherInstance[] | null {
    const connect = this.#connect;
    if (connect === null || connect.rejected) return [];
    const { account_origin: origin, device_id: deviceId, instance_id: instanceId, directory } = connect;
    if (directory === null || Date.parse(directory.expires_at) <= Date.now()) return null;
    return directory.instances
      .filter((entry) => entry.instance_id !== instanceId)
      .map((entry) => ({
        instance_id: entry.instance_id,
        name: entry.display_name,
        origin: entry.public_origin,
        identity: JSON.stringify([origin, deviceId, entry.device_id, entry.public_origin]),
      }))
      .sort(
        (one, other) => compareNames(one.name, other.name) || (one.instance_id < other.instance_id ? -1 : 1),
      );
  }

  /** The link to an account; null until it is read. */
  get account(): AccountShown | null {
    return this.#account;
  }

  /** With how many Groups of other accounts a Group is connected. Null isn't zero (SNAP-014). */
  sharedBy(groupId: string): number | null {
    return sharedCount(this.#shared, groupId, Date.now());
  }

  find(groupId: string): KnownGroup | undefined {
    return this.#groups.get(groupId);
  }

  actor(groupId: string, actorId: string): ActorWithPresence | undefined {
    return this.#groups.get(groupId)?.actors?.find(({ id }) => id === actorId);
  }

  /** What needs the person, over all Groups, as the daemon counts it. */
  get attention(): number {
    let sum = 0;
    for (const { summary } of this.#groups.values()) sum += summary.attention;
    return sum;
  }

  /** Actors in this state, over all Groups. */
  count(state: ActorWithPresence["presence"]["state"]): number {
    let sum = 0;
    for (const { actors } of this.#groups.values())
      for (const { presence } of actors ?? []) if (presence.state === state) sum += 1;
    return sum;
  }

  /** The stream begins: everything is read. */
  restart(): void {
    void this.refresh();
  }

  group(summary: GroupSummary): void {
    this.#put(summary);
  }

  gone(groupId: string): void {
    this.#groups.delete(groupId);
    this.#tell();
  }

  actors(groupId: string): void {
    this.#read(groupId);
  }

  /** What waits for the person has changed. The stream says nothing else about connections. */
  needsYou(items: readonly Pick<NeedsYouItem, "key" | "kind">[]): void {
    const awaiting = items.flatMap(({ key, kind }) => (kind === "connection" ? [key] : [])).join();
    if (awaiting === this.#awaiting) return;
    this.#awaiting = awaiting;
    this.refreshConnections().catch(() => {
      // They are read with the next change.
      this.#awaiting = "";
    });
  }

  /** Forgets everything, as another daemon may answer next. */
  clear(): void {
    this.#round += 1;
    this.#groups.clear();
    this.#relations = [];
    this.#connections = [];
    this.#account = null;
    this.#shared = null;
    this.#connect = null;
    this.#loaded = false;
    this.#awaiting = "";
    this.#tell();
  }

  /** Reads everything again, and once more later if the daemon couldn't answer. */
  async refresh(): Promise<void> {
    const round = ++this.#round;
    try {
      const { groups } = await this.#source.call("group_list", {});
      if (round !== this.#round) return;
      const there = new Set(groups.map(({ group_id: groupId }) => groupId));
      for (const groupId of this.#groups.keys()) if (!there.has(groupId)) this.#groups.delete(groupId);
      for (const summary of groups) {
        this.#put(summary);
        this.#read(summary.group_id);
      }
      await this.refreshConnections();
      if (round !== this.#round) return;
      this.#loaded = true;
      this.#tell();
    } catch {
      if (round === this.#round) this.#again(() => this.restart());
    }
  }

  /** Reads the connections and the account again: the stream says nothing about them. */
  async refreshConnections(): Promise<void> {
    const round = this.#round;
    const asked = ++this.#asked;
    const [{ relations }, { connections }, account, connected] = await Promise.all([
      this.#source.call("connect_direct_status", {}),
      this.#source.call("connection_list", {}),
      this.#source.call("account_show", {}),
      this.#source.call("connect_status", {}),
    ]);
    // A later question may have been answered earlier.
    if (round !== this.#round || asked < this.#taken) return;
    this.#taken = asked;
    this.#relations = relations;
    this.#connections = connections;
    this.#account = account;
    this.#shared = connected.group_connections;
    this.#connect = connected.connect;
    this.#tell();
  }

  #put(summary: GroupSummary): void {
    const before = this.#groups.get(summary.group_id);
    if (before === undefined) {
      this.#groups.set(summary.group_id, {
        summary,
        actors: null,
        scopes: null,
        questions: [],
        reading: "no",
      });
      this.#read(summary.group_id);
    } else {
      const isOther = before.summary.updated_at !== summary.updated_at;
      before.summary = summary;
      if (isOther) this.#read(summary.group_id);
    }
    this.#tell();
  }

  /** Reads a Group's Actors and folders, once more if something changed while they were read. */
  #read(groupId: string): void {
    const entry = this.#groups.get(groupId);
    if (entry === undefined) return;
    if (entry.reading !== "no") {
      entry.reading = "again";
      return;
    }
    entry.reading = "yes";
    this.#waiting.push(groupId);
    if (this.#readers < READERS) void this.#work();
  }

  async #work(): Promise<void> {
    this.#readers += 1;
    for (let groupId = this.#waiting.shift(); groupId !== undefined; groupId = this.#waiting.shift()) {
      const entry = this.#groups.get(groupId);
      if (entry === undefined) continue;
      entry.reading = "yes";
      try {
        const input = { group_id: groupId };
        const [{ actors }, { scopes }] = await Promise.all([
          this.#source.call("actor_list", input),
          this.#source.call("group_show", input),
        ]);
        const isAsked = actors.some(({ presence }) => (presence.questions ?? 0) > 0);
        const { questions } = isAsked ? await this.#source.call("actor_questions", input) : { questions: [] };
        entry.actors = actors;
        entry.scopes = scopes;
        entry.questions = questions;
        this.#tell(this.#waiting.length > 0 ? READING_MS : TOGETHER_MS);
      } catch {
        // A Group that is gone, or a connection that is lost, is told by the stream.
        this.#again(() => this.#read(groupId));
      }
      const isAgain = (entry.reading as Entry["reading"]) === "again";
      entry.reading = "no";
      if (isAgain && this.#groups.get(groupId) === entry) this.#read(groupId);
    }
    this.#readers -= 1;
  }

  /** Runs it later, unless everything was read again or forgotten meanwhile. */
  #again(run: () => void): void {
    const round = this.#round;
    setTimeout(() => {
      if (round === this.#round) run();
    }, this.#againMs).unref();
  }

  #tell(within = TOGETHER_MS): void {
    const at = performance.now() + within;
    if (this.#telling !== null) {
      if (this.#telling.at <= at) return;
      clearTimeout(this.#telling.timer);
    }
    const timer = setTimeout(() => {
      this.#telling = null;
      this.emit("change");
    }, within);
    this.#telling = { at, timer };
  }
}
