import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { deliveryEvent } from "../../daemon/runtimes/input/delivery-proof.ts";
import { LIMITS } from "../../shared/limits.ts";
import { refusal } from "../messaging/setting.ts";
import { diskError, FaultyFiles } from "../support/faulty-files.ts";
import { until } from "../support/until.ts";
import { Hosted } from "./fake-processes.ts";

/** A disk on which no ledger has room. */
function fullLedgers(step: string, path: string): Error | null {
  return step === "write" && path.includes("/ledger/") ? diskError("ENOSPC") : null;
}

describe("processes of Actors when the disk fails or their Group goes", () => {
  let hosted: Hosted;
  beforeEach(async () => {
    hosted = await Hosted.open();
  });
  afterEach(() => hosted.remove());

  /** The daemon is killed, and another one starts. */
  async function killed(fail: FaultyFiles["fail"] = () => null): Promise<Hosted> {
    const files = new FaultyFiles();
    files.fail = fail;
    return Hosted.open(hosted.root, files, hosted.processes);
  }

  async function started(groupId: string, ...actors: string[]): Promise<void> {
    for (const actorId of actors) await hosted.call("actor_start", { group_id: groupId, actor_id: actorId });
  }

  it("don't begin in a Group that was reset while their start was noted", async () => {
    const groupId = await hosted.group("ann");
    const who = { group_id: groupId, actor_id: "ann" };
    let say = (): void => {};
    hosted.processes.versions = new Promise((resolve) => (say = () => resolve(null)));
    const starting = assert.rejects(hosted.call("actor_start", who), refusal("group_busy"));
    await hosted.call("group_reset", { group_id: groupId, confirm: groupId });
    say();
    await starting;
    assert.equal(hosted.processes.all.length, 0);
    await hosted.call("actor_start", who);
    assert.equal(hosted.processes.living.length, 1);
    await hosted.call("actor_stop", who);
    assert.equal(hosted.processes.living.length, 0);
  });

  it("begin with the daemon only while their Actors are enabled", async () => {
    const groupId = await hosted.group("ann", "bob");
    await hosted.call("group_update", { group_id: groupId, settings: { start_actors: true } });
    let say = (): void => {};
    hosted.processes.versions = new Promise((resolve) => (say = () => resolve(null)));
    const begun = hosted.services.runtimes.startEnabled();
    await hosted.call("actor_stop", { group_id: groupId, actor_id: "bob" });
    say();
    await begun;
    const { runtimes } = hosted.services;
    assert.deepEqual(
      ["ann", "bob"].map((actorId) => runtimes.isRunning(groupId, actorId)),
      [true, false],
    );
  });

  it("end on request though the disk is full, and the request says what is missing", async () => {
    const groupId = await hosted.group("ann");
    const who = { group_id: groupId, actor_id: "ann" };
    await started(groupId, "ann");
    const missing = async (pattern: RegExp): Promise<void> => {
      await assert.rejects(hosted.call("actor_stop", who), (error: Error) => {
        assert.match(error.message, pattern);
        return refusal("storage_full")(error);
      });
      assert.equal(hosted.processes.living.length, 0);
    };
    hosted.files.fail = (step) => (step === "write" ? diskError("ENOSPC") : null);
    await missing(/^The disk is full\. The process was ended, but the Actor couldn't be disabled\./);
    const enabled = () => hosted.services.groups.registry.get(groupId).actor("ann").enabled;
    assert.equal(enabled(), true);
    await assert.rejects(hosted.call("actor_stop", who), /Nothing was recorded/);
    hosted.files.fail = fullLedgers;
    await assert.rejects(
      hosted.call("actor_start", who),
      /^Refusal: The disk is full\. The process wasn't started\./,
    );
    await assert.rejects(
      hosted.call("actor_restart", who),
      /^Refusal: The disk is full\. The process wasn't restarted\./,
    );
    hosted.files.fail = () => null;
    await started(groupId, "ann");
    hosted.files.fail = fullLedgers;
    await missing(/^The disk is full\. The process was ended, but the ledger doesn't say so\./);
    assert.equal(enabled(), false);
  });

  it("that the disk lets begin and not be noted end, and who watches is told", async () => {
    const groupId = await hosted.group("ann");
    const told: string[] = [];
    hosted.services.runtimes.attach(groupId, "ann", {
      output: () => {},
      message: (message) => void told.push(message.type === "ended" ? message.reason : message.type),
    });
    hosted.files.fail = (step) =>
      hosted.processes.all.length > 0 && ["open", "unlinked"].includes(step) ? diskError("EIO") : null;
    await assert.rejects(started(groupId, "ann"), refusal("storage_failed"));
    assert.equal(hosted.processes.all.length, 1);
    assert.deepEqual(hosted.processes.living, []);
    assert.equal(told.at(-1), "couldn't be started");
  });

  it("of a killed daemon are ended though no ledger can be written", async () => {
    const groupId = await hosted.group("ann", "bob");
    await started(groupId, "ann", "bob");
    const again = await killed(fullLedgers);
    assert.deepEqual(hosted.processes.living, []);
    hosted = again;
  });

  it("end late and begin late in a Group that couldn't be opened when the daemon started", async () => {
    const groupId = await hosted.group("ann");
    await hosted.call("group_update", { group_id: groupId, settings: { start_actors: true } });
    const { token_file: tokenFile } = await hosted.call("actor_add", { group_id: groupId, actor_id: "ext" });
    const { token } = JSON.parse(readFileSync(tokenFile, "utf8"));
    await started(groupId, "ann");
    const [left] = hosted.processes.living;
    const other = await hosted.group();
    hosted = await killed((step, path) =>
      step === "open" && path.includes(groupId) ? diskError("EIO") : null,
    );
    const { access, groups } = hosted.services;
    assert.ok(groups.registry.find(other));
    assert.equal(groups.registry.find(groupId), undefined);
    assert.equal(left!.isAlive, true);
    hosted.files.fail = () => null;
    hosted.clock.advance(LIMITS.group.reopenSeconds * 1000);
    await until("it begins", () => hosted.processes.all.length === 2);
    assert.equal(left!.isAlive, false);
    assert.equal(access.launchTokens.verify(token)?.actor_id, "ext");
    await until("it runs", () => hosted.services.launches.current(groupId, "ann")?.pid === 1001);
  });

  it("settle at their start what the disk didn't take when the ones before them ended", async () => {
    const groupId = await hosted.group("ann");
    const send = async (text: string): Promise<string> =>
      (await hosted.call("send", { group_id: groupId, text, to: ["ann"] })).event.id;
    const [claimed, queued] = [await send("claimed"), await send("queued")];
    const chat = hosted.services.messaging.get(groupId);
    const { id, generation } = chat.group.actor("ann");
    const note = (eventId: string, state: "claimed" | "queued") =>
      deliveryEvent(
        chat,
        { actor_id: id, generation },
        { source_event_id: eventId, batch_id: "b_1", state, reason: "" },
      );
    await chat.ledger.appendAll([note(claimed, "claimed"), note(queued, "claimed"), note(queued, "queued")]);
    await started(groupId, "ann");
    const { statuses } = await hosted.call("ledger_statuses", {
      group_id: groupId,
      event_ids: [claimed, queued],
    });
    const states = [claimed, queued].map((eventId) => statuses[eventId]!.delivery_status["ann"]!);
    assert.deepEqual(
      states.map(({ state, reason }) => [state, reason.split(":")[0]]),
      [
        ["ambiguous", "process_exit"],
        ["pending", "comes again"],
      ],
    );
  });
});
