import assert from "node:assert/strict";
import { RuntimeActivityEvent } from "../../shared/activity/event.ts";
import { Ticker } from "../../shared/activity/projection.ts";
import { verifies } from "../requirements.ts";

const START = Date.parse("2026-01-01T00:00:00.000Z");
let revisions = 0;

/** An event of an activity `seconds` after the start. */
function event(seconds: number, change: Partial<RuntimeActivityEvent> = {}): RuntimeActivityEvent {
  revisions += 1;
  const {
    kind = "tool",
    runtime = "codex",
    operation_id: operationId = "c1",
    tool_name: toolName = "Bash",
  } = change;
  const part = kind === "tool" ? `${toolName}:${operationId}` : `${kind}:u1`;
  return RuntimeActivityEvent.parse({
    v: 1,
    id: `r${revisions}`,
    ts: new Date(START + seconds * 1000).toISOString(),
    group_id: "g_00000000000a",
    actor_id: "ann",
    runtime,
    activity_id: `${runtime}:s1:${part}:${change.actor_id ?? ""}`,
    kind,
    status: "started",
    event_type: "PreToolUse",
    session_id: "s1",
    turn_id: "u1",
    operation_id: kind === "tool" ? operationId : "",
    tool_name: kind === "tool" ? toolName : "",
    duration_ms: null,
    ...change,
  });
}

