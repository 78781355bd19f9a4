/**
 * Every captured payload of the real runtimes, in the order in which they came, and in every
 * disorder that may come.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import type { RuntimeActivityEvent } from "../../shared/activity/event.ts";
import { Ticker } from "../../shared/activity/projection.ts";
import { isTerminal } from "../../shared/activity/status.ts";
import { LIMITS } from "../../shared/limits.ts";
import { fixtures, openSetting, type Payload, type Setting } from "./setting.ts";

type HookRuntime = "claude" | "codex";

/**
 * The captured payloads as events of one session and its turns: fixtures come from several
 * recordings.
 */
function session(runtime: HookRuntime, names: readonly string[]): Payload[] {
  const all = fixtures(runtime);
  return names.map((name) => {
    const payload = all.get(name);
    assert.ok(payload !== undefined, name);
    const { agent_id: agentId, turn_id: turnId, prompt_id: promptId } = payload;
    const turn = agentId === undefined ? "turn-of-parent" : "turn-of-agent";
    return {
      ...payload,
      session_id: "session-1",
      ...(agentId === undefined ? {} : { agent_id: "agent-1" }),
      ...(turnId === undefined ? {} : { turn_id: turn }),
      ...(promptId === undefined ? {} : { prompt_id: "prompt-1" }),
    };
  });
}

const ORDERS: Record<HookRuntime, readonly string[]> = {
  claude: [
    "SessionStart.startup",
    "UserPromptSubmit",
    "PreToolUse.Bash",
    "PermissionRequest.Bash",
    "Notification.permission_prompt",
    "PostToolUse.Bash",
    "PostToolBatch",
    "PreToolUse.mcp__probe__probe_echo",
    "PostToolUse.mcp__probe__probe_echo",
    "PreToolUse.mcp__probe__probe_fail",
    "PostToolUseFailure.mcp__probe__probe_fail",
    "PreToolUse.Agent",
    "SubagentStart",
    "PostToolUse.Agent",
    "PreToolUse.Bash.subagent",
    "PostToolUse.Bash.subagent",
    "PostToolBatch.subagent",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "SessionStart.compact",
    "MessageDisplay",
    "Stop",
    "Notification.idle_prompt",
    "SessionEnd.other",
  ],
  codex: [
    "SessionStart.startup",
    "UserPromptSubmit",
    "PreToolUse.Bash",
    "PermissionRequest.Bash",
    "PostToolUse.Bash",
    "PreToolUse.mcp__probe__probe_echo",
    "PermissionRequest.mcp__probe__probe_echo",
    "PostToolUse.mcp__probe__probe_echo",
    "PreToolUse.mcp__probe__probe_fail",
    "PermissionRequest.mcp__probe__probe_fail",
    "PreToolUse.spawn_agent",
    "SubagentStart",
    "UserPromptSubmit.subagent",
    "PostToolUse.spawn_agent",
    "PreToolUse.multi_agent_v1wait_agent",
    "PreToolUse.Bash.subagent",
    "PostToolUse.Bash.subagent",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "Stop",
    "SessionEnd.other",
  ],
};

const IGNORED = new Set(["PreCompact", "PostCompact", "PostToolBatch.subagent", "MessageDisplay"]);

