/** What an Actor holds and has not acknowledged: calls that overtake one another, and Mail. */

import assert from "node:assert/strict";
import type { Lease } from "../../daemon/messaging/inbox/sessions.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";
import { until } from "../support/until.ts";
import { inboxOfDev } from "./inbox.ts";
import { TestHome } from "./setting.ts";

describe("The Inbox of an external Actor", () => {
  let home: TestHome;
  let group: string;
  beforeEach(async () => {
    home = await TestHome.open();
    group = await home.group("lead", "dev");
  });
  afterEach(() => home.remove());

  const { mail, direct, deliveryOf, waiting, texts } = inboxOfDev(() => ({ home, group }));

  describe("whose session's calls may overtake one another", () => {
    const unordered = () => ({ as: { ...home.actor(group, "dev", "s1"), unordered: true as const } });
    const later = () => home.call("bootstrap", { group_id: group }, unordered());
    const pass = async (part: number) => {
      home.clock.advance(LIMITS.mcp.settleSeconds * 1000 * part);
      await home.settled();
    };
    let event: string;
    let batchId: string | null;
    let lease: Lease;
    beforeEach(async () => {
      event = (await direct("now")).event.id;
      lease = home.messaging.openSession(unordered().as);
      ({ batch_id: batchId } = await home.call("inbox_read", { group_id: group }, unordered()));
      await later();
      await pass(0.9);
      assert.equal((await deliveryOf(event))?.state, "claimed");
    });

    it("takes a later call for an acknowledgement when nothing was lost for a while, also if it leaves meanwhile", async () => {
      lease.release();
      assert.deepEqual((await home.read(group, "dev", {}, "s2")).texts, []);
      await pass(0.1);
      assert.equal((await deliveryOf(event))?.state, "accepted");
      assert.equal(home.messaging.presence(group, "dev").reason, "connected");
    });

    it("hands out again what was lost, although a later call came first", async () => {
      lease.release(true);
      await pass(1);
      assert.equal((await deliveryOf(event))?.state, "claimed");
      const { messages } = await home.read(group, "dev", {}, "s2");
      assert.deepEqual(
        messages.map((one) => [one.event.id, one.redelivered]),
        [[event, true]],
      );
    });

    it("acknowledges by name at once", async () => {
      await home.call("inbox_read", { group_id: group, ack: batchId ?? "" }, unordered());
      assert.equal((await deliveryOf(event))?.state, "accepted");
    });
  });

  describe("with Mail that a session holds", () => {
    const redelivered = ({ messages }: ResultOf<"inbox_read">) => messages.map((one) => one.redelivered);
    const asDev = (session: string | null) => ({ as: home.actor(group, "dev", session) });

    it("leaves it unread until it is acknowledged, by name or by any later call of the session", async () => {
      const { event } = await mail("1");
      const isRead = async () => (await home.status(group, event.id)).read_status.dev;
      const first = await home.read(group, "dev");
      assert.equal(typeof first.batch_id, "string");
      assert.equal(await isRead(), false);
      assert.equal(home.messaging.presence(group, "dev").unread_mail, 0);
      await home.call("bootstrap", { group_id: group }, asDev("s2"));
      await home.settled();
      assert.equal(await isRead(), false, "another session's call is no evidence");
      await home.call("bootstrap", { group_id: group }, asDev("s1"));
      await home.settled();
      assert.equal(await isRead(), true);
      const { count } = home.registry.get(group).ledger;
      await home.read(group, "dev", { ack: first.batch_id ?? "" });
      assert.equal(home.registry.get(group).ledger.count, count, "acknowledging is idempotent");
    });

    it("gives none to another session, and all of it, marked, when the first one ends", async () => {
      await mail("1");
      await direct("now");
      const lease = home.messaging.openSession(home.actor(group, "dev", "s1"));
      assert.deepEqual((await home.read(group, "dev", { limit: 1 }, "s1")).texts, ["1"]);
      await mail("2");
      const other = await home.read(group, "dev", {}, "s2");
      assert.deepEqual([other.texts, other.unread], [["now"], 1]);
      const alone = await home.call("inbox_read", { group_id: group }, asDev(null));
      assert.deepEqual(texts(alone), []);
      const { timers } = home.clock;
      const { answer } = waiting("s2");
      await until(() => home.clock.timers > timers);
      lease.release();
      const again = await answer;
      assert.deepEqual(
        [texts(again), redelivered(again)],
        [
          ["1", "2"],
          [true, false],
        ],
      );
      await home.read(group, "dev", { ack: again.batch_id ?? "" }, "s2");
      assert.deepEqual((await home.read(group, "dev", {}, "s3")).texts, []);
    });

    it("goes on with the next session as soon as the first one has acknowledged", async () => {
      await mail("1");
      await home.read(group, "dev", {}, "s1");
      await mail("2");
      const { timers } = home.clock;
      const { answer } = waiting("s2");
      await until(() => home.clock.timers > timers);
      await home.call("bootstrap", { group_id: group }, asDev("s1"));
      assert.deepEqual(texts(await answer), ["2"]);
    });

    it("takes a late acknowledgement by name, until it was handed out again", async () => {
      await mail("1");
      const lease = home.messaging.openSession(home.actor(group, "dev", "s1"));
      const first = await home.read(group, "dev", {}, "s1");
      lease.release();
      const late = await home.read(group, "dev", { ack: first.batch_id ?? "" }, "s2");
      assert.deepEqual([late.texts, late.cursor], [[], first.messages[0]!.event.id]);
    });

    it("has it unread again, marked, after a restart of the daemon", async () => {
      const { event } = await mail("1");
      const { batch_id: batchId } = await home.read(group, "dev");
      await mail("2");
      home = await home.restarted();
      const again = await home.read(group, "dev", { ack: batchId ?? "" });
      assert.deepEqual(again.texts, ["1", "2"]);
      assert.deepEqual(redelivered(again), [true, false]);
      await home.read(group, "dev", { ack: again.batch_id ?? "" });
      assert.equal((await home.status(group, event.id)).read_status.dev, true);
    });

    it("moves the cursor at once for a call without a session and for the user", async () => {
      const first = await mail("1");
      const alone = await home.call("inbox_read", { group_id: group }, asDev(null));
      assert.deepEqual([texts(alone), alone.batch_id, alone.cursor], [["1"], null, first.event.id]);
      const second = await mail("2");
      await home.read(group, "dev", {}, "s1");
      const { cursor } = await home.call("inbox_read", { group_id: group, actor_id: "dev" });
      assert.equal(cursor, second.event.id);
      await mail("3");
      assert.deepEqual((await home.read(group, "dev", {}, "s2")).texts, ["3"], "nothing is held any more");
    });

    it("hands back the Mail of a mixed batch whose call was cancelled while it was claimed", async () => {
      await home.call("group_set_state", { group_id: group, state: "paused" });
      await mail("1");
      await direct("2");
      const { timers } = home.clock;
      const { answer, abort } = waiting();
      await until(() => home.clock.timers > timers);
      const { ledger } = home.registry.get(group);
      const append = ledger.appendAll.bind(ledger);
      ledger.appendAll = (events) => {
        const done = append(events);
        if (JSON.stringify(events).includes('"state":"claimed"')) abort.abort();
        return done;
      };
      await home.call("group_start", { group_id: group });
      assert.deepEqual(texts(await answer), []);
      ledger.appendAll = append;
      const next = await home.read(group, "dev", {}, "s2");
      assert.deepEqual(
        [next.texts, redelivered(next)],
        [
          ["1", "2"],
          [false, false],
        ],
      );
    });

    it("sends no notice of it", async () => {
      await mail("1");
      const lease = home.messaging.openSession(home.actor(group, "dev", "s1"));
      await home.read(group, "dev", {}, "s1");
      const { count } = home.registry.get(group).ledger;
      home.clock.advance(1_800_000);
      await home.settled();
      assert.equal(home.registry.get(group).ledger.count, count);
      lease.release();
      home.clock.advance(1);
      await until(() => home.registry.get(group).ledger.count > count);
    });
  });
});
