/**
 * The other instances of the account as a list, and the one that is shown in the page. One is live
 * at a time; of the others the page keeps the Groups that it saw last, marked as saved.
 */
import * as z from "zod/mini";
import { type FrameGroup, FrameGroups } from "../../shared/frame-protocol.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";
import { type RemotePlace, readPlace } from "../../shared/remote-place.ts";
import { Store } from "../controls/store.ts";
import { type Host, HostError } from "../hosts/host.ts";
import type { FrameProblem } from "./frame-words.ts";
import { type FrameParts, LiveFrame } from "./live-frame.ts";

export interface RemoteInstance {
  instance_id: string;
  device_id: string;
  name: string;
  /** Null: no route to it is set. */
  origin: string | null;
}

/** The Groups of an instance when they were last told. Of one device and one origin. */
const SavedGroups = z.strictObject({
  device_id: z.string(),
  origin: z.string(),
  groups: FrameGroups,
  /** Milliseconds since the epoch. */
  at: z.number(),
});
type SavedGroups = Omit<z.infer<typeof SavedGroups>, "groups"> & { groups: readonly FrameGroup[] };

type Snapshot = NonNullable<ResultOf<"connect_status">["connect"]>;

/** What the page keeps when it is loaded again. Anything else counts as nothing. */
const Kept = z.strictObject({
  /** Of the link to the account: another one sees nothing of it. */
  binding: z.string(),
  saved: z.record(z.string(), SavedGroups),
});
interface Kept {
  binding: string;
  saved: Record<string, SavedGroups>;
}

export interface InstanceParts {
  host: Pick<Host, "call" | "page">;
  open: FrameParts["open"];
  /** With which the page was opened. */
  query: string;
  /** Whether the page may still go where it was opened. Nothing moves while the person works. */
  mayBegin(): boolean;
  /** The person wants to see the list. */
  sidebar(): void;
  /** Loads the page again. */
  reload(): void;
}

const CHECK_MS = LIMITS.connect.frameCheckSeconds * 1000;
/** The access here counts as expired when this many checks in a row weren't answered. */
const CHECKS_MISSED = 3;
/** The person is no administrator here any more. */
const DENIED: ReadonlySet<string> = new Set(["unauthenticated", "permission_denied"]);

export class Instances extends Store {
  readonly #parts: InstanceParts;
  list: readonly RemoteInstance[] = [];
  live: LiveFrame | null = null;
  /** Why the last try with an instance failed, and when, until one works. */
  readonly problems = new Map<string, FrameProblem & { at: number }>();
  #saved: Record<string, SavedGroups>;
  #binding: string | null;
  /** Where the page was asked to go, until the instance is listed or known not to be. */
  #place: RemotePlace | null;
  #missed = 0;
  #asked = 0;
  #timer: ReturnType<typeof setInterval> | null = null;
  #releaseLive: () => void = () => {};

  constructor(parts: InstanceParts) {
    super();
    this.#parts = parts;
    this.#place = readPlace(parts.query);
    const kept = Kept.safeParse(parts.host.page.get("instances")).data;
    this.#binding = kept?.binding ?? null;
    this.#saved = kept?.saved ?? {};
  }

