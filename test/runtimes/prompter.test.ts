/** When a message goes into a terminal and what is believed of it: the real ledger and queue, time that the test owns, a terminal that notes. */
import assert from "node:assert/strict";
import type { Launch, LaunchReports, PromptListener } from "../../daemon/activity/launches.ts";
import { RealRandom } from "../../daemon/platform/real-random.ts";
import { entryOf } from "../../daemon/runtimes/catalogue.ts";
import { Prompter, type PrompterOptions } from "../../daemon/runtimes/prompter.ts";
import { LIMITS } from "../../shared/limits.ts";
import { TestHome, until } from "../messaging/setting.ts";

const { evidenceSeconds, busySeconds, readySeconds, toolsSeconds, typingSeconds } = LIMITS.prompt;

/** A terminal and the hooks behind it, as the prompter sees them. */
class Runtime {
  doing: ReturnType<LaunchReports["doing"]> = "idle";
  reads = true;
  hasTools = true;
  typedAt = Number.NEGATIVE_INFINITY;
  readonly written: string[] = [];
  readonly launch: Launch;
  readonly prompter: Prompter;
  #listener: PromptListener = () => {};

  constructor(home: TestHome, group_id: string, actor_id: string, token_digest = "digest") {
    const { generation } = home.registry.get(group_id).actor(actor_id);
    const started_at = "2026-01-01T00:00:00.000Z";
    const common = { group_id, actor_id, generation, runtime: "claude", has_hooks: true } as const;
    this.launch = { ...common, token_digest, pid: 7, started_at };
    const terminal = Object.defineProperties(
      { write: (text: string) => this.written.push(text) > 0 },
      { reads: { get: () => this.reads }, typedAt: { get: () => this.typedAt } },
    ) as unknown as PrompterOptions["terminal"];
    this.prompter = new Prompter({
      room: home.messaging.get(group_id),
      launch: this.launch,
      entry: entryOf("claude"),
      answerWith: "mcp",
      terminal,
      reports: {
        onPrompt: (listener) => {
          this.#listener = listener;
          return () => (this.#listener = () => {});
        },
        typed: () => {},
        interrupted: () => {},
        doing: () => this.doing,
      },
      hasTools: () => this.hasTools,
      clock: home.clock,
      random: new RealRandom(),
      log: { debug() {}, info() {}, warn() {}, error() {} },
      changed: () => {},
    });
    this.prompter.open();
  }

  /** Its UserPromptSubmit hook. */
  takes(prompt = this.written.at(-1)!): void {
    this.#listener(this.launch, prompt);
  }
}

describe("a prompter", () => {
  let home: TestHome;
  let group_id: string;
  let runtime: Runtime;
  beforeEach(async () => {
    home = await TestHome.open();
    group_id = await home.group();
    await add("ann");
    runtime = new Runtime(home, group_id, "ann");
  });
  afterEach(async () => {
    await runtime.prompter.close("process_exit");
    await home.remove();
  });

  const add = (actor_id: string) =>
    home.call("actor_add", { group_id, actor_id, runner: "pty", runtime: "claude" });
  const send = async (text: string): Promise<string> =>
    (await home.send(group_id, text, { to: ["ann"] })).event.id;
  const wait = (seconds: number): void => home.clock.advance(seconds * 1000);
  const delivery = async (id: string): Promise<string> => {
    const { state, reason } = (await home.status(group_id, id)).delivery_status["ann"]!;
    return [state, reason].filter((part) => part !== "").join(" ");
  };
  const reaches = async (id: string, expected: string): Promise<void> => {
    let last = "";
    for (let turn = 0; turn < 2000 && last !== expected; turn += 1) {
      await new Promise((resolve) => (turn < 1000 ? setImmediate(resolve) : setTimeout(resolve, 10)));
      last = await delivery(id);
    }
    assert.equal(last, expected);
  };
  const written = (count: number) => until(() => runtime.written.length === count);

  it("believes the hook; without one an idle runtime has its time, and a late hook still counts", async () => {
    const first = await send("one");
    await written(1);
    runtime.takes();
    await reaches(first, "accepted hook");
    const second = await send("two");
    await written(2);
    wait(evidenceSeconds - 1);
    await reaches(second, "claimed");
    wait(1);
    await reaches(second, "ambiguous no_evidence");
    runtime.takes();
    await reaches(second, "accepted late_hook");
    assert.equal(runtime.written.length, 2, "nothing is sent again");
  });

  it("expects a queued prompt as long as the runtime is busy, and a moment longer", async () => {
    runtime.doing = "working";
    const id = await send("queued");
    await written(1);
    for (let spent = 0; spent < busySeconds / 2; spent += evidenceSeconds) wait(evidenceSeconds);
    await reaches(id, "claimed busy");
    runtime.doing = "waiting";
    wait(evidenceSeconds);
    runtime.doing = "idle";
    wait(evidenceSeconds);
    await reaches(id, "claimed busy");
    const another = await send("behind it");
    await until(() => runtime.prompter.waits.includes("isn't confirmed"));
    wait(evidenceSeconds);
    await reaches(id, "ambiguous no_evidence");
    await written(2);
    runtime.takes();
    await reaches(another, "accepted hook");
  });

  it("doesn't expect it for ever from one that is always busy", async () => {
    runtime.doing = "working";
    const id = await send("queued");
    await written(1);
    for (let spent = 0; spent <= busySeconds + evidenceSeconds; spent += evidenceSeconds)
      wait(evidenceSeconds);
    await reaches(id, "ambiguous no_evidence");
  });

  it("writes nothing into what a person types", async () => {
    runtime.typedAt = home.clock.monotonic();
    await send("wait");
    await until(() => runtime.prompter.waits === "somebody types in its terminal");
    runtime.typedAt = home.clock.monotonic() + 1000;
    wait(typingSeconds);
    await until(() => runtime.prompter.waits === "somebody types in its terminal");
    assert.deepEqual(runtime.written, []);
    wait(typingSeconds);
    await written(1);
  });

  it("writes nothing into a question for a person", async () => {
    runtime.doing = "waiting";
    await send("wait");
    await until(() => runtime.prompter.waits === "it waits for a person's answer");
    wait(busySeconds);
    assert.deepEqual(runtime.written, []);
    runtime.doing = "idle";
    runtime.prompter.consider();
    await written(1);
    assert.equal(runtime.prompter.waits === "it waits for a person's answer", false);
  });

  it("hands back what was claimed when a question came up meanwhile; it goes in afterwards", async () => {
    const { ledger } = home.messaging.get(group_id);
    const appendAll = ledger.appendAll.bind(ledger);
    ledger.appendAll = async (events) => {
      const result = await appendAll(events);
      if (events.some(({ data }) => data["state"] === "claimed")) runtime.doing = "waiting";
      return result;
    };
    const id = await send("just now");
    await until(() => runtime.prompter.waits === "it waits for a person's answer");
    assert.deepEqual(runtime.written, []);
    ledger.appendAll = appendAll;
    runtime.doing = "idle";
    runtime.prompter.consider();
    await written(1);
    runtime.takes();
    await reaches(id, "accepted hook");
  });

  it("waits for a terminal that reads and for listed tools, each with a bound of its own", async () => {
    runtime.reads = false;
    runtime.hasTools = false;
    await send("early");
    await until(() => runtime.prompter.waits === "starting");
    wait(readySeconds);
    await until(() => runtime.prompter.waits.includes("bracketed paste is off"));
    runtime.reads = true;
    runtime.prompter.consider();
    await written(1);
    await runtime.prompter.close("process_exit");
    runtime = new Runtime(home, group_id, "ann", "another");
    runtime.hasTools = false;
    await send("tools first");
    await until(() => runtime.prompter.waits === "starting");
    wait(toolsSeconds - 1);
    assert.deepEqual(runtime.written, []);
    wait(1);
    await written(1);
  });

  it("leaves what an Actor had claimed to that one: another under its id never sees it", async () => {
    const id = await send("for the first ann");
    await written(1);
    await home.call("actor_remove", { group_id, actor_id: "ann" });
    await add("ann");
    const former = runtime;
    runtime = new Runtime(home, group_id, "ann", "another");
    runtime.takes(former.written[0]);
    await former.prompter.close("process_exit");
    assert.equal(former.written.length, 1);
    const next = await send("for the second ann");
    await written(1);
    assert.match(runtime.written[0]!, new RegExp(next));
    assert.ok(!runtime.written[0]!.includes(id));
    runtime.takes();
    await reaches(next, "accepted hook");
  });

  it("sends again only what is put back on purpose", async () => {
    const id = await send("unproven");
    await written(1);
    wait(evidenceSeconds);
    await reaches(id, "ambiguous no_evidence");
    const again = { group_id, source_event_id: id, actor_ids: ["ann"] };
    await assert.rejects(home.call("message_deliver", again), { code: "delivery_ambiguous" });
    wait(busySeconds);
    assert.equal(runtime.written.length, 1);
    await home.call("message_deliver", { ...again, force_ambiguous: true });
    await written(2);
    assert.match(runtime.written[1]!, /sent again on purpose/);
    runtime.takes();
    await reaches(id, "accepted hook");
  });
});
