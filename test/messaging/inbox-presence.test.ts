/** What people see of an Actor that takes messages. */
import assert from "node:assert/strict";
import { LIMITS } from "../../shared/limits.ts";
import { inboxOfDev } from "./inbox.ts";
import { TestHome } from "./setting.ts";

describe("An external Actor", () => {
  let home: TestHome;
  let group: string;
  beforeEach(async () => {
    home = await TestHome.open();
    group = await home.group("lead", "dev");
  });
  afterEach(() => home.remove());

  const { direct, deliveryOf, waiting, isWaiting } = inboxOfDev(() => ({ home, group }));

  it("shows in words what the Actor does", async () => {
    const seen: string[] = [];
    home.messaging.onPresence((_group, actor) => {
      const { state, reason } = home.messaging.presence(group, actor);
      const words = `${actor} ${state}: ${reason}`;
      if (seen.at(-1) !== words) seen.push(words);
    });
    const lease = home.messaging.openSession(home.actor(group, "dev", "s1"));
    const { answer } = waiting();
    await isWaiting();
    await direct("work");
    await answer;
    lease.release();
    await home.call("actor_stop", { group_id: group, actor_id: "dev" });
    assert.deepEqual(
      seen.filter((words) => words.startsWith("dev")),
      [
        "dev idle: connected",
        "dev idle: waits for messages",
        "dev working: read 1 message",
        "dev unavailable: not connected; 1 message will be delivered again",
        "dev stopped: disabled",
      ],
    );
  });

  describe("whose state people see", () => {
    const dev = () => home.actor(group, "dev", "s1");
    const words = () => {
      const { state, reason } = home.messaging.presence(group, "dev");
      return `${state}: ${reason}`;
    };
    const ask = async () =>
      (await home.send(group, "?", { to: ["user"], message_mode: "request_reply" }, dev())).event;
    const answer = (eventId: string) => home.call("reply", { group_id: group, event_id: eventId, text: "!" });

    it("waits for the person while they owe it a reply, unless it took something since", async () => {
      assert.deepEqual(words(), "unavailable: not connected");
      home.messaging.openSession(dev());
      await direct("work");
      await home.read(group, "dev");
      home.clock.advance(1);
      const first = await ask();
      assert.equal(words(), "waiting: asks you for a reply");
      assert.equal(home.messaging.presence(group, "dev").since, first.ts);
      home.clock.advance(1);
      await direct("more work");
      await home.read(group, "dev");
      assert.equal(words(), "working: read 1 message");
      home.clock.advance(1);
      const second = await ask();
      assert.equal(words(), "waiting: asks you for a reply");
      home = await home.restarted();
      assert.equal(words(), "waiting: asks you for a reply; not connected");
      await answer(second.id);
      assert.equal(words(), "waiting: asks you for a reply; not connected");
      await home.call("reply_request_cancel", { group_id: group, event_id: first.id });
      assert.equal(words(), "unavailable: not connected");
    });

    it("is told to people when the question comes and when it is answered", async () => {
      home.messaging.openSession(dev());
      const seen: string[] = [];
      home.messaging.onPresence((_group, actor) => {
        if (actor === "dev" && seen.at(-1) !== words()) seen.push(words());
      });
      await answer((await ask()).id);
      assert.deepEqual(seen, ["waiting: asks you for a reply", "idle: connected"]);
    });

    it("waits for the person in another Group, too, and not for an earlier Actor of its name", async () => {
      const other = await home.group();
      home.messaging.openSession(dev());
      const input = { group_id: group, dst_group_id: other, to: ["user"], text: "?" };
      await home.call("send_cross_group", { ...input, message_mode: "request_reply" }, { as: dev() });
      assert.equal(words(), "waiting: asks you for a reply");
      await home.call("actor_remove", { group_id: group, actor_id: "dev" });
      await home.call("actor_add", { group_id: group, actor_id: "dev" });
      assert.equal(words(), "unavailable: not connected");
    });

    it("stalls when it took something, says nothing for long, and some of that is open", async () => {
      home.messaging.openSession(dev());
      const request = await home.send(group, "?", { to: ["dev"], message_mode: "request_reply" });
      await home.read(group, "dev");
      let told = 0;
      home.messaging.onPresence(() => (told += 1));
      const silence = () => {
        told = 0;
        home.clock.advance((LIMITS.actorSession.quietSeconds + LIMITS.actorSession.idleSeconds) * 1000);
        assert.equal(told, 1);
      };
      silence();
      assert.equal(words(), "stalled: read 1 message, then silence");
      await home.call("bootstrap", { group_id: group }, { as: dev() });
      await home.settled();
      assert.equal(words(), "working: read 1 message");
      silence();
      assert.equal(words(), "stalled: read 1 message, then silence", "it owes a reply");
      await home.call("reply", { group_id: group, event_id: request.event.id, text: "!" }, { as: dev() });
      assert.equal(words(), "working: read 1 message");
      silence();
      assert.equal(words(), "idle: connected", "nothing is open");
    });

    it("says of what it took and never acknowledged that it will be handed out again", async () => {
      const lease = home.messaging.openSession(dev());
      const { event } = await direct("work");
      const { batch_id: batchId } = await home.read(group, "dev");
      assert.deepEqual(await deliveryOf(event.id), { ...(await deliveryOf(event.id)), reason: "" });
      home.clock.advance(1);
      lease.release();
      const status = await deliveryOf(event.id);
      assert.deepEqual([status?.state, status?.reason], ["claimed", "session_ended"]);
      const { since } = home.messaging.presence(group, "dev");
      assert.equal(since, new Date(home.clock.now()).toISOString());
      await home.read(group, "dev", { ack: batchId ?? "" }, "s2");
      assert.equal((await deliveryOf(event.id))?.state, "accepted");
    });
  });
});
