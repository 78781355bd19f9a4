import assert from "node:assert/strict";
import type { Launch } from "../../daemon/activity/launches.ts";
import { verifies } from "../requirements.ts";
import { diskError, FaultyFiles } from "../support/faulty-files.ts";
import { until } from "../support/until.ts";
import { claude, codex, type Mutable, openSetting, type Payload, type Setting } from "./setting.ts";

describe("working state", () => {
  let files: FaultyFiles;
  let setting: Setting;
  let launch: Mutable<Launch>;
  const { start, end, prompt, stop, pre, post, ask, notify, event } = claude();
  beforeEach(async () => {
    files = new FaultyFiles();
    setting = await openSetting(files);
    await setting.addActor("ann", "claude");
    launch = setting.launches.launch(setting.group, "ann");
  });
  afterEach(() => setting.close());

  const state = (actor = "ann") => {
    const { state, reason, attention } = setting.activity.workingState(
      setting.group.group_id,
      setting.group.actor(actor),
    );
    return { state, reason, attention };
  };
  const submit = async (...payloads: Payload[]): Promise<void> => {
    for (const payload of payloads) await setting.submit(launch, payload);
  };
  const after = async (seconds: number) => {
    setting.clock.advance(seconds * 1000);
    return state();
  };
  /** States that the ledger has, once it has taken them. */
  const noted = async (count: number): Promise<string[]> => {
    await until(`${count} states in the ledger`, () => setting.states().length >= count);
    return setting.states().map((row) => `${row.id} ${row.effective_working_state}`);
  };

  it("follows the hooks, a second later at most, with the reason in words", async () => {
    verifies("WRK-001", "WRK-002");
    assert.equal(state().state, "unavailable");
    await submit(start());
    assert.equal((await after(1)).state, "idle");
    await submit(prompt("p1"));
    assert.equal(state().state, "idle", "not before it is derived");
    assert.deepEqual(await after(1), { state: "working", reason: "works on a prompt", attention: false });
    await submit(pre("t1"));
    assert.equal((await after(1)).reason, "uses Bash");
    await submit(ask());
    assert.deepEqual(await after(1), {
      state: "waiting",
      reason: "waits for permission to use Bash",
      attention: true,
    });
    await submit(post("t1"));
    assert.equal((await after(1)).state, "working");
    await submit(notify("elicitation_dialog"));
    assert.equal((await after(1)).reason, "waits for your answer");
    await submit(pre("t2"), post("t2"));
    assert.equal((await after(1)).state, "working");
    await submit(stop("p1"));
    assert.deepEqual(await after(1), { state: "idle", reason: "ready", attention: false });
    await submit(event("SubagentStart", { agent_id: "a1" }));
    assert.equal((await after(1)).reason, "a subagent works");
    await submit(pre("s1", "Bash", { agent_id: "a1" }));
    assert.equal((await after(1)).reason, "a subagent uses Bash");
    await submit(event("SubagentStop", { agent_id: "a1" }), prompt("p2"));
    setting.activity.interrupted(launch);
    // Durable after the interrupt, so that it is durable then, too.
    await submit(event("SubagentStart", { agent_id: "a2" }), event("SubagentStop", { agent_id: "a2" }));
    assert.equal((await after(1)).reason, "ready; it was interrupted");
    assert.deepEqual(await noted(10), [
      "ann unavailable",
      "ann idle",
      "ann working",
      "ann waiting",
      "ann working",
      "ann waiting",
      "ann working",
      "ann idle",
      "ann working",
      "ann idle",
    ]);
  });

  it("says of an open turn what it does itself, not what a subagent does in the background", async () => {
    await submit(start(), prompt("p1"), pre("t1", "Agent"), event("SubagentStart", { agent_id: "a1" }));
    await submit(pre("s1", "Bash", { agent_id: "a1" }));
    assert.equal((await after(1)).reason, "uses Bash", "the turn waits for it");
    await submit(post("t1", "Agent"));
    assert.equal((await after(1)).reason, "works on a prompt");
    await submit(pre("t2", "Read"), pre("s2", "Grep", { agent_id: "a1" }));
    assert.equal((await after(1)).reason, "uses Read");
    const backgroundTasks = [{ id: "a1", type: "subagent", status: "running" }];
    await submit(post("t2", "Read"), event("Stop", { prompt_id: "p1", background_tasks: backgroundTasks }));
    assert.equal((await after(1)).reason, "a subagent uses Grep");
  });

  it("appends only on a change, and when a running Actor stops; nothing is looked at when nothing runs", async () => {
    verifies("WRK-009", "WRK-010");
    await submit(start(), prompt("p1"), pre("t1"));
    await after(1);
    const before = await noted(2);
    await after(30);
    await submit(post("t1"), pre("t2"));
    await after(30);
    assert.deepEqual(await noted(2), before);
    const armed = setting.clock.timers;
    setting.launches.end(launch, "exited with code 3");
    assert.deepEqual(await noted(3), [...before, "ann stopped"]);
    const last = setting.states().at(-1)!;
    assert.deepEqual(
      [last.running, last.runner_effective, last.effective_working_reason],
      [false, "pty", "exited with code 3"],
    );
    assert.equal(typeof last.idle_seconds, "number");
    setting.clock.advance(1000);
    assert.equal(setting.clock.timers, armed - 1);
    assert.equal(state().reason, "exited with code 3");
  });

  it("counts hooks only while process, committed identity and hook state agree", async () => {
    verifies("WRK-003", "WRK-007");
    await submit(start(), prompt("p1"));
    assert.equal((await after(1)).state, "working");
    const slot = `${launch.group_id}/${launch.actor_id}`;
    for (const change of [{ runtime: "codex" }, { pid: 1 }, { token_digest: "another" }] as const) {
      setting.launches.disk.set(slot, { ...launch, ...change });
      assert.deepEqual((await after(1)).state, "unavailable", JSON.stringify(change));
      setting.launches.disk.set(slot, { ...launch });
      assert.equal((await after(1)).state, "working");
      const real = { ...launch };
      Object.assign(launch, change);
      setting.launches.disk.set(slot, { ...launch });
      assert.deepEqual((await after(1)).state, "unavailable", `the process: ${JSON.stringify(change)}`);
      Object.assign(launch, real);
      setting.launches.disk.set(slot, real);
    }
    setting.launches.disk.set(slot, "corrupt");
    assert.deepEqual(await after(1), {
      state: "unavailable",
      reason: "its launch identity can't be read",
      attention: false,
    });
    setting.launches.disk.set(slot, { ...launch });
    setting.launches.dead.add(launch);
    assert.equal((await after(1)).reason, "its process is gone");
  });

  it("is unavailable after a restart of the Actor or of the daemon, whatever late events say", async () => {
    verifies("WRK-004", "WRK-005", "WRK-008");
    await submit(start(), prompt("p1"));
    assert.equal((await after(1)).state, "working");
    setting.launches.end(launch, "stopped");
    assert.equal(state().state, "stopped");
    const old = launch;
    launch = setting.launches.launch(setting.group, "ann");
    assert.equal(state().state, "unavailable");
    await setting.submit(old, claude("s2").start());
    assert.deepEqual((await after(1)).reason, "hasn't reported anything yet");
    await submit(claude("s2").start());
    assert.equal((await after(1)).state, "idle");
    const before = setting.states().length;
    setting = await setting.reopen();
    assert.equal(state().state, "stopped");
    assert.ok(setting.states().length >= before);
    setting.launches.launch(setting.group, "ann");
    assert.equal(state().state, "unavailable");
  });

  it("a late word of an earlier process's end doesn't stop the one that runs", async () => {
    const next = setting.launches.launch(setting.group, "ann");
    const slot = `${launch.group_id}/${launch.actor_id}`;
    setting.launches.end(launch);
    setting.launches.live.set(slot, next);
    setting.launches.disk.set(slot, { ...next });
    launch = next;
    await submit(start());
    assert.equal((await after(1)).state, "idle");
  });

  it("says so when a command tells nothing, or not yet", async () => {
    verifies("WRK-006");
    await setting.addActor("gem", "gemini");
    setting.launches.launch(setting.group, "gem");
    assert.deepEqual(state("gem"), {
      state: "unavailable",
      reason: "running; its command doesn't report what it does",
      attention: false,
    });
    await setting.addActor("bob", "codex");
    const bob = setting.launches.launch(setting.group, "bob", { pid: null });
    setting.clock.advance(1000);
    assert.equal(state("bob").reason, "is starting");
    setting.launches.bind(bob, 5);
    assert.equal(state("bob").reason, "running; it reports what it does from its first prompt on");
    await submit(start(), end());
    assert.equal((await after(1)).reason, "its session has ended");
  });

  it("is unavailable rather than stale: a damaged file, an event that couldn't be kept, a turn that never ends", async () => {
    await submit(start(), prompt("p1"));
    assert.equal((await after(1)).state, "working");
    files.fail = (step) => (step === "write" ? diskError("ENOSPC") : null);
    await setting.submit(launch, stop("p1"));
    assert.equal((await after(1)).reason, "one of its reports couldn't be saved");
    files.fail = () => null;
    await submit(pre("t1"));
    assert.equal((await after(1)).state, "working");

    const { group } = setting;
    await setting.addActor("bob", "codex");
    const bob = setting.launches.launch(group, "bob");
    for (const payload of [codex("u1").start(), codex("u1").prompt()]) await setting.submit(bob, payload);
    setting.launches.quiet = 10;
    await after(130);
    assert.equal(state("bob").state, "working", "its terminal moves");
    setting.launches.quiet = 125;
    await after(1);
    assert.equal(state("bob").state, "unavailable");
    setting.launches.quiet = 0;
    await after(1);
    assert.equal(state("bob").state, "working");
  });

  it("tells about changes of state and reason, and tries the ledger again until it has them", async () => {
    const told: string[] = [];
    setting.activity.onPresence((_group, actor) => told.push(`${actor} ${state().reason}`));
    await submit(start(), prompt("p1"));
    await after(1);
    await submit(pre("t1"));
    await after(5);
    assert.deepEqual(told, ["ann works on a prompt", "ann uses Bash"]);
    const before = (await noted(2)).length;
    const { ledger } = setting.group;
    const append = ledger.append.bind(ledger);
    ledger.append = () => Promise.reject(diskError("ENOSPC"));
    await submit(stop("p1"));
    for (let second = 0; second < 5; second += 1) {
      await after(1);
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(
      setting.log.lines.filter(({ event }) => event === "actor.activity").length,
      1,
      "logged once",
    );
    ledger.append = append;
    await after(2);
    assert.equal((await noted(before + 1)).at(-1), "ann idle");
  });
});