describe("ticker projection", () => {
  const at = (seconds: number): number => START + seconds * 1000;
  const showing = (...events: RuntimeActivityEvent[]) => {
    const ticker = new Ticker();
    for (const one of events) ticker.apply(one, Date.parse(one.ts), { live: true });
    return ticker;
  };
  const texts = (ticker: Ticker, seconds: number, actor = "ann"): string[] =>
    (ticker.items(at(seconds)).get(actor) ?? []).map(({ text }) => text);

  it("shows tools only, by their label and status", () => {
    verifies("TICK-012", "TICK-013", "TICK-014", "TICK-015", "TICK-005");
    const others = (["session", "turn", "subagent"] as const).map((kind) => event(0, { kind }));
    assert.deepEqual(texts(showing(...others), 0), []);
    const ticker = showing(event(0));
    assert.deepEqual(texts(ticker, 0), ["Bash is running"]);
    ticker.apply(event(1, { status: "waiting" }), at(1), { live: true });
    assert.deepEqual(texts(ticker, 1), ["Bash waits for permission"]);
    const asks = event(1, { status: "waiting", tool_name: "AskUserQuestion" });
    assert.deepEqual(texts(showing(asks), 1), ["asks you a question"]);
    ticker.apply(event(2, { status: "completed" }), at(2), { live: true });
    assert.deepEqual(texts(ticker, 2), ["Bash is done"]);
    assert.deepEqual(texts(showing(event(0, { status: "failed" })), 0), ["Bash failed"]);
    assert.deepEqual(texts(showing(event(0, { tool_name: "" })), 0), []);
  });

  it("keeps Actors apart that resumed one session, and forgets what ended unseen", () => {
    const same = { activity_id: "claude:s1:Bash:t1", runtime: "claude" } as const;
    const ticker = showing(event(0, { ...same, actor_id: "ann" }), event(0, { ...same, actor_id: "bob" }));
    ticker.apply(event(1, { ...same, actor_id: "bob", status: "completed" }), at(1), { live: true });
    assert.deepEqual(texts(ticker, 1, "ann"), ["Bash is running"]);
    assert.deepEqual(texts(ticker, 1, "bob"), ["Bash is done"]);
    ticker.restore([event(2, { operation_id: "c2", tool_name: "Read" })], at(3));
    assert.deepEqual(texts(ticker, 3, "ann"), ["Read is running"]);
    assert.deepEqual(texts(ticker, 3, "bob"), ["Bash is done"]);
  });

  it("a started tool or turn without progress for a minute is stuck; nothing else is", () => {
    verifies("TICK-006", "TICK-007", "TICK-008");
    const ticker = showing(event(0), event(0, { operation_id: "c2", status: "waiting" }));
    assert.deepEqual(texts(ticker, 59), ["Bash is running", "Bash waits for permission"]);
    assert.deepEqual(texts(ticker, 61), ["Bash: no progress for a minute", "Bash waits for permission"]);
    const [item] = ticker.items(at(61)).get("ann")!;
    assert.equal(item!.activity.status, "stuck");
    assert.equal(item!.activity.event_type, "StuckDetected");
    assert.match(item!.activity.id, /^stuck:r\d+$/);
    const turn = showing(
      event(0, { kind: "turn" }),
      event(0, { kind: "subagent" }),
      event(0, { kind: "session" }),
    );
    assert.deepEqual(texts(turn, 59), []);
    assert.deepEqual(texts(turn, 61), ["No progress for a minute"]);
    const observational = showing(event(0, { kind: "turn", runtime: "claude" }));
    assert.deepEqual(texts(observational, 61), []);
  });

  it("a stuck tool suppresses the stuck turn of its own Actor only", () => {
    verifies("TICK-009", "TICK-010");
    const ticker = showing(
      event(0),
      event(0, { kind: "turn" }),
      event(0, { kind: "turn", actor_id: "bob" }),
      event(0, { kind: "turn", actor_id: "cid" }),
      event(30, { actor_id: "cid" }),
    );
    assert.deepEqual(texts(ticker, 61), ["Bash: no progress for a minute"]);
    assert.deepEqual(texts(ticker, 61, "bob"), ["No progress for a minute"]);
    assert.deepEqual(texts(ticker, 61, "cid"), ["No progress for a minute", "Bash is running"]);
  });

  it("a real end supersedes whatever is shown, whenever it was delivered; a late start never does", () => {
    verifies("TICK-011");
    const ticker = showing(event(10));
    ticker.apply(event(5, { status: "completed" }), at(75), { live: true });
    assert.deepEqual(texts(ticker, 75), ["Bash is done"]);
    ticker.apply(event(4), at(76), { live: true });
    ticker.apply(event(5), at(76), { live: true });
    assert.deepEqual(texts(ticker, 76), ["Bash is done"]);
    const waiting = showing(event(10, { status: "waiting" }));
    waiting.apply(event(9), at(11), { live: true });
    assert.deepEqual(texts(waiting, 11), ["Bash waits for permission"]);
  });

  it("keeps active records 5 minutes and ended ones 8 seconds, and says when to look again", () => {
    verifies("TICK-016", "TICK-020", "TICK-021");
    const ended = showing(event(0, { status: "completed" }));
    assert.deepEqual(texts(ended, 7.9), ["Bash is done"]);
    assert.equal(ended.nextChange(at(7.9)), 100);
    assert.deepEqual(texts(ended, 8), []);
    assert.equal(ended.size, 0);
    assert.equal(ended.nextChange(at(8)), null);
    const active = showing(event(0));
    assert.equal(active.nextChange(at(0)), 60_000);
    assert.equal(active.nextChange(at(60)), 240_000);
    assert.equal(texts(active, 299).length, 1);
    assert.deepEqual(texts(active, 301), []);
  });

  it("a restored record counts from its own time, a live one from its arrival, whatever the viewer's clock shows", () => {
    const old = event(0, { status: "completed" });
    const restored = new Ticker();
    restored.apply(old, at(10), { live: false });
    assert.deepEqual(texts(restored, 10), []);
    const live = new Ticker();
    live.apply(old, at(3600), { live: true });
    assert.deepEqual(texts(live, 3607), ["Bash is done"]);
    const ahead = new Ticker();
    ahead.apply(old, at(-3600), { live: false });
    assert.deepEqual(texts(ahead, -3593), ["Bash is done"]);
    assert.deepEqual(texts(ahead, -3592), []);
  });

  it("is bounded and can be cleared", () => {
    verifies("TICK-018");
    const ticker = new Ticker();
    for (let index = 0; index < 300; index += 1)
      ticker.apply(event(index / 1000, { operation_id: `c${index}` }), at(0), { live: true });
    assert.equal(ticker.size, 256);
    ticker.clear();
    assert.equal(ticker.size, 0);
    assert.equal(ticker.items(at(0)).size, 0);
  });
});
