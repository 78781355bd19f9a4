/**
 * When a message goes into a terminal and what is believed of it: the real ledger and queue, time
 * that the test owns, a terminal that notes.
 */

import assert from "node:assert/strict";
import type {
  InputListener,
  InputStep,
  Launch,
  LaunchReports,
  PromptListener,
} from "../../daemon/activity/launches.ts";
import { entryOf } from "../../daemon/runtimes/catalogue.ts";
import { Prompter, type PrompterOptions } from "../../daemon/runtimes/input/prompter.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { LIMITS } from "../../shared/limits.ts";
import { TestHome } from "../messaging/setting.ts";
import { until } from "../support/until.ts";
import { DrawnScreen } from "./drawn-screen.ts";

const { evidenceSeconds, busySeconds, readySeconds, toolsSeconds, typingSeconds, pasteSeconds } =
  LIMITS.prompt;

/** A terminal and the hooks behind it, as the prompter sees them. */
class Runtime {
  doing: ReturnType<LaunchReports["doing"]> = "idle";
  reads = true;
  hasTools = true;
  typedAt = Number.NEGATIVE_INFINITY;
  hasDraft = false;
  readonly screen = new DrawnScreen().composer();
  /** Pastes that Enter followed. */
  readonly written: string[] = [];
  /** The last one that it doesn't follow yet. */
  pasted: string | null = null;
  /** So often Enter becomes an empty line behind the paste; each is counted. */
  newLines = 0;
  enters = 0;
  entered: () => void = () => {};
  /** What becomes of the screen with a paste. */
  shown: (paste: string) => void = () => this.screen.composer("[Pasted text #1 +4 lines]");
  readonly launch: Launch;
  readonly prompter: Prompter;
  #listener: PromptListener = () => {};
  #input: InputListener = () => {};

