/** The activity service on a real Home, with launches of a test's own and time in its hand. */

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Activity } from "../../daemon/activity/activity.ts";
import type { Launch, LaunchEnd, Launches } from "../../daemon/activity/launches.ts";
import type { OpenGroup } from "../../daemon/groups/group.ts";
import type { GroupRegistry } from "../../daemon/groups/registry.ts";
import type { Dispatcher } from "../../daemon/operations/dispatcher.ts";
import type { Files } from "../../platform/files.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import type { RuntimeActivityEvent } from "../../shared/activity/event.ts";
import type { EventData, LedgerEvent } from "../../shared/events.ts";
import type { Runtime, StoredActor } from "../../shared/model.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { ArgumentsOf, OperationName, ResultOf } from "../../shared/operations/registry.ts";
import { storedActor } from "../groups/setting.ts";
import { MemoryLog } from "../operations/support.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { callOperation, homeAt, startServices, USER } from "../support/services.ts";

export type Payload = Record<string, unknown>;
export type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

export class FakeLaunches implements Launches {
  readonly live = new Map<string, Mutable<Launch>>();
  readonly disk = new Map<string, Launch | "corrupt">();
  readonly dead = new Set<Launch>();
  quiet: number | null = 0;
  /** The screen shows a question. */
  question = false;
  lines: readonly string[] = [];
  /** Resolved by `bind`. */
  #starting = new Map<string, { promise: Promise<void>; done: () => void }>();
  readonly #started = new Set<(launch: Launch) => void>();
  readonly #ended = new Set<(launch: Launch, end: LaunchEnd) => void>();
  #pids = 1000;