describe("captured payloads", () => {
  let setting: Setting;
  const told: RuntimeActivityEvent[] = [];
  let launches = 0;
  before(async () => {
    setting = await openSetting();
    await setting.addActor("claude", "claude");
    await setting.addActor("codex", "codex");
    setting.activity.follow(setting.group.group_id, {
      events: (events) => told.push(...events),
      gone: () => {},
    });
  });
  after(() => setting.close());

  /** Runs a sequence in a launch of its own and lets that end; what the stream told of it. */
  const replay = async (
    runtime: HookRuntime,
    payloads: readonly Payload[],
    look: (reasons: (string | null)[]) => void = () => {},
  ): Promise<RuntimeActivityEvent[]> => {
    told.length = 0;
    launches += 1;
    const launch = setting.launches.launch(setting.group, runtime);
    const reasons: (string | null)[] = [];
    for (const payload of payloads) {
      setting.clock.advance(7);
      // A session of its own in each run, so that runs don't meet in the store.
      const sessionId =
        typeof payload["session_id"] === "string" ? `${payload["session_id"]}-${launches}` : "";
      reasons.push((await setting.submit(launch, { ...payload, session_id: sessionId })).reason);
    }
    look(reasons);
    setting.launches.end(launch);
    const probe = setting.launches.launch(setting.group, runtime);
    // Submitted later, durable later: what the end closed has been told when this has.
    await setting.submit(probe, { hook_event_name: "SessionStart", session_id: `probe-${launches}` });
    const events = told.slice(0, -1);
    setting.launches.end(probe);
    setting.clock.advance(400_000);
    return events;
  };

  /** What must hold after any sequence. */
  const checkInvariants = (events: readonly RuntimeActivityEvent[]): void => {
    const last = new Map<string, RuntimeActivityEvent>();
    const ticker = new Ticker();
    for (const event of events) {
      const before = last.get(event.activity_id);
      if (before !== undefined && event.kind === "tool" && isTerminal(before.status))
        assert.ok(isTerminal(event.status), `${event.activity_id} was ended and is ${event.status}`);
      assert.ok(before === undefined || before.ts <= event.ts);
      assert.equal(event.duration_ms === null, !isTerminal(event.status));
      last.set(event.activity_id, event);
      ticker.apply(event, Date.parse(event.ts), { live: true });
    }
    assert.deepEqual(
      [...last.values()]
        .filter(({ status }) => !isTerminal(status))
        .map(({ activity_id: activityId }) => activityId),
      [],
      "something is still active after its process has ended",
    );
    assert.equal(new Set(events.map(({ id }) => id)).size, events.length);
    const end =
      Date.parse(events.at(-1)?.ts ?? "2026-01-01") + LIMITS.activity.browser.completedSeconds * 1000;
    assert.equal(ticker.items(end).size, 0);
    assert.equal(ticker.size, 0);
  };

  for (const runtime of ["claude", "codex"] as const) {
    it(`${runtime}: in order, everything counts that has a meaning`, async () => {
      const payloads = session(runtime, ORDERS[runtime]);
      const events = await replay(runtime, payloads, (reasons) => {
        const discarded = ORDERS[runtime].filter((_, index) => reasons[index] !== null);
        const expected = ORDERS[runtime].filter((name) => IGNORED.has(name));
        // The open session is compacted, the idle turn has ended, a subagent's first prompt belongs
        // to its start.
        if (runtime === "claude") expected.push("SessionStart.compact", "Notification.idle_prompt");
        else expected.push("UserPromptSubmit.subagent");
        assert.deepEqual(discarded.toSorted(), expected.toSorted());
      });
      checkInvariants(events);
      const ends = events.filter(({ kind, status }) => kind === "tool" && status === "failed");
      assert.deepEqual(
        ends.map(({ event_type: eventType, tool_name: toolName }) => `${eventType} ${toolName}`),
        runtime === "claude"
          ? ["PostToolUseFailure mcp__probe__probe_fail"]
          : // Codex tells nothing of a tool that failed.
            ["TurnSuperseded mcp__probe__probe_fail", "TurnSuperseded multi_agent_v1wait_agent"],
      );
    });

    it(`${runtime}: every captured payload is one that we can read`, async () => {
      const kinds = new Set<string>();
      for (const [name, payload] of fixtures(runtime)) {
        await replay(runtime, [payload], ([reason]) => {
          assert.notEqual(reason, "malformed", name);
          kinds.add(String(payload["hook_event_name"]));
        });
      }
      assert.ok(kinds.size > 10);
    });

    it(`${runtime}: whatever is lost, late, doubled or out of order, nothing stays active and no end is taken back`, async () => {
      const names = [...fixtures(runtime).keys()];
      const payloads = session(runtime, names);
      const ordered = session(runtime, ORDERS[runtime]);
      const orders = fc.oneof(
        // Truncated.
        fc.nat(ordered.length).map((count) => ordered.slice(0, count)),
        // Some lost, some doubled.
        fc
          .array(fc.nat(3), { minLength: ordered.length, maxLength: ordered.length })
          .map((counts) =>
            ordered.flatMap((payload, index) => Array<Payload>(Math.min(2, counts[index]!)).fill(payload)),
          ),
        // One late.
        fc.tuple(fc.nat(ordered.length - 1), fc.nat(ordered.length - 1)).map(([from, to]) => {
          const late = [...ordered];
          late.splice(Math.max(from, to), 0, ...late.splice(Math.min(from, to), 1));
          return late;
        }),
        // Anything.
        fc.shuffledSubarray([...payloads, ...ordered]),
        fc.shuffledSubarray(payloads).map((some) => [ordered[0]!, ...some]),
      );
      await fc.assert(
        fc.asyncProperty(orders, async (order) => checkInvariants(await replay(runtime, order))),
        { numRuns: 150 },
      );
    }).timeout(120_000);
  }

  it("codex: the captured payloads are what its own schemas say", () => {
    const directory = join(import.meta.dirname, "../fixtures/hooks/codex-schemas");
    for (const name of readdirSync(directory)) {
      const schema = JSON.parse(readFileSync(join(directory, name), "utf8")) as {
        required: string[];
        properties: { hook_event_name: { const?: string; enum?: string[] } };
      };
      const { const: one, enum: some } = schema.properties.hook_event_name;
      const event = one ?? some?.[0];
      const captured = [...fixtures("codex").values()].filter(
        ({ hook_event_name: hookEventName }) => hookEventName === event,
      );
      assert.ok(captured.length > 0, name);
      for (const payload of captured)
        for (const field of schema.required) assert.ok(field in payload, `${name}: ${field}`);
    }
  });
});
