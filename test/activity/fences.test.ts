import assert from "node:assert/strict";
import type { RuntimeActivityEvent } from "../../shared/activity/event.ts";
import { verifies } from "../requirements.ts";
import { claude, codex, openSetting, type Payload, type Setting } from "./setting.ts";

/** `kind/status event_type tool operation` of what is shown for an activity now. */
function line({
  kind,
  status,
  event_type: eventType,
  tool_name: toolName,
  operation_id: operationId,
}: RuntimeActivityEvent): string {
  return [`${kind}/${status}`, eventType, toolName, operationId].filter((part) => part !== "").join(" ");
}

describe("hook fences", () => {
  let setting: Setting;
  beforeEach(async () => {
    setting = await openSetting();
    await setting.addActor("ann", "claude");
    await setting.addActor("bob", "codex");
  });
  afterEach(() => setting.close());

  const run = (actor: string) => {
    const launch = setting.launches.launch(setting.group, actor);
    /** Submits in order and answers with null for what counts, else the fence. */
    return async (...payloads: Payload[]): Promise<(string | null)[]> => {
      const reasons: (string | null)[] = [];
      for (const payload of payloads) {
        setting.clock.advance(10);
        reasons.push((await setting.submit(launch, payload)).reason);
      }
      return reasons;
    };
  };
  const shown = (): string[] => setting.snapshot().map(line);

  it("turns each hook event into its kind and status", async () => {
    verifies("HOOK-003", "ACT-012", "ACT-013", "ACT-014", "HOOK-004", "HOOK-005");
    const told: string[] = [];
    setting.activity.follow(setting.group.group_id, {
      events: (events) => told.push(...events.map(line)),
      gone: () => {},
    });
    const submit = run("ann");
    const { event, start, end, prompt, stop, pre, post, fail, ask, notify } = claude();
    await submit(start(), prompt("p1"), pre("t1"), ask(), notify("permission_prompt"), post("t1"));
    await submit(pre("t2"), fail("t2"), event("SubagentStart", { agent_id: "a1" }));
    await submit(event("SubagentStop", { agent_id: "a1" }), stop("p1"), prompt("p2"));
    await submit(event("StopFailure", { prompt_id: "p2" }), prompt("p3"), notify("idle_prompt"), end());
    assert.deepEqual(told, [
      "session/started SessionStart",
      "turn/started UserPromptSubmit",
      "tool/started PreToolUse Bash t1",
      "tool/waiting PermissionRequest Bash t1",
      "turn/waiting Notification",
      "tool/completed PostToolUse Bash t1",
      "tool/started PreToolUse Bash t2",
      "tool/failed PostToolUseFailure Bash t2",
      "subagent/started SubagentStart a1",
      "subagent/completed SubagentStop a1",
      "turn/completed Stop",
      "turn/started UserPromptSubmit",
      "turn/failed StopFailure",
      "turn/started UserPromptSubmit",
      "turn/completed Notification",
      "session/completed SessionEnd",
    ]);
    const more = run("bob");
    const turn = codex("u1");
    await more(turn.start(), turn.prompt(), turn.pre("c1"), turn.event("Interrupt"));
    assert.deepEqual(told.slice(16), [
      "session/started SessionStart",
      "turn/started UserPromptSubmit",
      "tool/started PreToolUse Bash c1",
      "tool/failed UserInterrupt Bash c1",
      "turn/failed Interrupt",
    ]);
  });

  it("believes only the launch that was committed and lives", async () => {
    verifies("HOOK-002", "HOOK-011", "WRK-008");
    const { launches, group } = setting;
    const old = launches.launch(group, "ann");
    assert.equal((await setting.submit(old, claude().start())).accepted, true);
    const before = setting.stored("ann");
    launches.end(old);
    assert.equal((await setting.submit(old, claude("s2").start())).reason, "launch");
    const now = launches.launch(group, "ann");
    assert.equal((await setting.submit(old, claude("s2").start())).reason, "launch", "an old token");
    launches.disk.set(`${group.group_id}/ann`, { ...now, pid: 1 });
    assert.equal((await setting.submit(now, claude("s2").start())).reason, "launch", "another process");
    launches.disk.set(`${group.group_id}/ann`, "corrupt");
    assert.equal((await setting.submit(now, claude("s2").start())).reason, "launch", "a corrupt identity");
    launches.disk.set(`${group.group_id}/ann`, { ...now });
    launches.dead.add(now);
    assert.equal((await setting.submit(now, claude("s2").start())).reason, "launch", "a dead process");
    launches.dead.clear();
    assert.equal(
      (await setting.submit({ ...now, generation: "another" }, claude().start())).reason,
      "launch",
    );
    assert.equal(
      setting.stored("ann").filter(({ event }) => event.session_id === "s2").length,
      0,
      "nothing of it is kept",
    );
    assert.equal(before.length, 1);
    assert.equal((await setting.submit(now, claude("s2").start())).accepted, true);
  });

  it("takes nothing from a runtime whose hooks aren't verified", async () => {
    verifies("HOOK-004");
    await setting.addActor("gem", "gemini");
    const launch = setting.launches.launch(setting.group, "gem", { has_hooks: true });
    assert.equal((await setting.submit(launch, claude().start())).reason, "launch");
  });

  it("waits for the process id of a launch that is being started", async () => {
    const launch = setting.launches.launch(setting.group, "ann", { pid: null });
    const submitted = setting.submit(launch, claude().start());
    setting.launches.bind(launch, 77);
    assert.equal((await submitted).accepted, true);
  });

  it("keeps to the session that its SessionStart opened", async () => {
    const submit = run("ann");
    const one = claude("s1");
    const two = claude("s2");
    assert.deepEqual(await submit(one.pre("t0"), one.prompt("p0")), ["session", "session"]);
    assert.deepEqual(await submit(one.start(), one.start(), one.pre("t1"), two.pre("t2")), [
      null,
      "session",
      null,
      "session",
    ]);
    assert.deepEqual(await submit(one.end("clear"), one.pre("t3"), one.start()), [
      null,
      "session",
      "session",
    ]);
    assert.deepEqual(await submit(two.start("clear"), two.pre("t4"), one.post("t1")), [
      null,
      null,
      "session",
    ]);
    assert.deepEqual(await submit(two.end(), one.start("resume"), one.pre("t5")), [null, null, null]);
    assert.deepEqual(await submit(two.start("resume")), [null], "a session may take another's place");
    assert.deepEqual(
      shown().filter((text) => text.includes("t5")),
      ["tool/failed SessionEnded Bash t5"],
    );
  });

  it("claude: of two sessions that start together, the prompted one goes on", async () => {
    const submit = run("ann");
    const [first, fork, empty, unknown] = ["s1", "s2", "s3", "s4"].map((id) => claude(id));
    await submit(first!.start(), first!.prompt("p1"), first!.stop("p1"));
    assert.deepEqual(await submit(fork!.start("fork"), empty!.start()), [null, null]);
    assert.deepEqual(await submit(fork!.pre("t0"), unknown!.prompt("p0")), ["session", "session"]);
    assert.deepEqual(await submit(fork!.prompt("p2"), fork!.pre("t1"), empty!.pre("t2")), [
      null,
      null,
      "session",
    ]);
    assert.deepEqual(
      shown()
        .filter((text) => text.includes("started"))
        .sort(),
      [
        "session/started UserPromptSubmit",
        "tool/started PreToolUse Bash t1",
        "turn/started UserPromptSubmit",
      ],
    );
    assert.deepEqual(await submit(fork!.post("t1"), fork!.stop("p2"), fork!.end()), [null, null, null]);
    assert.deepEqual(await submit(fork!.prompt("p3"), empty!.prompt("p4")), ["session", null]);
  });

  it("codex: a turn is opened once, and only its own events count", async () => {
    verifies("HOOK-008");
    const submit = run("bob");
    const one = codex("u1");
    const two = codex("u2");
    assert.deepEqual(await submit(one.start(), one.pre("c0"), one.prompt(), one.prompt()), [
      null,
      "turn",
      null,
      "turn",
    ]);
    assert.deepEqual(await submit(one.pre("c1"), two.pre("c2"), two.stop()), [null, "turn", "turn"]);
    assert.deepEqual(await submit(two.prompt(), one.post("c1"), one.stop(), one.prompt()), [
      null,
      "turn",
      "turn",
      "turn",
    ]);
    assert.deepEqual(shown(), [
      "session/started SessionStart",
      "tool/failed TurnSuperseded Bash c1",
      "turn/failed TurnSuperseded",
      "turn/started UserPromptSubmit",
    ]);
    assert.deepEqual(await submit(two.pre("c3"), two.post("c4"), two.post("c3"), two.post("c3")), [
      null,
      "operation",
      null,
      "operation",
    ]);
    assert.deepEqual(await submit(two.stop(), two.pre("c5"), two.event("Interrupt")), [null, "turn", "turn"]);
  });

  it("an operation is used once; several may be open", async () => {
    verifies("HOOK-006", "ACT-010");
    const submit = run("ann");
    const { start, pre, post } = claude();
    assert.deepEqual(await submit(start(), pre("t1"), pre("t2"), pre("t1")), [null, null, null, "operation"]);
    assert.deepEqual(await submit(post("t2"), post("t1"), post("t1"), pre("t1")), [
      null,
      null,
      "operation",
      "operation",
    ]);
    const ids = setting.snapshot().map(({ activity_id: activityId }) => activityId);
    assert.deepEqual(ids, ["claude:s1:session:", "claude:s1:Bash:t2", "claude:s1:Bash:t1"]);
  });

  it("a permission request takes the latest open operation of its tool and agent", async () => {
    const submit = run("ann");
    const { start, pre, ask } = claude();
    assert.deepEqual(await submit(start(), ask()), [null, "operation"]);
    const sub = { agent_id: "a1" };
    await submit(pre("t1"), pre("t2", "Read"), pre("t3"), pre("t4", "Bash", sub));
    assert.deepEqual(await submit(ask("Write"), ask("Bash"), ask("Bash", sub)), ["operation", null, null]);
    assert.deepEqual(
      shown().filter((text) => text.includes("waiting")),
      ["tool/waiting PermissionRequest Bash t3", "tool/waiting PermissionRequest Bash t4"],
    );
  });

  it("claude: turn hooks open and close no fence for its tools", async () => {
    verifies("HOOK-007");
    const submit = run("ann");
    const { start, prompt, pre, post, stop } = claude();
    assert.deepEqual(await submit(start(), pre("t1"), prompt("p1"), post("t1")), [null, null, null, null]);
    assert.deepEqual(await submit(pre("t2"), stop("p1"), post("t2"), post("t2")), [
      null,
      null,
      null,
      "operation",
    ]);
    assert.deepEqual(shown().slice(-1), ["tool/completed PostToolUse Bash t2"], "how it really ended counts");
    assert.deepEqual(await submit(stop("p1"), prompt("p2"), prompt("p1"), stop("p1")), [
      "turn",
      null,
      null,
      "turn",
    ]);
  });

  it("the end of a session, a turn or an interrupt closes what is open below it, of that Actor and session only", async () => {
    verifies("ACT-023", "ACT-024", "ACT-025", "ACT-026");
    const other = run("ann");
    await other(claude("x").start(), claude("x").pre("other"));
    const submit = run("bob");
    const turn = (id: string) => codex(id);
    const agent = { agent_id: "a1" };
    const inTurn = async (id: string) => {
      await submit(turn(id).prompt(), turn(id).pre(`${id}-c`));
      await submit(turn(`${id}-a`).event("SubagentStart", agent));
      await submit(turn(`${id}-a`).pre(`${id}-sub`, "Read", agent));
    };
    await submit(turn("u1").start());
    await inTurn("u1");
    await submit(turn("u1").stop());
    const ended = (): string[] =>
      shown().filter((text) => !text.includes("session") && !text.includes("other"));
    const subagentEnds = (id: string) => submit(turn(`${id}-a`).event("SubagentStop", agent));
    const working = (id: string) => [
      "subagent/started SubagentStart a1",
      `tool/started PreToolUse Read ${id}-sub`,
    ];
    assert.deepEqual(ended(), [
      ...working("u1"),
      "tool/failed TurnSuperseded Bash u1-c",
      "turn/completed Stop",
    ]);
    await subagentEnds("u1");
    setting.clock.advance(20_000);
    await inTurn("u2");
    await submit(turn("u2").event("Interrupt"));
    assert.deepEqual(ended(), [
      ...working("u2"),
      "tool/failed UserInterrupt Bash u2-c",
      "turn/failed Interrupt",
    ]);
    await subagentEnds("u2");
    setting.clock.advance(20_000);
    await inTurn("u3");
    await submit(turn("u3").end());
    assert.deepEqual(ended(), [
      "tool/failed SessionEnded Bash u3-c",
      "tool/failed SessionEnded Read u3-sub",
      "subagent/failed SessionEnded a1",
      "turn/failed SessionEnded",
    ]);
    for (const event of setting.snapshot().filter(({ status }) => status === "failed"))
      assert.ok(event.duration_ms !== null && event.duration_ms > 0, line(event));
    assert.ok(shown().includes("tool/started PreToolUse Bash other"));
  });

  it("a subagent in the background goes on when its turn ends or is interrupted, until its own end", async () => {
    const submit = run("ann");
    const { start, prompt, pre, post, event } = claude();
    const agent = { agent_id: "a1" };
    const stop = (promptId: string, backgroundTasks: unknown) =>
      event("Stop", { prompt_id: promptId, background_tasks: backgroundTasks });
    const listed = [
      { id: "a1", type: "subagent", status: "running", description: "d", agent_type: "general-purpose" },
      { id: "b1", type: "shell", status: "running" },
      null,
    ];
    const open = (): string[] =>
      shown().filter((text) => /(tool|subagent|turn)\/(started|waiting)/.test(text));
    const working = ["subagent/started SubagentStart a1", "tool/started PreToolUse Bash s1"];
    await submit(
      start(),
      prompt("p1"),
      pre("t1", "Agent"),
      event("SubagentStart", agent),
      post("t1", "Agent"),
    );
    await submit(pre("s1", "Bash", agent), stop("p1", listed));
    assert.deepEqual(open(), working);
    await submit(prompt("p2"), pre("t2"));
    setting.activity.interrupted(setting.launches.current(setting.group.group_id, "ann")!);
    await submit(prompt("p3"), stop("p3", listed));
    assert.deepEqual(open(), working);
    await submit(post("s1", "Bash", agent), event("SubagentStop", { ...agent, background_tasks: listed }));
    assert.deepEqual(open(), []);
    assert.ok(shown().includes("subagent/completed SubagentStop a1"));
    // One that its turn waits for ends with it, and so does one that isn't listed any more.
    await submit(prompt("p4"), pre("t4", "Agent"), event("SubagentStart", { agent_id: "a2" }));
    setting.activity.interrupted(setting.launches.current(setting.group.group_id, "ann")!);
    await submit(event("SubagentStart", { agent_id: "a3" }), prompt("p5"), stop("p5", []));
    assert.deepEqual(open(), []);
  });

  it("events of a subagent never open or close its parent's turn; its own turns are fenced apart", async () => {
    const submit = run("bob");
    const parent = codex("u1");
    const child = codex("v1");
    const next = codex("v2");
    const agent = { agent_id: "a1" };
    await submit(parent.start(), parent.prompt());
    assert.deepEqual(await submit(child.pre("c0", "Bash", agent)), ["turn"], "it hasn't started");
    assert.deepEqual(
      await submit(child.event("SubagentStart", agent), child.prompt(agent), child.pre("c1", "Bash", agent)),
      [null, "turn", null],
    );
    assert.deepEqual(await submit(parent.pre("c2", "Bash", agent), child.event("Stop", agent)), [
      "turn",
      "ignored",
    ]);
    assert.deepEqual(await submit(parent.pre("c3"), child.post("c1", "Bash", agent)), [null, null]);
    assert.deepEqual(await submit(next.prompt(agent), child.pre("c4", "Bash", agent)), [null, "turn"]);
    assert.deepEqual(
      await submit(
        next.pre("c5", "Bash", agent),
        next.event("SubagentStop", agent),
        child.event("SubagentStart", agent),
      ),
      [null, null, "turn"],
    );
    assert.deepEqual(
      shown().toSorted(),
      [
        "session/started SessionStart",
        "turn/started UserPromptSubmit",
        "tool/completed PostToolUse Bash c1",
        "tool/started PreToolUse Bash c3",
        "tool/failed TurnSuperseded Bash c5",
        "turn/completed SubagentStop",
        "subagent/completed SubagentStop a1",
      ].toSorted(),
    );
    assert.deepEqual(await submit(parent.post("c3"), parent.stop()), [null, null]);
  });

  it("claude: an interrupt is inferred from the terminal, and only when something is under way", async () => {
    verifies("ACT-024");
    const { launches, activity, group } = setting;
    const launch = launches.launch(group, "ann");
    const { start, prompt, pre, fail } = claude();
    const told: string[] = [];
    activity.follow(group.group_id, { events: (events) => told.push(...events.map(line)), gone: () => {} });
    await setting.submit(launch, start());
    activity.interrupted(launch);
    assert.equal(told.length, 1);
    for (const payload of [prompt("p1"), pre("t1")]) await setting.submit(launch, payload);
    activity.interrupted(launch);
    // What was submitted later is durable later.
    assert.equal((await setting.submit(launch, fail("t1"))).accepted, true, "it may still say how it ended");
    assert.deepEqual(told.slice(3), [
      "tool/failed UserInterrupt Bash t1",
      "turn/failed UserInterrupt",
      "tool/failed PostToolUseFailure Bash t1",
    ]);
    const bob = launches.launch(group, "bob");
    for (const payload of [codex("u1").start(), codex("u1").prompt()]) await setting.submit(bob, payload);
    activity.interrupted(bob);
    assert.equal((await setting.submit(bob, codex("u1").pre("c1"))).accepted, true, "Codex tells by itself");
  });

  it("the end of the process closes everything", async () => {
    const { launches, group } = setting;
    const launch = launches.launch(group, "ann");
    const { start, prompt, pre } = claude();
    for (const payload of [start(), prompt("p1"), pre("t1")]) await setting.submit(launch, payload);
    launches.end(launch);
    const next = launches.launch(group, "ann");
    assert.equal((await setting.submit(next, claude("s2").start())).accepted, true);
    assert.deepEqual(shown(), [
      "tool/failed SessionEnded Bash t1",
      "turn/failed SessionEnded",
      "session/failed SessionEnded",
      "session/started SessionStart",
    ]);
  });

  it("refuses what isn't a hook, and ignores events without a meaning here", async () => {
    const submit = run("ann");
    const { event, start, pre, notify } = claude();
    await submit(start());
    assert.deepEqual(
      await submit(
        event("PreCompact"),
        event("constructor"),
        notify("toString"),
        pre(""),
        pre("has space"),
        pre("x".repeat(129)),
        { hook_event_name: "PreToolUse", tool_name: "Bash", tool_use_id: "t" },
        event("PreToolUse", { tool_use_id: "t", tool_name: 7 }),
        event("SubagentStart"),
      ),
      ["ignored", "ignored", "ignored", ...Array.from({ length: 6 }, () => "malformed")],
    );
    await assert.rejects(setting.submit(setting.launches.running()[0]!, { session_id: "s1" }));
    const bob = setting.launches.launch(setting.group, "bob");
    await setting.submit(bob, codex("u1").start());
    assert.equal((await setting.submit(bob, claude().pre("t"))).reason, "malformed", "no turn_id");
  });

  it("reduces a tool's name to a label", async () => {
    verifies("ACT-016", "ACT-017");
    const submit = run("ann");
    const { start, pre, post } = claude();
    await submit(start(), pre("t1", "a b;rm -rf /\u202e✨"), pre("t2", "n".repeat(100)), pre("t3", "✨"));
    assert.deepEqual(
      setting.snapshot().map(({ tool_name: toolName }) => toolName),
      ["", "abrm-rf/", "n".repeat(64), ""],
    );
    assert.deepEqual(await submit(post("t1", "a b;rm -rf /\u202e✨"), post("t3", "✨")), [null, null]);
  });

  it("tells whoever waits for proof of a prompt, with its text and before any fence but the launch's", async () => {
    const { activity, launches, group } = setting;
    const prompts: [string, string][] = [];
    activity.onPrompt((launch, prompt) => prompts.push([launch.actor_id, prompt]));
    const launch = launches.launch(group, "bob");
    const turn = codex("u1");
    await setting.submit(launch, turn.prompt({ prompt: "without a session" }));
    await setting.submit(launch, turn.prompt({ prompt: "a subagent's", agent_id: "a1" }));
    await setting.submit(launch, turn.start());
    await setting.submit(launch, turn.prompt({ prompt: "one" }));
    await setting.submit(launch, turn.prompt({ prompt: "queued into the same turn" }));
    await setting.submit({ ...launch, token_digest: "stale" }, turn.prompt({ prompt: "stale" }));
    assert.deepEqual(prompts, [
      ["bob", "without a session"],
      ["bob", "one"],
      ["bob", "queued into the same turn"],
    ]);
  });
});