  launch(group: OpenGroup, actorId: string, change: Partial<Launch> = {}): Mutable<Launch> {
    const { generation, runtime } = group.actor(actorId);
    this.#pids += 1;
    const launch: Mutable<Launch> = {
      group_id: group.group_id,
      actor_id: actorId,
      generation,
      runtime,
      token_digest: `digest ${this.#pids}`,
      pid: this.#pids,
      started_at: "2026-01-01T00:00:00.000Z",
      has_hooks: runtime === "claude" || runtime === "codex",
      ...change,
    };
    const slot = `${group.group_id}/${actorId}`;
    this.live.set(slot, launch);
    this.disk.set(slot, { ...launch });
    if (launch.pid === null) {
      let done = (): void => {};
      const promise = new Promise<void>((resolve) => (done = resolve));
      this.#starting.set(slot, { promise, done });
    } else for (const listener of this.#started) listener(launch);
    return launch;
  }
  bind(launch: Mutable<Launch>, pid: number): void {
    const slot = `${launch.group_id}/${launch.actor_id}`;
    launch.pid = pid;
    this.disk.set(slot, { ...launch });
    this.#starting.get(slot)?.done();
    for (const listener of this.#started) listener(launch);
  }
  end(launch: Launch, reason = "exited with code 0"): void {
    const slot = `${launch.group_id}/${launch.actor_id}`;
    this.live.delete(slot);
    this.disk.delete(slot);
    for (const listener of this.#ended) listener(launch, { reason });
  }
  current(groupId: string, actorId: string): Launch | null {
    return this.live.get(`${groupId}/${actorId}`) ?? null;
  }
  committed(groupId: string, actorId: string): Launch | "corrupt" | null {
    return this.disk.get(`${groupId}/${actorId}`) ?? null;
  }
  lastEnd(): null {
    return null;
  }
  async settled(groupId: string, actorId: string): Promise<void> {
    await this.#starting.get(`${groupId}/${actorId}`)?.promise;
  }
  isAlive(launch: Launch): boolean {
    return !this.dead.has(launch);
  }
  running(): Launch[] {
    return [...this.live.values()];
  }
  asks(): boolean {
    return this.question;
  }
  needs(): string {
    return "";
  }

  screen(): readonly string[] {
    return this.lines;
  }
  quietSeconds(): number | null {
    return this.quiet;
  }
  onStarted(listener: (launch: Launch) => void): () => void {
    this.#started.add(listener);
    return () => void this.#started.delete(listener);
  }
  onEnded(listener: (launch: Launch, end: LaunchEnd) => void): () => void {
    this.#ended.add(listener);
    return () => void this.#ended.delete(listener);
  }
}

export interface Setting {
  root: string;
  clock: ManualClock;
  log: MemoryLog;
  registry: GroupRegistry;
  group: OpenGroup;
  launches: FakeLaunches;
  activity: Activity;
  dispatcher: Dispatcher;
  addActor(id: string, runtime: Runtime, change?: Partial<StoredActor>): Promise<void>;
  /** As the daemon's owner, or as another caller. */
  call<Name extends OperationName>(
    name: Name,
    input: ArgumentsOf<Name>,
    as?: Caller,
  ): Promise<ResultOf<Name>>;
  /** The runtime's hook waits for a decision until the signal says that it is gone. */
  decide(launch: Launch, payload: Payload, signal?: AbortSignal): Promise<ResultOf<"hook_decide">>;
  /** Waits for the disk as well. */
  submit(launch: Launch, payload: Payload): Promise<ResultOf<"hook_submit">>;
  snapshot(): RuntimeActivityEvent[];
  recordsPath(actorId: string): string;
  /** Records as they are on disk, oldest revision first. */
  stored(actorId: string): { event: RuntimeActivityEvent; started_at: string }[];
  states(): EventData<"actor.activity">["actors"];
  ledger(): LedgerEvent[];
  /**
   * Everything anew on the same Home, as after a restart of the daemon, or of the machine at that
   * wall time.
   */
  reopen(machineStartedAt?: number): Promise<Setting>;
  close(): Promise<void>;
}

export function callerOf(launch: Launch): Extract<Caller, { kind: "actor" }> {
  const { group_id: groupId, actor_id: actorId, generation, token_digest: tokenDigest } = launch;
  return {
    kind: "actor",
    by: actorId,
    group_id: groupId,
    actor_id: actorId,
    generation,
    session: null,
    launch: tokenDigest,
  };
}

export async function openSetting(
  files: Files = new RealFiles(),
  root = mkdtempSync(join(tmpdir(), "svc-activity-")),
  machineStartedAt = 0,
): Promise<Setting> {
  const clock = new ManualClock();
  const log = new MemoryLog();
  const launches = new FakeLaunches();
  const supervisor = await startServices(
    {
      files,
      clock,
      random: new RealRandom(),
      log,
      home: await homeAt(root, files),
      machineStartedAt,
      checkOutputs: true,
      ledgerLimits: { extendBytes: 4096 },
    },
    {
      only: ["groups", "launches", "credentials", "activity", "messaging", "operations"],
      instead: {
        launches: () => ({ part: launches }),
        credentials: () => ({ part: { lapsed: () => null } }),
        messaging: () => ({ part: { touch: () => {} } }),
      },
    },
  );
  const { parts } = supervisor;
  const { registry } = parts.groups;
  const { activity } = parts;
  const [existing] = registry.list();
  const group = existing ?? (await registry.create({ title: "one", topic: "", by: "user" }));
  const recordsPath = (actorId: string): string => group.paths.runtimeActivityFile(actorId);
  const ledger = (): LedgerEvent[] => group.ledger.page({ limit: 200 }).events;
  return {
    root,
    clock,
    log,
    registry,
    group,
    launches,
    activity,
    dispatcher: parts.operations,
    addActor: async (id, runtime, change = {}) => {
      const generation = change.generation ?? `generation of ${id}`;
      const actor = storedActor(id, { runner: "pty", runtime, ...change, generation });
      await group.update((record) => ({ ...record, actors: [...record.actors, actor] }), {
        kind: "actor.add",
        by: "user",
        data: { actor_id: id, title: "", generation, runtime, runner: "pty" },
      });
    },
    submit: async (launch, payload) => {
      const sent: unknown = JSON.parse(JSON.stringify(payload));
      const result = await callOperation(parts, log, "hook_submit", sent, { as: callerOf(launch) });
      await activity.settled();
      return result as ResultOf<"hook_submit">;
    },
    call: async (name, input, as = USER) =>
      (await callOperation(parts, log, name, input, { as })) as ResultOf<typeof name>,
    decide: async (launch, payload, signal = new AbortController().signal) => {
      const sent: unknown = JSON.parse(JSON.stringify(payload));
      const decided = await callOperation(parts, log, "hook_decide", sent, { as: callerOf(launch), signal });
      return decided as ResultOf<"hook_decide">;
    },
    snapshot: () => {
      const { group_id: groupId } = group;
      const call = { caller: USER, signal: new AbortController().signal, requestId: "r" };
      const outcome = parts.operations.call("runtime_activity_snapshot", { group_id: groupId }, call);
      assert.ok(!(outcome instanceof Promise));
      if (!outcome.ok) throw outcome.refusal;
      return (outcome.result as ResultOf<"runtime_activity_snapshot">).events;
    },
    recordsPath,
    stored: (actorId) => {
      type Line = ReturnType<Setting["stored"]>[number] & { n: number };
      const { records } = JSON.parse(readFileSync(recordsPath(actorId), "utf8")) as {
        records: (Line | null)[];
      };
      return records
        .filter((line) => line !== null)
        .sort((one, other) => one.n - other.n)
        .map(({ event, started_at: startedAt }) => ({ event, started_at: startedAt }));
    },
    states: () =>
      ledger()
        .filter((event) => event.kind === "actor.activity")
        .flatMap(({ data }) => data.actors),
    ledger,
    reopen: async (startedAt = machineStartedAt) => {
      await supervisor.stop();
      return openSetting(files, root, startedAt);
    },
    close: async () => {
      await supervisor.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

const FIXTURES = join(import.meta.dirname, "../fixtures/hooks");

/** Captured payloads of a runtime by the names of their files. */
export function fixtures(runtime: "claude" | "codex"): Map<string, Payload> {
  const directory = join(FIXTURES, runtime);
  return new Map(
    readdirSync(directory)
      .sort()
      .map((name) => [
        name.replace(/\.json$/, ""),
        JSON.parse(readFileSync(join(directory, name), "utf8")) as Payload,
      ]),
  );
}

/** Payloads of one session with the fields that fences look at. */
export function claude(sessionId = "s1") {
  const event = (hookEventName: string, more: Payload = {}): Payload => ({
    session_id: sessionId,
    transcript_path: "/t",
    cwd: "/p",
    hook_event_name: hookEventName,
    ...more,
  });
  const tool = (name: string, toolUseId: string, toolName: string, more: Payload): Payload =>
    event(name, { tool_name: toolName, tool_use_id: toolUseId, tool_input: {}, ...more });
  return {
    event,
    start: (source = "startup") => event("SessionStart", { source }),
    end: (reason = "other") => event("SessionEnd", { reason }),
    prompt: (promptId: string, prompt = "do it") =>
      event("UserPromptSubmit", { prompt_id: promptId, prompt }),
    stop: (promptId: string) => event("Stop", { prompt_id: promptId }),
    pre: (id: string, name = "Bash", more: Payload = {}) => tool("PreToolUse", id, name, more),
    post: (id: string, name = "Bash", more: Payload = {}) => tool("PostToolUse", id, name, more),
    fail: (id: string, name = "Bash", more: Payload = {}) => tool("PostToolUseFailure", id, name, more),
    /** After all tools that one answer asked for. */
    batch: (more: Payload = {}) => event("PostToolBatch", { tool_calls: [], ...more }),
    ask: (toolName = "Bash", more: Payload = {}) =>
      event("PermissionRequest", { tool_name: toolName, ...more }),
    notify: (notificationType: string, more: Payload = {}) =>
      event("Notification", { notification_type: notificationType, message: "text", ...more }),
  };
}

/** The same for Codex, in one turn of a session. */
export function codex(turnId: string, sessionId = "s1") {
  const { event } = claude(sessionId);
  const inTurn = (name: string, more: Payload = {}): Payload => event(name, { turn_id: turnId, ...more });
  const tool = (name: string, toolUseId: string, toolName: string, more: Payload): Payload =>
    inTurn(name, { tool_name: toolName, tool_use_id: toolUseId, tool_input: {}, ...more });
  return {
    event: inTurn,
    start: (source = "startup") => event("SessionStart", { source }),
    end: () => event("SessionEnd", { reason: "other" }),
    prompt: (more: Payload = {}) => inTurn("UserPromptSubmit", { prompt: "do it", ...more }),
    stop: () => inTurn("Stop"),
    pre: (id: string, name = "Bash", more: Payload = {}) => tool("PreToolUse", id, name, more),
    post: (id: string, name = "Bash", more: Payload = {}) => tool("PostToolUse", id, name, more),
    ask: (toolName = "Bash", more: Payload = {}) =>
      inTurn("PermissionRequest", { tool_name: toolName, ...more }),
  };
}
