/** When a message goes into a terminal: what is on its screen, and who types there. */

import assert from "node:assert/strict";

import { entryOf } from "../../daemon/runtimes/catalogue.ts";
import { CLAUDE_INPUT } from "../../daemon/runtimes/input/input-facts.ts";
import { LIMITS } from "../../shared/limits.ts";
import { until } from "../support/until.ts";
import { Prompted, Runtime } from "./prompter-setting.ts";

const { evidenceSeconds, busySeconds, readySeconds, toolsSeconds, typingSeconds, pasteSeconds } =
  LIMITS.prompt;

describe("a prompter", () => {
  let at: Prompted;
  beforeEach(async () => {
    at = await Prompted.open();
  });
  afterEach(() => at.close());

  it("writes nothing into what a person types", async () => {
    at.runtime.typedAt = at.home.clock.monotonic();
    await at.send("wait");
    await until(() => at.runtime.prompter.waits === "someone is typing in its terminal");
    at.runtime.typedAt = at.home.clock.monotonic() + 1000;
    at.wait(typingSeconds);
    await until(() => at.runtime.prompter.waits === "someone is typing in its terminal");
    assert.deepEqual(at.runtime.written, []);
    at.wait(typingSeconds);
    await at.written(1);
  });

  it("writes only into an empty input line that has the focus, and says what is there instead", async () => {
    const { screen } = at.runtime;
    const cases: [shown: () => void, reason: string, needsPerson: boolean][] = [
      [() => screen.composer("rm -rf half"), 'its input line contains unsent text: "rm…"', true],
      [() => screen.composer("", "!"), "its shell mode is on", true],
      [() => screen.shows(" Do you want to create x?", "", " ❯ 1. Yes"), "it asks for a permission", true],
      [
        () => screen.shows("  Select model", "  ❯ 1. Default", "  Esc to cancel"),
        "its model menu is open",
        true,
      ],
      [() => screen.shows(...Array<string>(10).fill("output")), "its screen shows no empty input line", true],
      [
        () => screen.shows(...Array<string>(6).fill("output")),
        "its screen shows no empty input line, as its terminal has only 6 rows",
        true,
      ],
    ];
    at.wait(readySeconds);
    cases[0]![0]();
    const id = await at.send("wait");
    for (const [show, reason, needsPerson] of cases) {
      show();
      at.runtime.prompter.drawn();
      at.wait(1);
      await until(() => at.runtime.prompter.waits === reason);
      assert.equal(at.runtime.prompter.needs, needsPerson ? reason : "");
    }
    at.wait(busySeconds);
    assert.equal(at.runtime.pasted, null);
    screen.composer();
    at.runtime.prompter.drawn();
    at.wait(1);
    await at.written(1);
    at.runtime.takes();
    await at.reaches(id, "accepted hook");
    assert.equal(at.runtime.prompter.needs, "");
  });

  it("waits until the input line has been empty for a while where a question may be drawn over it at the start", async () => {
    await at.runtime.prompter.close("process_exit");
    const { steadyMs } = entryOf("gemini");
    at.runtime = new Runtime(at.home, at.group_id, "ann", "another digest", { steadyMs });
    const first = await at.send("one");
    await until(() => at.runtime.prompter.waits === "starting");
    at.wait((steadyMs - 1) / 1000);
    at.runtime.screen.shows(" Do you want to trust this folder?");
    at.runtime.prompter.drawn();
    at.wait(1);
    await until(() => at.runtime.prompter.needs === "it asks for a permission");
    at.wait(steadyMs / 1000);
    at.runtime.screen.composer();
    at.runtime.prompter.drawn();
    at.wait(1);
    await until(() => at.runtime.prompter.waits === "starting");
    assert.equal(at.runtime.pasted, null);
    at.wait(steadyMs / 1000);
    await at.written(1);
    at.runtime.takes();
    await at.reaches(first, "accepted hook");
    await at.send("two");
    await at.written(2);
  });

  it("keeps the Group's minimum interval, and writes the next when it is over", async () => {
    const settings = { min_interval_seconds: 10 };
    await at.home.call("group_update", { group_id: at.group_id, settings });
    at.wait(readySeconds);
    const first = await at.send("one");
    await at.written(1);
    at.runtime.takes();
    await at.reaches(first, "accepted hook");
    await at.send("two");
    await until(() => at.runtime.prompter.waits === "the Group's minimum interval");
    at.wait(9);
    assert.equal(at.runtime.pasted, null);
    at.wait(1);
    await at.written(2);
  });

  it("counts a prompt of ours that was put back as no draft, unless somebody typed since", async () => {
    at.runtime.screen.composer(`[svc] message ${"0".repeat(32)} from user`);
    at.runtime.hasDraft = true;
    await at.send("next");
    await until(() => at.runtime.prompter.waits.includes('"[s…"'));
    at.runtime.hasDraft = false;
    at.runtime.prompter.consider();
    await at.written(1);
  });

  it("doesn't take the key that answered a dialog for a draft behind a prompt of ours", async () => {
    at.runtime.typedAt = at.home.clock.monotonic();
    at.runtime.hasDraft = true;
    at.wait(typingSeconds);
    const first = await at.send("first");
    await at.written(1);
    at.runtime.takes();
    await at.reaches(first, "accepted hook");
    const putBack = () => at.runtime.screen.composer(`[svc] message ${first} from user`);
    putBack();
    const second = await at.send("second");
    await at.written(2);
    at.runtime.takes();
    await at.reaches(second, "accepted hook");
    putBack();
    at.runtime.typedAt = at.home.clock.monotonic();
    await at.send("third");
    at.wait(typingSeconds);
    await until(() => at.runtime.prompter.waits.includes('"[s…"'));
    assert.equal(at.runtime.written.length, 2);
  });

  it("knows its prompt that was put back as one piece, unless somebody typed since", async () => {
    const first = await at.send("first");
    await at.written(1);
    at.runtime.takes();
    await at.reaches(first, "accepted hook");
    at.runtime.screen.composer("[Pasted text #2 +3 lines]");
    at.wait(1);
    const second = await at.send("second");
    await at.written(2);
    at.runtime.takes();
    await at.reaches(second, "accepted hook");
    at.wait(1);
    at.runtime.screen.composer("[Pasted text #3 +7 lines]");
    at.runtime.typedAt = at.home.clock.monotonic();
    await at.send("third");
    at.wait(typingSeconds);
    await until(() => at.runtime.prompter.waits.includes('"[P…"'));
    assert.equal(at.runtime.written.length, 2);
  });

  it("looks at the screen again when the claim is on the disk", async () => {
    const { ledger } = at.home.messaging.get(at.group_id);
    const appendAll = ledger.appendAll.bind(ledger);
    ledger.appendAll = async (events) => {
      const result = await appendAll(events);
      if (JSON.stringify(events).includes('"state":"claimed"')) at.runtime.screen.composer("half");
      return result;
    };
    const id = await at.send("just now");
    await until(() => at.runtime.prompter.waits.includes('"ha…"'));
    assert.equal(at.runtime.pasted, null);
    await at.reaches(id, "pending");
    ledger.appendAll = appendAll;
    at.runtime.screen.composer();
    at.runtime.prompter.drawn();
    at.wait(1);
    await at.written(1);
  });

  it("presses Enter only behind a paste that the input line shows, and that nobody typed into", async () => {
    at.runtime.shown = () => at.runtime.screen.shows(" Do you want to create x?", "", " ❯ 1. Yes");
    const first = await at.send("one");
    await until(() => at.runtime.pasted !== null);
    for (let spent = 0; spent < 2 * (pasteSeconds + evidenceSeconds); spent += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      at.wait(1);
    }
    await at.reaches(first, "ambiguous no_evidence");
    assert.deepEqual(at.runtime.written, []);
    at.runtime.pasted = null;
    at.runtime.shown = () => {
      at.runtime.screen.composer("[Pasted text #1 +4 lines]");
      at.runtime.typedAt = at.home.clock.monotonic() + 1;
    };
    at.runtime.screen.composer();
    at.runtime.prompter.drawn();
    at.wait(1);
    const second = await at.send("two");
    await until(() => at.runtime.pasted !== null);
    // A person may still press it.
    at.runtime.takes(at.runtime.pasted!);
    await at.reaches(second, "accepted hook");
    assert.deepEqual(at.runtime.written, []);
  });

  it("presses no Enter behind a paste while its hooks tell of a question that the screen doesn't show yet", async () => {
    at.runtime.shown = () => {
      at.runtime.screen.composer("[Pasted text #1 +4 lines]");
      at.runtime.doing = "waiting";
    };
    const id = await at.send("one");
    await until(() => at.runtime.pasted !== null);
    for (let looks = 0; looks < 20; looks += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      at.wait(LIMITS.prompt.lookMs / 1000);
    }
    assert.equal(at.runtime.enters, 0);
    at.runtime.doing = "working";
    for (let looks = 0; at.runtime.enters < 1 && looks < 20; looks += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      at.wait(LIMITS.prompt.lookMs / 1000);
    }
    await at.written(1);
    at.runtime.takes();
    await at.reaches(id, "accepted hook");
  });

  it("writes nothing into a runtime without hooks while its screen says that it works, not even Enter", async () => {
    await at.runtime.prompter.close("process_exit");
    const composer = { ...CLAUDE_INPUT.composer, works: /^ {2}working$/ };
    const input = { ...CLAUDE_INPUT, composer };
    at.runtime = new Runtime(at.home, at.group_id, "ann", "another", { input });
    const { runtime } = at;
    runtime.screen.footer = "  working";
    runtime.screen.composer();
    const id = await at.send("one");
    await until(() => runtime.prompter.waits === "it is working and might ask a question at any moment");
    assert.equal(runtime.prompter.needs, "");
    assert.equal(runtime.pasted, null);
    const looks = async () => {
      for (let turn = 0; runtime.enters === 0 && turn < 20; turn += 1) {
        await new Promise((resolve) => setImmediate(resolve));
        at.wait(LIMITS.prompt.lookMs / 1000);
      }
    };
    runtime.screen.footer = "  ? for shortcuts";
    runtime.screen.composer();
    // It begins to work as the paste arrives.
    runtime.screen.footer = "  working";
    runtime.prompter.drawn();
    at.wait(1);
    await until(() => runtime.pasted !== null);
    await looks();
    assert.equal(runtime.enters, 0);
    runtime.screen.footer = "  ? for shortcuts";
    runtime.screen.composer("[Pasted text #1 +4 lines]");
    await looks();
    await at.written(1);
    runtime.takes();
    await at.reaches(id, "accepted hook");
  });

  it("presses Enter again when the input line shows that it became a line of the paste, unless somebody typed or its hooks tell of a question", async () => {
    at.runtime.newLines = 2;
    const first = await at.send("one");
    await until(() => at.runtime.enters === 2);
    for (let looks = 0; at.runtime.enters < 3 && looks < 20; looks += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      at.wait(LIMITS.prompt.lookMs / 1000);
    }
    await at.written(1);
    assert.equal(at.runtime.enters, 3);
    at.runtime.takes();
    await at.reaches(first, "accepted hook");

    at.runtime.enters = 0;
    at.runtime.newLines = 1;
    at.runtime.entered = () => (at.runtime.typedAt = at.home.clock.monotonic() + 1);
    const second = await at.send("two");
    await until(() => at.runtime.enters === 1);
    for (let spent = 0; spent < pasteSeconds; spent += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      at.wait(1);
    }
    assert.equal(at.runtime.enters, 1);
    at.runtime.takes(at.runtime.pasted!);
    await at.reaches(second, "accepted hook");

    at.runtime.enters = 0;
    at.runtime.newLines = 1;
    at.runtime.screen.composer();
    at.wait(typingSeconds);
    at.runtime.entered = () => (at.runtime.doing = "waiting");
    const third = await at.send("three");
    await until(() => at.runtime.enters === 1);
    for (let spent = 0; spent < pasteSeconds; spent += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      at.wait(1);
    }
    assert.equal(at.runtime.enters, 1);
    at.runtime.takes(at.runtime.pasted!);
    await at.reaches(third, "accepted hook");
  });

  it("doesn't take an empty line that stood behind the paste before for one of its Enter", async () => {
    at.runtime.shown = () => at.runtime.screen.composer("[Pasted text #1 +4 lines]\n");
    // It draws late what became of Enter.
    at.runtime.newLines = Number.POSITIVE_INFINITY;
    const id = await at.send("as wide as the line");
    await until(() => at.runtime.enters === 1);
    for (let spent = 0; spent <= pasteSeconds + 1; spent += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      at.wait(1);
    }
    assert.equal(at.runtime.enters, 1);
    at.runtime.takes(at.runtime.pasted!);
    await at.reaches(id, "accepted hook");
  });

  it("writes nothing into a question for a person", async () => {
    at.runtime.doing = "waiting";
    await at.send("wait");
    await until(() => at.runtime.prompter.waits === "it is waiting for a person's answer");
    at.wait(busySeconds);
    assert.deepEqual(at.runtime.written, []);
    at.runtime.doing = "idle";
    at.runtime.prompter.consider();
    await at.written(1);
    assert.equal(at.runtime.prompter.waits === "it is waiting for a person's answer", false);
  });

  it("hands back what was claimed when a question came up meanwhile; it goes in afterwards", async () => {
    const { ledger } = at.home.messaging.get(at.group_id);
    const appendAll = ledger.appendAll.bind(ledger);
    ledger.appendAll = async (events) => {
      const result = await appendAll(events);
      if (JSON.stringify(events).includes('"state":"claimed"')) at.runtime.doing = "waiting";
      return result;
    };
    const id = await at.send("just now");
    await until(() => at.runtime.prompter.waits === "it is waiting for a person's answer");
    assert.deepEqual(at.runtime.written, []);
    ledger.appendAll = appendAll;
    at.runtime.doing = "idle";
    at.runtime.prompter.consider();
    await at.written(1);
    at.runtime.takes();
    await at.reaches(id, "accepted hook");
  });

  it("waits for a terminal that reads and for listed tools, each with a bound of its own", async () => {
    at.runtime.reads = false;
    at.runtime.hasTools = false;
    await at.send("early");
    await until(() => at.runtime.prompter.waits === "starting");
    at.wait(readySeconds);
    await until(() => at.runtime.prompter.waits.includes("bracketed paste is off"));
    at.runtime.reads = true;
    at.runtime.prompter.consider();
    await at.written(1);
    await at.runtime.prompter.close("process_exit");
    at.runtime = new Runtime(at.home, at.group_id, "ann", "another");
    at.runtime.hasTools = false;
    await at.send("tools first");
    await until(() => at.runtime.prompter.waits === "starting");
    at.wait(toolsSeconds - 1);
    assert.deepEqual(at.runtime.written, []);
    at.wait(1);
    await at.written(1);
  });
});