  constructor(home: TestHome, group_id: string, actor_id: string, token_digest = "digest", steadyMs = 0) {
    const { generation } = home.registry.get(group_id).actor(actor_id);
    const started_at = "2026-01-01T00:00:00.000Z";
    const common = { group_id, actor_id, generation, runtime: "claude", has_hooks: true } as const;
    this.launch = { ...common, token_digest, pid: 7, started_at };
    const terminal = Object.defineProperties(
      { write: (text: string) => this.#write(text), settled: async () => {} },
      {
        reads: { get: () => this.reads },
        typedAt: { get: () => this.typedAt },
        hasDraft: { get: () => this.hasDraft },
        view: { get: () => this.screen },
      },
    ) as unknown as PrompterOptions["terminal"];
    this.prompter = new Prompter({
      chat: home.messaging.get(group_id),
      launch: this.launch,
      entry: { ...entryOf("claude"), steadyMs },
      answerWith: "mcp",
      terminal,
      reports: {
        onPrompt: (listener) => {
          this.#listener = listener;
          return () => (this.#listener = () => {});
        },
        onInput: (listener) => {
          this.#input = listener;
          return () => (this.#input = () => {});
        },
        onSession: () => () => {},
        onPresence: () => () => {},
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

  #write(text: string): boolean {
    if (text === "\r") {
      this.enters += 1;
      this.entered();
      if (this.newLines > 0) {
        this.newLines -= 1;
        this.screen.composer(`[Pasted text #1 +4 lines]${"\n".repeat(this.enters)}`);
        return true;
      }
      this.written.push(this.pasted!);
      this.pasted = null;
      this.screen.composer();
      return true;
    }
    this.pasted = text;
    this.shown(text);
    return true;
  }

  /** Its UserPromptSubmit hook. */
  takes(prompt = this.written.at(-1)!): void {
    this.#listener(this.launch, prompt, false);
  }

  /** The same hook behind a turn that runs. */
  queues(prompt = this.written.at(-1)!): void {
    this.#listener(this.launch, prompt, true);
  }

  input(step: InputStep): void {
    this.#input(this.launch, step);
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
  const wait = (seconds: number) => home.clock.advance(seconds * 1000);
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
    await until(() => runtime.prompter.waits === "someone is typing in its terminal");
    runtime.typedAt = home.clock.monotonic() + 1000;
    wait(typingSeconds);
    await until(() => runtime.prompter.waits === "someone is typing in its terminal");
    assert.deepEqual(runtime.written, []);
    wait(typingSeconds);
    await written(1);
  });

  it("writes only into an empty input line that has the focus, and says what is there instead", async () => {
    const { screen } = runtime;
    const cases: [shown: () => void, reason: string, needsPerson: boolean][] = [
      [() => screen.composer("rm -rf half"), 'its input line contains unsent text: "rm…"', true],
      [() => screen.composer("", "!"), "its shell mode is on", true],
      [() => screen.shows(" Do you want to create x?", "", " ❯ 1. Yes"), "it asks for a permission", true],
      [
        () => screen.shows("  Select model", "  ❯ 1. Default", "  Esc to cancel"),
        "its model menu is open",
        true,
      ],
      [() => screen.shows("anything else"), "its screen shows no empty input line", true],
    ];
    wait(readySeconds);
    cases[0]![0]();
    const id = await send("wait");
    for (const [show, reason, needsPerson] of cases) {
      show();
      runtime.prompter.drawn();
      wait(1);
      await until(() => runtime.prompter.waits === reason);
      assert.equal(runtime.prompter.needs, needsPerson ? reason : "");
    }
    wait(busySeconds);
    assert.equal(runtime.pasted, null);
    screen.composer();
    runtime.prompter.drawn();
    wait(1);
    await written(1);
    runtime.takes();
    await reaches(id, "accepted hook");
    assert.equal(runtime.prompter.needs, "");
  });

  it("waits until the input line has been empty for a while where a question may be drawn over it at the start", async () => {
    await runtime.prompter.close("process_exit");
    const { steadyMs } = entryOf("gemini");
    runtime = new Runtime(home, group_id, "ann", "another digest", steadyMs);
    const first = await send("one");
    await until(() => runtime.prompter.waits === "starting");
    wait((steadyMs - 1) / 1000);
    runtime.screen.shows(" Do you want to trust this folder?");
    runtime.prompter.drawn();
    wait(1);
    await until(() => runtime.prompter.needs === "it asks for a permission");
    wait(steadyMs / 1000);
    runtime.screen.composer();
    runtime.prompter.drawn();
    wait(1);
    await until(() => runtime.prompter.waits === "starting");
    assert.equal(runtime.pasted, null);
    wait(steadyMs / 1000);
    await written(1);
    runtime.takes();
    await reaches(first, "accepted hook");
    await send("two");
    await written(2);
  });

  it("counts a prompt of ours that was put back as no draft, unless somebody typed since", async () => {
    runtime.screen.composer(`[svc] message ${"0".repeat(32)} from user`);
    runtime.hasDraft = true;
    await send("next");
    await until(() => runtime.prompter.waits.includes('"[s…"'));
    runtime.hasDraft = false;
    runtime.prompter.consider();
    await written(1);
  });

  it("doesn't take the key that answered a dialog for a draft behind a prompt of ours", async () => {
    runtime.typedAt = home.clock.monotonic();
    runtime.hasDraft = true;
    wait(typingSeconds);
    const first = await send("first");
    await written(1);
    runtime.takes();
    await reaches(first, "accepted hook");
    const putBack = () => runtime.screen.composer(`[svc] message ${first} from user`);
    putBack();
    const second = await send("second");
    await written(2);
    runtime.takes();
    await reaches(second, "accepted hook");
    putBack();
    runtime.typedAt = home.clock.monotonic();
    await send("third");
    wait(typingSeconds);
    await until(() => runtime.prompter.waits.includes('"[s…"'));
    assert.equal(runtime.written.length, 2);
  });

  it("knows its prompt that was put back as one piece, unless somebody typed since", async () => {
    const first = await send("first");
    await written(1);
    runtime.takes();
    await reaches(first, "accepted hook");
    runtime.screen.composer("[Pasted text #2 +3 lines]");
    wait(1);
    const second = await send("second");
    await written(2);
    runtime.takes();
    await reaches(second, "accepted hook");
    wait(1);
    runtime.screen.composer("[Pasted text #3 +7 lines]");
    runtime.typedAt = home.clock.monotonic();
    await send("third");
    wait(typingSeconds);
    await until(() => runtime.prompter.waits.includes('"[P…"'));
    assert.equal(runtime.written.length, 2);
  });

  it("looks at the screen again when the claim is on the disk", async () => {
    const { ledger } = home.messaging.get(group_id);
    const appendAll = ledger.appendAll.bind(ledger);
    ledger.appendAll = async (events) => {
      const result = await appendAll(events);
      if (events.some(({ data }) => data["state"] === "claimed")) runtime.screen.composer("half");
      return result;
    };
    const id = await send("just now");
    await until(() => runtime.prompter.waits.includes('"ha…"'));
    assert.equal(runtime.pasted, null);
    await reaches(id, "pending");
    ledger.appendAll = appendAll;
    runtime.screen.composer();
    runtime.prompter.drawn();
    wait(1);
    await written(1);
  });

  it("presses Enter only behind a paste that the input line shows, and that nobody typed into", async () => {
    runtime.shown = () => runtime.screen.shows(" Do you want to create x?", "", " ❯ 1. Yes");
    const first = await send("one");
    await until(() => runtime.pasted !== null);
    for (let spent = 0; spent < 2 * (pasteSeconds + evidenceSeconds); spent += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      wait(1);
    }
    await reaches(first, "ambiguous no_evidence");
    assert.deepEqual(runtime.written, []);
    runtime.pasted = null;
    runtime.shown = () => {
      runtime.screen.composer("[Pasted text #1 +4 lines]");
      runtime.typedAt = home.clock.monotonic() + 1;
    };
    runtime.screen.composer();
    runtime.prompter.drawn();
    wait(1);
    const second = await send("two");
    await until(() => runtime.pasted !== null);
    // A person may still press it.
    runtime.takes(runtime.pasted!);
    await reaches(second, "accepted hook");
    assert.deepEqual(runtime.written, []);
  });

  it("presses no Enter behind a paste while its hooks tell of a question that the screen doesn't show yet", async () => {
    runtime.shown = () => {
      runtime.screen.composer("[Pasted text #1 +4 lines]");
      runtime.doing = "waiting";
    };
    const id = await send("one");
    await until(() => runtime.pasted !== null);
    for (let looks = 0; looks < 20; looks += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      wait(LIMITS.prompt.lookMs / 1000);
    }
    assert.equal(runtime.enters, 0);
    runtime.doing = "working";
    for (let looks = 0; runtime.enters < 1 && looks < 20; looks += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      wait(LIMITS.prompt.lookMs / 1000);
    }
    await written(1);
    runtime.takes();
    await reaches(id, "accepted hook");
  });

  it("presses Enter again when the input line shows that it became a line of the paste, unless somebody typed or its hooks tell of a question", async () => {
    runtime.newLines = 2;
    const first = await send("one");
    await until(() => runtime.enters === 2);
    for (let looks = 0; runtime.enters < 3 && looks < 20; looks += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      wait(LIMITS.prompt.lookMs / 1000);
    }
    await written(1);
    assert.equal(runtime.enters, 3);
    runtime.takes();
    await reaches(first, "accepted hook");

    runtime.enters = 0;
    runtime.newLines = 1;
    runtime.entered = () => (runtime.typedAt = home.clock.monotonic() + 1);
    const second = await send("two");
    await until(() => runtime.enters === 1);
    for (let spent = 0; spent < pasteSeconds; spent += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      wait(1);
    }
    assert.equal(runtime.enters, 1);
    runtime.takes(runtime.pasted!);
    await reaches(second, "accepted hook");

    runtime.enters = 0;
    runtime.newLines = 1;
    runtime.screen.composer();
    wait(typingSeconds);
    runtime.entered = () => (runtime.doing = "waiting");
    const third = await send("three");
    await until(() => runtime.enters === 1);
    for (let spent = 0; spent < pasteSeconds; spent += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      wait(1);
    }
    assert.equal(runtime.enters, 1);
    runtime.takes(runtime.pasted!);
    await reaches(third, "accepted hook");
  });

  it("doesn't take an empty line that stood behind the paste before for one of its Enter", async () => {
    runtime.shown = () => runtime.screen.composer("[Pasted text #1 +4 lines]\n");
    // It draws late what became of Enter.
    runtime.newLines = Number.POSITIVE_INFINITY;
    const id = await send("as wide as the line");
    await until(() => runtime.enters === 1);
    for (let spent = 0; spent <= pasteSeconds + 1; spent += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      wait(1);
    }
    assert.equal(runtime.enters, 1);
    runtime.takes(runtime.pasted!);
    await reaches(id, "accepted hook");
  });

  it("writes nothing into a question for a person", async () => {
    runtime.doing = "waiting";
    await send("wait");
    await until(() => runtime.prompter.waits === "it is waiting for a person's answer");
    wait(busySeconds);
    assert.deepEqual(runtime.written, []);
    runtime.doing = "idle";
    runtime.prompter.consider();
    await written(1);
    assert.equal(runtime.prompter.waits === "it is waiting for a person's answer", false);
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
    await until(() => runtime.prompter.waits === "it is waiting for a person's answer");
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

  it("calls queued what waits behind a turn, and accepted what a turn has taken", async () => {
    runtime.doing = "working";
    const ids: string[] = [];
    for (const text of ["one", "two", "three"]) {
      ids.push(await send(text));
      await written(ids.length);
      runtime.queues();
      await reaches(ids.at(-1)!, "queued after a running turn");
    }
    runtime.input("joined");
    for (const id of ids) await reaches(id, "accepted hook_queued");
    const fourth = await send("four");
    await written(runtime.written.length + 1);
    runtime.queues();
    await reaches(fourth, "queued after a running turn");
    runtime.input("next");
    const fifth = await send("five");
    await written(runtime.written.length + 1);
    runtime.queues();
    await reaches(fifth, "queued after a running turn");
    runtime.input("begun");
    await reaches(fourth, "accepted hook_queued");
    await reaches(fifth, "queued after a running turn");
  });

  it("gives what a process left in its queue to the next one, once, and says so", async () => {
    runtime.doing = "working";
    const id = await send("unread");
    await written(1);
    assert.doesNotMatch(runtime.written[0]!, /sent again/);
    runtime.queues();
    await reaches(id, "queued after a running turn");
    await runtime.prompter.close("process_exit");
    await reaches(id, "pending comes again");
    runtime = new Runtime(home, group_id, "ann", "another");
    await written(1);
    assert.match(runtime.written[0]!, /sent again/);
    runtime.takes();
    await reaches(id, "accepted hook");
    assert.equal(runtime.written.length, 1);
  });

  it("calls unconfirmed what left the queue of an idle runtime unseen; a late proof counts", async () => {
    runtime.doing = "working";
    const id = await send("taken out by a person");
    await written(1);
    runtime.queues();
    await reaches(id, "queued after a running turn");
    runtime.doing = "idle";
    runtime.prompter.consider();
    wait(evidenceSeconds);
    await reaches(id, "ambiguous no_evidence");
    runtime.takes();
    await reaches(id, "accepted late_hook");
  });

  it("calls failed what was queued by an Actor that is removed", async () => {
    runtime.doing = "working";
    const id = await send("never read");
    await written(1);
    runtime.queues();
    await reaches(id, "queued after a running turn");
    await home.call("actor_remove", { group_id, actor_id: "ann" });
    await runtime.prompter.close("process_stopped");
    await reaches(id, "failed actor_removed");
  });

  it("takes an answer to the message, or its reading, for proof: of a runtime that gives none, and earlier than its hook", async () => {
    const ann = home.actor(group_id, "ann");
    const reply = (event_id: string) =>
      home.call("reply", { group_id, event_id, text: "answer", message_mode: "send" }, { as: ann });
    const unproven = await send("one");
    await written(1);
    wait(evidenceSeconds);
    await reaches(unproven, "ambiguous no_evidence");
    await reply(unproven);
    await reaches(unproven, "accepted replied");
    const claimed = await send("two");
    await written(2);
    await reply(claimed);
    await reaches(claimed, "accepted replied");
    runtime.doing = "working";
    const queued = await send("three");
    await written(3);
    runtime.queues();
    await reaches(queued, "queued after a running turn");
    await home.call("message_history", { group_id, actor_id: "ann", mode: "all", query: "", limit: 50 });
    assert.match(await delivery(queued), /^queued/, "a person's reading proves nothing");
    await home.call("message_history", { group_id, mode: "all", query: "", limit: 50 }, { as: ann });
    await reaches(queued, "accepted read");
    await runtime.prompter.close("process_exit");
    for (const id of [unproven, claimed, queued]) assert.match(await delivery(id), /^accepted/);
    const waiting = await send("not handed over yet");
    await reply(waiting);
    await reaches(waiting, "pending");
    assert.equal(runtime.written.length, 3);
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
    assert.match(runtime.written[1]!, /sent again/);
    runtime.takes();
    await reaches(id, "accepted hook");
  });
});
