/** Permissions: held and lost requests, and answers, which no hook tells. */
import assert from "node:assert/strict";
import type { Launch } from "../../daemon/activity/launches.ts";
import { LIMITS } from "../../shared/limits.ts";
import { claude, codex, openSetting, type Payload, type Setting } from "./setting.ts";

const SILENT = LIMITS.activity.assumedSilenceSeconds;

describe("a runtime that asks for permission", () => {
  let setting: Setting;
  let launch: Launch;
  beforeEach(async () => {
    setting = await openSetting();
    await setting.addActor("ann", "claude");
    await setting.addActor("bob", "codex");
    launch = setting.launches.launch(setting.group, "ann");
  });
  afterEach(() => setting.close());

  const submit = async (...payloads: Payload[]): Promise<void> => {
    for (const payload of payloads) await setting.submit(launch, payload);
  };
  /** What is said after some looks, of which there is one in each second. */
  const after = async (seconds: number): Promise<string> => {
    for (let second = 0; second < seconds; second += 1) {
      setting.clock.advance(1000);
      await setting.activity.settled();
    }
    setting.clock.advance(1000);
    const { state, reason } = setting.activity.workingState(
      setting.group.group_id,
      setting.group.actor(launch.actor_id),
    );
    return `${state}: ${reason}`;
  };
  const { start, prompt, pre, post, ask, notify, stop } = claude();

  it("waits as long as its question is on the screen, or was never seen there", async () => {
    setting.launches.quiet = 1000;
    await submit(start(), prompt("p1"), pre("t1"), ask());
    assert.equal(await after(30), "waiting: waits for permission to use Bash");
    setting.launches.question = true;
    assert.equal(await after(30), "waiting: waits for permission to use Bash");
    await submit(post("t1", "Bash", { prompt_id: "p1" }));
    assert.equal(await after(0), "working: works on a prompt");
  });

  it("works once its question has gone from the screen; one look without it isn't enough", async () => {
    setting.launches.question = true;
    await submit(start(), prompt("p1"), pre("t1"), ask());
    await after(1);
    setting.launches.question = false;
    assert.match(await after(0), /^waiting/);
    setting.launches.question = true;
    assert.match(await after(3), /^waiting/);
    setting.launches.question = false;
    assert.equal(await after(3), "working: uses Bash");
    assert.deepEqual(
      setting.snapshot().map(({ kind, status }) => `${kind} ${status}`),
      ["session started", "turn started", "tool started"],
    );
    setting.launches.quiet = 0;
    assert.equal(await after(SILENT * 2), "working: uses Bash", "its terminal shows that it works");
    await submit(post("t1", "Bash", { prompt_id: "p1" }), stop("p1"));
    assert.equal(await after(0), "idle: ready");
  });

  it("is ready when the answer was No: Claude tells nothing of it, and its terminal is silent", async () => {
    setting.launches.question = true;
    await submit(start(), prompt("p1"), pre("t1", "Write"), ask("Write"), notify("permission_prompt"));
    await after(1);
    setting.launches.question = false;
    setting.launches.quiet = 1000;
    assert.equal(await after(SILENT + 4), "idle: ready");
    assert.deepEqual(
      setting
        .snapshot()
        .filter(({ status }) => status === "started")
        .map(({ kind }) => kind),
      ["session"],
    );
    await submit(prompt("p2"));
    assert.match(await after(0), /^working/);
  });

  it("knows a question that was answered before anybody looked: a person typed there", async () => {
    await submit(start(), prompt("p1"), pre("t1"), ask());
    setting.launches.question = true;
    setting.activity.typed(launch);
    setting.launches.question = false;
    assert.equal(await after(3), "working: uses Bash");
    await submit(pre("t2", "Write"), ask("Write"));
    setting.activity.typed(launch);
    assert.match(await after(10), /^waiting/, "another key, without a question");
  });

  it("waits for each question anew", async () => {
    setting.launches.question = true;
    await submit(start(), prompt("p1"), pre("t1"), ask());
    await after(1);
    setting.launches.question = false;
    await after(3);
    await submit(post("t1"), pre("t2", "Write"), ask("Write"));
    assert.equal(await after(10), "waiting: waits for permission to use Write");
  });

  it("says that it asks, where the tool is one with which it speaks to its person", async () => {
    await submit(start(), prompt("p1"), pre("t1", "AskUserQuestion"), ask("AskUserQuestion"));
    assert.equal(await after(1), "waiting: asks you a question");
    await submit(post("t1", "AskUserQuestion"), pre("t2", "ExitPlanMode"), ask("ExitPlanMode"));
    assert.equal(await after(1), "waiting: asks you to approve its plan");
  });

  it("waits by its notification when the request itself was lost", async () => {
    await submit(start(), prompt("p1"), pre("t1"), notify("permission_prompt", { prompt_id: "p1" }));
    assert.equal(await after(0), "waiting: waits for your answer");
    await submit(post("t1", "Bash", { prompt_id: "p1" }));
    assert.match(await after(0), /^working/);
    assert.deepEqual(
      setting
        .snapshot()
        .filter(({ kind }) => kind === "tool")
        .map(({ status }) => status),
      ["completed"],
    );
  });

  it("codex: works again as soon as it was permitted, and says itself that it was not", async () => {
    launch = setting.launches.launch(setting.group, "bob");
    const turn = codex("u1");
    setting.launches.question = true;
    await submit(turn.start(), turn.prompt(), turn.pre("c1"), turn.ask());
    assert.match(await after(1), /^waiting/);
    setting.launches.question = false;
    assert.equal(await after(3), "working: uses Bash");
    await submit(turn.post("c1"), turn.pre("c2"), turn.ask());
    setting.launches.question = true;
    assert.match(await after(1), /^waiting/);
    await submit(turn.event("Interrupt"));
    assert.equal(await after(0), "idle: ready; it was interrupted");
  });
});
