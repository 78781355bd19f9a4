import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../withstand/daemon-process.ts";
import { Setting } from "./setting.ts";

describe("prompting a process in a terminal", function () {
  this.timeout(60_000);
  let setting: Setting;
  before(async () => {
    setting = await Setting.open();
  });
  after(() => setting.close());

  it("hands a message over as one paste and believes the process's own hook", async () => {
    await setting.add("coder");
    await setting.startActor("coder");
    const { id } = await setting.send("first line\nsecond line", ["coder"]);
    assert.equal((await setting.reaches(id, "coder", "accepted")).reason, "hook");
    const [prompt] = setting.prompts("coder");
    assert.match(
      prompt!,
      new RegExp(`^\\[svc\\] message ${id} from user\n> first line\n> second line\n\\[svc\\] To answer`),
    );
    const typed = setting.notes("coder").flatMap(({ bytes }) => (bytes === undefined ? [] : [bytes]));
    assert.deepEqual(typed, [`\u001b[200~${prompt}\u001b[201~\r`]);
    const states = (await setting.deliveries(id)).map(({ state, transport }) => [transport, state]);
    assert.deepEqual(states, [
      ["pty", "claimed"],
      ["pty", "accepted"],
    ]);
  });

  it("waits, and says so, until the process shows that it reads", async () => {
    const readyWhen = join(setting.root, "slow.ready");
    await setting.add("slow", { readyWhen });
    const early = await setting.send("before the start", ["slow"]);
    assert.deepEqual(await setting.status(early.id, "slow"), {
      state: "pending",
      reason: "not running",
      ts: null,
    });
    await setting.startActor("slow");
    await until("the agent runs", () => setting.notes("slow").length > 0);
    const other = await setting.send("while it starts", ["slow"]);
    assert.equal((await setting.status(other.id, "slow")).reason, "starting");
    assert.deepEqual(await setting.deliveries(early.id), []);
    writeFileSync(readyWhen, "");
    await setting.reaches(early.id, "slow", "accepted");
    await setting.reaches(other.id, "slow", "accepted");
    assert.equal(setting.prompts("slow").length, 1, "what waits goes in one prompt");
  });
});
