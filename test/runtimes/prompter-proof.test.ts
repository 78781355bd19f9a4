/**
 * What is believed of a message that went into a terminal: hooks, time, reading, the end of the
 * process.
 */

import assert from "node:assert/strict";

import { LIMITS } from "../../shared/limits.ts";
import { until } from "../support/until.ts";
import { Prompted, Runtime } from "./prompter-setting.ts";

const { evidenceSeconds, busySeconds } = LIMITS.prompt;

describe("a prompter's message", () => {
  let at: Prompted;
  beforeEach(async () => {
    at = await Prompted.open();
  });
  afterEach(() => at.close());

  it("believes the hook; without one an idle runtime has its time, and a late hook still counts", async () => {
    const first = await at.send("one");
    await at.written(1);
    at.runtime.takes();
    await at.reaches(first, "accepted hook");
    const second = await at.send("two");
    await at.written(2);
    at.wait(evidenceSeconds - 1);
    await at.reaches(second, "claimed");
    at.wait(1);
    await at.reaches(second, "ambiguous no_evidence");
    at.runtime.takes();
    await at.reaches(second, "accepted late_hook");
    assert.equal(at.runtime.written.length, 2, "nothing is sent again");
  });

  it("expects a queued prompt as long as the runtime is busy, and a moment longer", async () => {
    at.runtime.doing = "working";
    const id = await at.send("queued");
    await at.written(1);
    for (let spent = 0; spent < busySeconds / 2; spent += evidenceSeconds) at.wait(evidenceSeconds);
    await at.reaches(id, "claimed busy");
    at.runtime.doing = "waiting";
    at.wait(evidenceSeconds);
    at.runtime.doing = "idle";
    at.wait(evidenceSeconds);
    await at.reaches(id, "claimed busy");
    const another = await at.send("behind it");
    await until(() => at.runtime.prompter.waits.includes("isn't confirmed"));
    at.wait(evidenceSeconds);
    await at.reaches(id, "ambiguous no_evidence");
    await at.written(2);
    at.runtime.takes();
    await at.reaches(another, "accepted hook");
  });

  it("doesn't expect it for ever from one that is always busy", async () => {
    at.runtime.doing = "working";
    const id = await at.send("queued");
    await at.written(1);
    for (let spent = 0; spent <= busySeconds + evidenceSeconds; spent += evidenceSeconds)
      at.wait(evidenceSeconds);
    await at.reaches(id, "ambiguous no_evidence");
  });

  it("leaves what an Actor had claimed to that one: another under its id never sees it", async () => {
    const id = await at.send("for the first ann");
    await at.written(1);
    await at.home.call("actor_remove", { group_id: at.group_id, actor_id: "ann" });
    await at.add("ann");
    const former = at.runtime;
    at.runtime = new Runtime(at.home, at.group_id, "ann", "another");
    at.runtime.takes(former.written[0]);
    await former.prompter.close("process_exit");
    assert.equal(former.written.length, 1);
    const next = await at.send("for the second ann");
    await at.written(1);
    assert.match(at.runtime.written[0]!, new RegExp(next));
    assert.ok(!at.runtime.written[0]!.includes(id));
    at.runtime.takes();
    await at.reaches(next, "accepted hook");
  });

  it("calls queued what waits behind a turn, and accepted what a turn has taken", async () => {
    at.runtime.doing = "working";
    const ids: string[] = [];
    for (const text of ["one", "two", "three"]) {
      ids.push(await at.send(text));
      await at.written(ids.length);
      at.runtime.queues();
      await at.reaches(ids.at(-1)!, "queued after a running turn");
    }
    at.runtime.input("joined");
    for (const id of ids) await at.reaches(id, "accepted hook_queued");
    const fourth = await at.send("four");
    await at.written(at.runtime.written.length + 1);
    at.runtime.queues();
    await at.reaches(fourth, "queued after a running turn");
    at.runtime.input("next");
    const fifth = await at.send("five");
    await at.written(at.runtime.written.length + 1);
    at.runtime.queues();
    await at.reaches(fifth, "queued after a running turn");
    at.runtime.input("begun");
    await at.reaches(fourth, "accepted hook_queued");
    await at.reaches(fifth, "queued after a running turn");
  });

  it("gives what a process left in its queue to the next one, once, and says so", async () => {
    at.runtime.doing = "working";
    const id = await at.send("unread");
    await at.written(1);
    assert.doesNotMatch(at.runtime.written[0]!, /sent again/);
    at.runtime.queues();
    await at.reaches(id, "queued after a running turn");
    await at.runtime.prompter.close("process_exit");
    await at.reaches(id, "pending comes again");
    at.runtime = new Runtime(at.home, at.group_id, "ann", "another");
    await at.written(1);
    assert.match(at.runtime.written[0]!, /sent again/);
    at.runtime.takes();
    await at.reaches(id, "accepted hook");
    assert.equal(at.runtime.written.length, 1);
  });

  it("calls unconfirmed what left the queue of an idle runtime unseen; a late proof counts", async () => {
    at.runtime.doing = "working";
    const id = await at.send("taken out by a person");
    await at.written(1);
    at.runtime.queues();
    await at.reaches(id, "queued after a running turn");
    at.runtime.doing = "idle";
    at.runtime.prompter.consider();
    at.wait(evidenceSeconds);
    await at.reaches(id, "ambiguous no_evidence");
    at.runtime.takes();
    await at.reaches(id, "accepted late_hook");
  });

  it("calls failed what was queued by an Actor that is removed", async () => {
    at.runtime.doing = "working";
    const id = await at.send("never read");
    await at.written(1);
    at.runtime.queues();
    await at.reaches(id, "queued after a running turn");
    await at.home.call("actor_remove", { group_id: at.group_id, actor_id: "ann" });
    await at.runtime.prompter.close("process_stopped");
    await at.reaches(id, "failed actor_removed");
  });

  it("takes an answer to the message, or its reading, for proof: of a runtime that gives none, and earlier than its hook", async () => {
    const ann = at.home.actor(at.group_id, "ann");
    const reply = (eventId: string) =>
      at.home.call(
        "reply",
        { group_id: at.group_id, event_id: eventId, text: "answer", message_mode: "send" },
        { as: ann },
      );
    const unproven = await at.send("one");
    await at.written(1);
    at.wait(evidenceSeconds);
    await at.reaches(unproven, "ambiguous no_evidence");
    await reply(unproven);
    await at.reaches(unproven, "accepted replied");
    const claimed = await at.send("two");
    await at.written(2);
    await reply(claimed);
    await at.reaches(claimed, "accepted replied");
    at.runtime.doing = "working";
    const queued = await at.send("three");
    await at.written(3);
    at.runtime.queues();
    await at.reaches(queued, "queued after a running turn");
    await at.home.call("message_history", {
      group_id: at.group_id,
      actor_id: "ann",
      mode: "all",
      query: "",
      limit: 50,
    });
    assert.match(await at.delivery(queued), /^queued/, "a person's reading proves nothing");
    await at.home.call(
      "message_history",
      { group_id: at.group_id, mode: "all", query: "", limit: 50 },
      { as: ann },
    );
    await at.reaches(queued, "accepted read");
    await at.runtime.prompter.close("process_exit");
    for (const id of [unproven, claimed, queued]) assert.match(await at.delivery(id), /^accepted/);
    const waiting = await at.send("not handed over yet");
    await reply(waiting);
    await at.reaches(waiting, "pending");
    assert.equal(at.runtime.written.length, 3);
  });

  it("sends again only what is put back on purpose", async () => {
    const id = await at.send("unproven");
    await at.written(1);
    at.wait(evidenceSeconds);
    await at.reaches(id, "ambiguous no_evidence");
    const again = { group_id: at.group_id, source_event_id: id, actor_ids: ["ann"] };
    await assert.rejects(at.home.call("message_deliver", again), { code: "delivery_ambiguous" });
    at.wait(busySeconds);
    assert.equal(at.runtime.written.length, 1);
    await at.home.call("message_deliver", { ...again, force_ambiguous: true });
    await at.written(2);
    assert.match(at.runtime.written[1]!, /sent again/);
    at.runtime.takes();
    await at.reaches(id, "accepted hook");
  });
});
