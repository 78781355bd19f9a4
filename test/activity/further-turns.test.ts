/**
 * Turns that hooks don't announce: whatever the order in which hook processes arrive, an Actor that
 * works is never called idle.
 */
import assert from "node:assert/strict";
import * as fc from "fast-check";
import type { Launch } from "../../daemon/activity/launches.ts";
import { LIMITS } from "../../shared/limits.ts";
import { claude, codex, type Mutable, openSetting, type Payload, type Setting } from "./setting.ts";

describe("turns that no hook announces", () => {
  let setting: Setting;
  let launch: Mutable<Launch>;
  beforeEach(async () => {
    setting = await openSetting();
    await setting.addActor("ann", "claude");
    await setting.addActor("bob", "codex");
    launch = setting.launches.launch(setting.group, "ann");
  });
  afterEach(() => setting.close());

  const derived = (actor: string) => {
    setting.clock.advance(1000);
    return setting.activity.workingState(setting.group.group_id, setting.group.actor(actor));
  };
  const state = () => derived("ann").state;
  const submit = async (...payloads: Payload[]): Promise<void> => {
    for (const payload of payloads) await setting.submit(launch, payload);
  };
  const openTurns = (): string[] =>
    setting
      .snapshot()
      .filter(({ kind, status }) => kind === "turn" && (status === "started" || status === "waiting"))
      .map(({ activity_id: activityId }) => activityId);

  describe("claude", () => {
    const { start, prompt, stop, pre, post, batch, notify, event } = claude();

    it("a prompt queued behind a turn runs as one of its own when that one ends", async () => {
      await submit(start(), prompt("p1"), prompt("p1"), prompt("p1"), stop("p1"));
      assert.equal(state(), "working");
      assert.deepEqual(openTurns(), ["claude:s1:turn:p1.next"]);
      await submit(stop("p2"));
      assert.equal(state(), "idle");
      assert.deepEqual(openTurns(), []);
    });

    it("also when its hook comes after the turn's end: the machine was slow", async () => {
      await submit(start(), prompt("p1"), stop("p1"));
      assert.equal(state(), "idle");
      await submit(prompt("p1"));
      assert.equal(state(), "working");
      await submit(stop("p1"));
      assert.equal(state(), "working", "a doubled end of the earlier one");
      await submit(stop("p2"));
      assert.equal(state(), "idle");
    });

    it("also when its hook comes a turn later than that", async () => {
      await submit(start(), prompt("p1"), stop("p1"), prompt("p2"), stop("p2"));
      assert.equal(state(), "idle");
      await submit(prompt("p1"));
      assert.equal(state(), "working");
      await submit(stop("p3"), prompt("p4"), prompt("p1"), stop("p4"));
      assert.equal(state(), "working", "behind the turn that is open");
    });

    it("every prompt of a turn that was queued itself is queued behind it", async () => {
      const ofNext = { prompt_id: "p2" };
      await submit(start(), prompt("p1"), prompt("p1"), stop("p1"), pre("t1", "Bash", ofNext));
      await submit(post("t1", "Bash", ofNext), prompt("p2"), stop("p2"));
      assert.equal(state(), "working");
      await submit(stop("p3"));
      assert.equal(state(), "idle");
    });

    it("what follows a batch of tools takes it up: then nothing follows the turn", async () => {
      await submit(start(), prompt("p1"), pre("t1"), prompt("p1"), post("t1"), batch(), stop("p1"));
      assert.equal(state(), "idle");
      await submit(prompt("p2"), prompt("p2"), pre("t2"), post("t2"), batch(), stop("p2"));
      assert.equal(state(), "idle");
      await submit(prompt("p3"), pre("t3"), post("t3"), batch(), prompt("p3"), stop("p3"));
      assert.equal(state(), "working");
    });

    it("tells what became of the queue: taken by the turn that runs, or by the next once that shows itself", async () => {
      const told: string[] = [];
      setting.activity.onPrompt((_launch, text, isQueued) => told.push(isQueued ? `${text} queued` : text));
      setting.activity.onInput((_launch, step) => told.push(step));
      const since = () => told.splice(0);
      await submit(start(), prompt("p1", "one"), prompt("p1", "two"), pre("t1"), pre("t2"), post("t1"));
      assert.deepEqual(since(), ["one", "two queued"], "the second tool is still to end");
      await submit(post("t2"), batch(), prompt("p1", "three"));
      assert.deepEqual(since(), ["joined", "three queued"]);
      await submit(stop("p1"));
      assert.deepEqual(since(), ["next"]);
      await submit(prompt("p2", "four"), stop("p2"));
      assert.deepEqual(since(), ["four queued", "begun", "next"]);
      await submit(event("SessionEnd", { reason: "other" }));
      assert.deepEqual(since(), [], "its process ends before the turn of the last one has shown itself");
    });

    it("a prompt in another session takes nothing out of the queue of this one", async () => {
      const told: string[] = [];
      setting.activity.onInput((_launch, step) => told.push(step));
      const other = claude("s2");
      await submit(other.start(), start(), prompt("p1"), prompt("p1"), stop("p1"));
      assert.deepEqual(told.splice(0), ["next"]);
      await submit(other.prompt("p2"));
      assert.deepEqual(told, []);
    });

    it("prompts behind a turn that wasn't announced count as queued, too", async () => {
      await submit(start(), prompt("p1"), prompt("p1"), stop("p1"), prompt("p2"), stop("p2"));
      assert.equal(state(), "working");
      await submit(prompt("p2"), stop("p3"));
      assert.equal(state(), "working", "told late, it is behind the next");
      await submit(stop("p4"));
      assert.equal(state(), "idle");
    });

    it("an interrupt lets the queued one run; another ends that", async () => {
      await submit(start(), prompt("p1"), prompt("p1"));
      setting.activity.interrupted(launch);
      await submit(event("SubagentStop", { agent_id: "none" }));
      assert.equal(state(), "working");
      setting.activity.interrupted(launch);
      await submit(event("SubagentStop", { agent_id: "none" }));
      assert.equal(derived("ann").reason, "ready; it was interrupted");
    });

    it("a tool that was told while its turn was interrupted keeps it open only as long as the terminal isn't silent", async () => {
      const late = pre("t1", "Bash", { prompt_id: "p1" });
      const interrupted = async () => {
        setting.activity.interrupted(launch);
        await submit(event("SubagentStop", { agent_id: "none" }));
      };
      await submit(start(), prompt("p1"));
      await interrupted();
      setting.launches.quiet = 0;
      await submit(late);
      setting.clock.advance(LIMITS.activity.assumedSilenceSeconds * 2000);
      assert.equal(derived("ann").reason, "uses Bash", "the key meant something else");
      setting.launches.quiet = LIMITS.activity.assumedSilenceSeconds;
      state();
      await setting.activity.settled();
      assert.equal(derived("ann").reason, "ready; it was interrupted");
      assert.deepEqual(openTurns(), []);
    });

    it("a silent terminal refutes one that was only assumed, and none that showed itself", async () => {
      const seconds = LIMITS.activity.assumedSilenceSeconds;
      await submit(start(), prompt("p1"), prompt("p1"), stop("p1"));
      setting.launches.quiet = 0;
      setting.clock.advance(seconds * 2000);
      assert.equal(state(), "working");
      setting.launches.quiet = seconds;
      state();
      await setting.activity.settled();
      assert.equal(derived("ann").reason, "ready");
      assert.deepEqual(openTurns(), []);
      setting.launches.quiet = 0;
      await submit(prompt("p2"), prompt("p2"), stop("p2"), pre("t1", "Bash", { prompt_id: "p3" }));
      await submit(post("t1", "Bash", { prompt_id: "p3" }));
      setting.launches.quiet = seconds * 2;
      setting.clock.advance(seconds * 2000);
      await setting.activity.settled();
      assert.equal(state(), "working");
    });

    it("its own prompt that comes late closes nothing and begins nothing", async () => {
      await submit(start(), pre("t1", "Bash", { prompt_id: "p1" }), prompt("p1"));
      assert.equal(derived("ann").reason, "uses Bash");
      await submit(post("t1", "Bash", { prompt_id: "p1" }), stop("p1"));
      assert.equal(state(), "idle");
      await submit(notify("elicitation_dialog", { prompt_id: "p2" }), stop("p2"), prompt("p2"));
      assert.equal(state(), "idle");
    });

    it("whatever is queued, taken up, interrupted or told late", async () => {
      const actions = fc.array(
        fc.constantFrom("prompt", "slow prompt", "arrives", "tool", "end", "end", "interrupt"),
        { maxLength: 24 },
      );
      await fc.assert(
        fc.asyncProperty(actions, async (run) => {
          launch = setting.launches.launch(setting.group, "ann");
          const session = new ClaudeSession();
          await submit(session.hooks.start());
          for (const action of run) {
            await submit(...session.does(action));
            if (action === "interrupt") {
              setting.activity.interrupted(launch);
              await submit(session.hooks.event("SubagentStop", { agent_id: "none" }));
            }
            const now = derived("ann").state;
            assert.equal(now, session.works ? "working" : "idle", `${action} in ${run.join(", ")}`);
          }
          setting.launches.end(launch);
        }),
        { numRuns: 300 },
      );
    }).timeout(120_000);
  });

  it("codex: a prompt that comes as a turn ends keeps it going; not after an interrupt", async () => {
    const { start, prompt, stop, event, pre, post } = codex("u1");
    launch = setting.launches.launch(setting.group, "bob");
    await submit(start(), prompt(), stop(), prompt());
    assert.equal(derived("bob").state, "working");
    await submit(pre("c1"));
    assert.equal(derived("bob").reason, "uses Bash");
    await submit(post("c1"), stop());
    assert.equal(derived("bob").state, "idle");
    const two = codex("u2");
    await submit(two.prompt(), prompt(), two.event("Interrupt"), two.prompt(), event("Interrupt"));
    assert.equal(derived("bob").state, "idle");
  });
});

