/** The ticker of a window: who is listed, in which order, and what is followed for it. */
import assert from "node:assert/strict";
import { mock } from "node:test";
import type { RuntimeActivityEvent } from "../../shared/activity/event.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { GroupSummary } from "../../shared/operations/groups.ts";
import type { ActivityListener, GroupsListener } from "../../shared/stream-client/listeners.ts";
import { RunningActors } from "../../webview/apps/ticker/running-actors.ts";
import type { Host } from "../../webview/hosts/host.ts";
import { verifies } from "../requirements.ts";
import { until } from "../support/until.ts";

const id = (number: number) => `g_${number.toString(16).padStart(12, "0")}`;

interface FakeActor {
  id: string;
  title: string;
  presence: { state: string; reason: string; since: string | null };
}

/** A daemon's Groups with their Actors by state. */
function setting(groups: Record<string, FakeActor[]>) {
  const followed = new Map<string, ActivityListener>();
  let listener: GroupsListener | null = null;
  const host = {
    call: async (name: string, input: { group_id?: string }) =>
      name === "group_list"
        ? {
            groups: Object.keys(groups).map(
              (groupId) => ({ group_id: groupId, title: `Group ${groupId}` }) as GroupSummary,
            ),
          }
        : { actors: groups[input.group_id!] ?? [] },
    watchGroups: (given: GroupsListener) => {
      listener = given;
      given.restart();
      return () => {};
    },
    watchActivity: (groupId: string, given: ActivityListener) => {
      followed.set(groupId, given);
      given.restored([]);
      return () => followed.delete(groupId);
    },
  } as unknown as Host;
  const running = new RunningActors(host);
  running.open();
  return { running, followed, groups, changed: (groupId: string) => listener!.actors(groupId) };
}

const actor = (name: string, state: string, since = "2026-01-01T00:00:00.000Z"): FakeActor => ({
  id: name,
  title: "",
  presence: { state, reason: "", since },
});

const tool = (groupId: string, actorId: string, status: "started" | "completed"): RuntimeActivityEvent => ({
  v: 1,
  id: `${actorId}-${status}`,
  ts: new Date().toISOString(),
  group_id: groupId,
  actor_id: actorId,
  runtime: "claude",
  activity_id: `claude:s:Bash:${actorId}`,
  kind: "tool",
  status,
  event_type: "PreToolUse",
  session_id: "s",
  turn_id: "",
  operation_id: "1",
  tool_name: "Bash",
  duration_ms: null,
});

describe("the ticker of a window", () => {
  let opened: RunningActors;

  beforeEach(() => mock.timers.enable({ apis: ["setTimeout", "Date"], now: Date.now() }));
  afterEach(() => {
    opened.close();
    mock.timers.reset();
  });

  /** Waits for what needs no more than a moment of the clock. */
  const soon = <Value>(condition: () => Value) =>
    until(() => {
      mock.timers.tick(1);
      return condition();
    });
  const names = ({ list }: RunningActors) => list.map((one) => one.actor.id);

  it("lists who waits first, then who works the longest, and follows only their Groups", async () => {
    verifies("TICK-001", "TICK-002", "TICK-014");
    const { running, followed } = setting({
      [id(1)]: [actor("idle", "idle"), actor("late", "working", "2026-01-01T00:02:00.000Z")],
      [id(2)]: [actor("early", "working"), actor("asks", "waiting")],
      [id(3)]: [actor("off", "stopped"), actor("gone", "unavailable")],
    });
    opened = running;
    await soon(() => names(running).length === 3);
    assert.deepEqual(names(running), ["asks", "early", "late"]);
    assert.deepEqual([...followed.keys()].sort(), [id(1), id(2)]);
    followed.get(id(2))!.event(tool(id(2), "early", "started"));
    assert.deepEqual(
      running.list.map(({ items }) => items.map(({ text }) => text)),
      [[], ["Bash is running"], []],
    );
  });

  it("shows what has just ended, and then lets the Group go", async () => {
    verifies("TICK-016", "TICK-017", "TICK-018");
    const groups = { [id(1)]: [actor("ann", "working")] };
    const { running, followed, changed } = setting(groups);
    opened = running;
    const listener = await soon(() => followed.get(id(1)));
    listener.event(tool(id(1), "ann", "started"));
    groups[id(1)] = [actor("ann", "idle")];
    listener.event(tool(id(1), "ann", "completed"));
    changed(id(1));
    await soon(() => running.list[0]?.actor.presence.state === "idle");
    assert.deepEqual(names(running), ["ann"]);
    assert.ok(followed.has(id(1)));
    mock.timers.tick(LIMITS.activity.browser.completedSeconds * 1000);
    await soon(() => !followed.has(id(1)));
    assert.deepEqual(names(running), []);
  });
});