  /** Checks now and every 15 seconds: the access here, the link, and who belongs to the account. */
  start(): void {
    this.#timer = setInterval(() => void this.check(), CHECK_MS);
    addEventListener("pagehide", this.#keep);
    addEventListener("focus", this.#returned);
    void this.check().then(() => {
      const open = this.#parts.host.page.get("instance-open") as RemotePlace | null;
      if (this.live === null && this.#place === null && open !== null && this.#parts.mayBegin())
        this.show(open.instanceId, open.groupId);
    });
  }

  /** The person leaves, or lost the access: nothing of other instances stays in this page. */
  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    removeEventListener("pagehide", this.#keep);
    removeEventListener("focus", this.#returned);
    this.#asked += 1;
    this.#forget();
  }

  find(instanceId: string): RemoteInstance | undefined {
    return this.list.find((one) => one.instance_id === instanceId);
  }

  /** Its Groups: live ones of the instance that is shown, else those that were saved. */
  groups(instanceId: string): { live: boolean; groups: readonly FrameGroup[]; at: number } | null {
    const { live } = this;
    if (live?.target.instance_id === instanceId && live.groups !== null)
      return { live: true, groups: live.groups, at: Date.now() };
    const saved = this.#saved[instanceId];
    return saved === undefined ? null : { live: false, groups: saved.groups, at: saved.at };
  }

  /** Shows an instance, and there a Group. The frame of another instance ends. */
  show(instanceId: string, groupId: string | null = null, connections = false): void {
    const instance = this.find(instanceId);
    if (instance === undefined) return;
    this.#place = null;
    this.#parts.host.page.set("instance-open", { instanceId, groupId } satisfies RemotePlace);
    const { live } = this;
    const isShown = live !== null && live.phase !== "failed" && live.target.instance_id === instanceId;
    if (isShown) {
      if (groupId !== null) live.select(groupId, connections);
      return;
    }
    this.#end();
    const { device_id: deviceId, origin, name } = instance;
    const frame = new LiveFrame({
      target: { instance_id: instanceId, device_id: deviceId, origin: origin ?? "", name },
      open: (...asked) => this.#parts.open(...asked),
      sidebar: () => this.#parts.sidebar(),
    });
    this.live = frame;
    this.#releaseLive = frame.subscribe(() => this.#onFrame(frame));
    if (groupId !== null) frame.select(groupId, connections);
    this.changed();
  }

  /** The same again, after a failure. */
  again(): void {
    const { live } = this;
    if (live?.phase === "failed") this.show(live.target.instance_id, live.groupId);
  }

  /** Back to this machine's own Groups. */
  leave(): void {
    this.#place = null;
    this.#parts.host.page.set("instance-open", null);
    if (this.live === null) return;
    this.#end();
    this.changed();
  }

  /** Asks the daemon what it knows. Of two answers, the one to the later question counts. */
  async check(): Promise<void> {
    this.#asked += 1;
    const turn = this.#asked;
    try {
      const { connect } = await inTime(this.#parts.host.call("connect_status", {}));
      if (turn !== this.#asked) return;
      this.#missed = 0;
      this.#take(connect);
    } catch (error) {
      if (turn !== this.#asked) return;
      if (error instanceof HostError && DENIED.has(error.code)) this.#forget();
      else {
        this.#missed += 1;
        // Nobody says any more that this person may see it.
        if (this.#missed >= CHECKS_MISSED) this.#expire("This machine’s daemon doesn’t answer.");
      }
    }
    this.changed();
  }

  #take(connect: Snapshot | null): void {
    const binding = connect === null ? null : `${connect.account_origin} ${connect.device_id}`;
    if (connect === null || connect.rejected || binding !== this.#binding) this.#forget();
    this.#binding = binding;
    if (connect === null || connect.rejected) return;
    const { directory } = connect;
    if (directory === null) {
      this.#expire(connect.error_message ?? "The account service doesn’t confirm this instance now.");
      return;
    }
    this.list = directory.instances
      .filter((entry) => entry.instance_id !== connect.instance_id)
      .map((entry) => ({
        instance_id: entry.instance_id,
        device_id: entry.device_id,
        name: entry.display_name,
        origin: entry.public_origin,
      }))
      .sort((one, other) => one.name.localeCompare(other.name));
    this.#clearReplaced();
    const place = this.#place;
    this.#place = null;
    if (place !== null && this.#parts.mayBegin()) this.show(place.instanceId, place.groupId);
  }

  /** Another device or another origin isn't what was seen. */
  #clearReplaced(): void {
    const isSame = (id: string, seen: { device_id: string; origin: string }) => {
      const now = this.find(id);
      return now !== undefined && now.device_id === seen.device_id && now.origin === seen.origin;
    };
    for (const [id, seen] of Object.entries(this.#saved)) if (!isSame(id, seen)) delete this.#saved[id];
    const { live } = this;
    if (live === null || live.phase === "failed") return;
    const { target } = live;
    const hasRoute = this.find(target.instance_id)?.origin === null && target.origin === "";
    if (isSame(target.instance_id, target) || hasRoute) return;
    if (this.find(target.instance_id) === undefined) this.leave();
    else live.end({ code: "frame_moved", message: "It was linked again, or is reached elsewhere now." });
  }

  #onFrame(frame: LiveFrame): void {
    if (this.live !== frame) return;
    const { target, phase, groups, problem } = frame;
    const { instance_id: id, device_id: deviceId, origin } = target;
    if (phase !== "opening" && phase !== "failed") this.problems.delete(id);
    if (phase === "live" && groups !== null)
      this.#saved[id] = { device_id: deviceId, origin, groups, at: Date.now() };
    // Who locked it there doesn't want it to be seen here.
    if (phase === "locked") delete this.#saved[id];
    if (phase === "failed" && problem !== null) {
      const before = this.problems.get(id);
      this.problems.set(id, { ...problem, at: before?.code === problem.code ? before.at : Date.now() });
      if (problem.code === "frame_unlisted") this.#loadAgain(origin);
    }
    this.changed();
  }

  /** Once for each origin: what the page may frame was decided when it was loaded. */
  #loadAgain(origin: string): void {
    const { page } = this.#parts.host;
    if (page.get("instance-loaded") === origin) return;
    page.set("instance-loaded", origin);
    this.#parts.reload();
  }

  /** What can't be confirmed isn't shown. It comes back with the confirmation. */
  #expire(message: string): void {
    this.list = [];
    this.live?.end({ code: "account_unavailable", message });
  }

  #forget(): void {
    this.#end();
    this.list = [];
    this.problems.clear();
    this.#saved = {};
    this.#binding = null;
    const { page } = this.#parts.host;
    for (const key of ["instances", "instance-open", "instance-loaded"]) page.set(key, null);
    this.changed();
  }

  #end(): void {
    this.#releaseLive();
    this.live?.close();
    this.live = null;
  }

  readonly #returned = (): void => void this.check();

  readonly #keep = (): void => {
    if (this.#binding === null) return;
    const kept: Kept = { binding: this.#binding, saved: this.#saved };
    this.#parts.host.page.set("instances", kept);
  };
}

/** A daemon that hangs is one that doesn't answer: the next question comes after this one's end. */
function inTime<Answer>(answer: Promise<Answer>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("No answer came in time.")), CHECK_MS - 1000);
    void answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
