import assert from "node:assert/strict";
import { join } from "node:path";
import { homePaths } from "../../client/paths.ts";
import { ofKind } from "../support/events.ts";
import { until } from "../support/until.ts";
import { WornFiles } from "../support/worn-files.ts";
import { TestHome } from "./setting.ts";

describe("Notices", () => {
  let home: TestHome;
  let group: string;
  beforeEach(async () => {
    home = await TestHome.open();
    group = await home.group("lead", "dev");
    await home.call("group_update", {
      group_id: group,
      settings: { mail_notice_after_seconds: 100, reply_notice_after_seconds: 50 },
    });
  });
  afterEach(() => home.remove());

  const notices = () => {
    const { events } = home.registry.get(group).ledger.page({ limit: 200 });
    return ofKind(events, "system.notify").map(
      ({ data }) => `${data.kind} ${data.target_actor_id} ${data.related_event_id}`,
    );
  };
  /** Timers that were armed for at once fire, too. */
  const told = (count: number) =>
    until(() => {
      home.clock.advance(0);
      return notices().length === count;
    });
  /** What is due now is in the ledger before this. */
  const behind = async () => {
    home.clock.advance(0);
    await home.send(group, "behind", { to: ["user"] });
  };

  it("come once for each message that is due, over restarts, without its text", async () => {
    assert.equal(home.clock.timers, 0);
    const mail = (await home.send(group, "private words", { to: ["dev"], message_mode: "mail" })).event.id;
    const asked = (await home.send(group, "private words", { to: ["lead"], message_mode: "request_reply" }))
      .event.id;
    home.clock.advance(49_999);
    await behind();
    assert.deepEqual(notices(), []);
    home.clock.advance(1);
    await told(1);
    assert.deepEqual(notices(), [`reply_notice lead ${asked}`]);
    home = await home.restarted();
    home.clock.advance(60_000);
    await told(2);
    assert.deepEqual(notices(), [`reply_notice lead ${asked}`, `mail_notice dev ${mail}`]);
    const { ledger } = home.registry.get(group);
    const [event] = ledger.page({ limit: 1, kinds: new Set(["system.notify"]) }).events;
    assert.ok(!JSON.stringify(event).includes("private words"));
    home.clock.advance(1_000_000);
    home = await home.restarted();
    await behind();
    assert.equal(notices().length, 2);
    assert.equal(home.clock.timers, 0, "nothing is due any more");
  });

  it("reach the Actor as notices, and not when their reason is gone", async () => {
    await home.send(group, "letter", { to: ["dev"], message_mode: "mail" });
    const asked = (await home.send(group, "?", { to: ["dev"], message_mode: "request_reply" })).event.id;
    const first = await home.read(group, "dev", { limit: 2 });
    assert.deepEqual(first.texts, ["letter", "?"]);
    home.clock.advance(50_000);
    await told(1);
    const reminded = await home.read(group, "dev", { ack: first.batch_id ?? "" });
    assert.deepEqual(
      ofKind(
        reminded.messages.map(({ event }) => event),
        "system.notify",
      ).map(({ data }) => data.related_event_id),
      [asked],
    );
    await home.send(group, "another letter", { to: ["lead"], message_mode: "mail" });
    await home.send(group, "??", { to: ["lead"], message_mode: "request_reply" });
    home.clock.advance(200_000);
    await told(3);
    const { pending } = home.messaging.presence(group, "lead");
    assert.equal(pending, 3);
    const reading = await home.read(group, "lead", { limit: 2 });
    assert.deepEqual(reading.texts, ["another letter", "??"]);
    await home.call(
      "reply",
      { group_id: group, event_id: reading.messages[1]!.event.id, text: "!" },
      { as: home.actor(group, "lead") },
    );
    assert.deepEqual((await home.read(group, "lead")).texts, []);
  });

  it("wake nobody who is disabled, in a paused or in a stopped Group", async () => {
    await home.send(group, "letter", { to: ["dev"], message_mode: "mail" });
    await home.call("actor_stop", { group_id: group, actor_id: "dev" });
    assert.equal(home.clock.timers, 0);
    home.clock.advance(200_000);
    await behind();
    assert.deepEqual(notices(), []);
    await home.call("group_set_state", { group_id: group, state: "paused" });
    await home.call("actor_start", { group_id: group, actor_id: "dev" });
    await behind();
    assert.deepEqual(notices(), []);
    await home.call("group_start", { group_id: group });
    home.clock.advance(0);
    await told(1);
  });

  it("can be turned off", async () => {
    await home.call("group_update", {
      group_id: group,
      settings: { mail_notice_after_seconds: 0, reply_notice_after_seconds: 0 },
    });
    await home.send(group, "letter", { to: ["dev"], message_mode: "mail" });
    await home.send(group, "?", { to: ["dev"], message_mode: "request_reply" });
    assert.equal(home.clock.timers, 0);
  });

  it("wait for a disk that can't read what they are about, and keep nothing else from going on", async () => {
    const files = new WornFiles();
    await home.close();
    home = await TestHome.open({ root: home.root, clock: home.clock, files });
    const { event } = await home.send(group, "letter", { to: ["dev"], message_mode: "mail" });
    const lease = home.messaging.openSession(home.actor(group, "dev"));
    assert.deepEqual((await home.read(group, "dev")).texts, ["letter"]);
    files.wear(join(homePaths(home.root).group(group).ledger, "active.jsonl"), event.id);
    lease.release(true);
    await home.call("group_update", { group_id: group, title: "Worn" });
    home = await home.restarted(files);
    assert.equal(home.registry.get(group).record.title, "Worn");
    assert.ok(files.refused > 2);
    files.heal();
    home.clock.advance(100_000);
    await told(1);
    assert.deepEqual(notices(), [`mail_notice dev ${event.id}`]);
  });
});