/**
 * What Claude Code does with its queue of prompts, and the hooks that tell of it (observed on the
 * real one).
 */
class ClaudeSession {
  readonly hooks = claude(`session-${(sessions += 1)}`);
  works = false;
  #turn = 0;
  #tool = 0;
  #queued = 0;
  /**
   * Hooks of queued prompts that are on their way: a prompt waits for its hook before it is queued.
   */
  #slow: Payload[] = [];

  does(action: "prompt" | "slow prompt" | "arrives" | "tool" | "end" | "interrupt"): Payload[] {
    const { prompt, pre, post, batch, stop } = this.hooks;
    const promptId = `p${this.#turn}`;
    switch (action) {
      case "prompt":
        if (this.works) this.#queued += 1;
        else this.#begin();
        return [prompt(`p${this.#turn}`)];
      case "slow prompt":
        if (this.works && this.#slow.length === 0) this.#slow.push(prompt(promptId));
        return [];
      case "arrives": {
        const hooks = this.#slow.splice(0);
        if (hooks.length === 0) return [];
        if (this.works) this.#queued += 1;
        else this.#begin();
        return hooks;
      }
      case "tool": {
        if (!this.works) return [];
        const id = `t${(this.#tool += 1)}`;
        this.#queued = 0;
        return [
          pre(id, "Bash", { prompt_id: promptId }),
          post(id, "Bash", { prompt_id: promptId }),
          batch({ prompt_id: promptId }),
        ];
      }
      case "end": {
        const hooks = this.works ? [stop(promptId)] : [];
        this.#over();
        return hooks;
      }
      case "interrupt":
        this.#over();
        // Nothing that is older than the last turn is late any more.
        this.#slow = [];
        return [];
    }
  }

  #begin(): void {
    this.#turn += 1;
    this.works = true;
  }

  #over(): void {
    if (!this.works) return;
    this.works = false;
    if (this.#queued > 0) this.#begin();
    this.#queued = 0;
  }
}

let sessions = 0;
