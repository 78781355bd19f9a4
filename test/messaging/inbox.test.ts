/** What an external Actor is handed, how it acknowledges that, and what comes again. */

import assert from "node:assert/strict";
import { LIMITS } from "../../shared/limits.ts";
import { textOf } from "../support/events.ts";
import { until } from "../support/until.ts";
import { inboxOfDev } from "./inbox.ts";
import { refusal, TestHome, textsOf } from "./setting.ts";

describe("The Inbox of an external Actor", () => {
  let home: TestHome;
  let group: string;
  beforeEach(async () => {
    home = await TestHome.open();
    group = await home.group("lead", "dev");
  });
  afterEach(() => home.remove());

  const { mail, direct, deliveryOf, pending, waiting, isWaiting, texts } = inboxOfDev(() => ({
    home,
    group,
  }));

  it("gives Mail in ledger order, moves the cursor durably, and peeks without moving it", async () => {
    const sent = [];
    for (const text of ["1", "2", "3"]) sent.push((await mail(text)).event.id);
    const peek = () => home.call("inbox_peek", { group_id: group, actor_id: "dev", limit: 2 });
    assert.deepEqual(textsOf((await peek()).messages), ["1", "2"]);
    assert.deepEqual((await peek()).cursor, null);
    const first = await home.read(group, "dev", { limit: 2 });
    assert.deepEqual(first.texts, ["1", "2"]);
    assert.deepEqual([first.cursor, first.unread], [null, 1]);
    assert.deepEqual((await home.status(group, sent[1]!)).read_status, { dev: false });
    const nothing = await home.read(group, "dev", { ack: first.batch_id ?? "", limit: 1 });
    assert.deepEqual([nothing.texts, nothing.cursor], [["3"], sent[1]]);
    assert.deepEqual((await home.status(group, sent[1]!)).read_status, { dev: true });
    assert.deepEqual((await home.status(group, sent[2]!)).read_status, { dev: false });
    home = await home.restarted();
    assert.deepEqual((await peek()).cursor, sent[1]);
    assert.deepEqual((await home.read(group, "dev")).texts, ["3"]);
    assert.deepEqual((await home.read(group, "dev")).texts, []);
  });

  it("mixes Mail and direct messages in ledger order", async () => {
    await mail("1");
    await direct("2");
    await mail("3");
    const reading = await home.read(group, "dev");
    assert.deepEqual(
      reading.messages.map(({ event, delivery }) => [textOf(event), delivery]),
      [
        ["1", "mail"],
        ["2", "direct"],
        ["3", "mail"],
      ],
    );
  });

  it("claims before it hands out; naming the batch accepts it", async () => {
    const { event } = await direct("work");
    assert.equal((await deliveryOf(event.id))?.state, "pending");
    const reading = await home.read(group, "dev");
    assert.equal((await deliveryOf(event.id))?.state, "claimed");
    assert.ok(reading.batch_id !== null);
    await home.read(group, "dev", { ack: reading.batch_id });
    assert.equal((await deliveryOf(event.id))?.state, "accepted");
    const count = home.registry.get(group).ledger.count;
    await home.read(group, "dev", { ack: reading.batch_id });
    assert.equal(home.registry.get(group).ledger.count, count);
  });

  it("takes any later call of the session as the acknowledgement, but none of another session", async () => {
    const { event } = await direct("work");
    await home.read(group, "dev", {}, "s1");
    await home.read(group, "dev", {}, "s2");
    assert.equal((await deliveryOf(event.id))?.state, "claimed");
    await home.call("bootstrap", { group_id: group }, { as: home.actor(group, "dev", "s1") });
    await until(() => home.registry.get(group).ledger.related(ordinal(event.id)).length === 2);
    assert.equal((await deliveryOf(event.id))?.state, "accepted");
  });
  const ordinal = (id: string): number => home.registry.get(group).ledger.ordinalOf(id)!;

  it("hands out again, marked, what a session that ended didn't acknowledge", async () => {
    const { event } = await direct("work");
    const lease = home.messaging.openSession(home.actor(group, "dev", "s1"));
    assert.equal((await home.read(group, "dev", {}, "s1")).messages[0]?.redelivered, false);
    assert.deepEqual((await home.read(group, "dev", {}, "s2")).texts, []);
    const { timers } = home.clock;
    const other = waiting("s2");
    await until(() => home.clock.timers > timers);
    lease.release();
    const again = await other.answer;
    assert.deepEqual(texts(again), ["work"]);
    assert.equal(again.messages[0]?.redelivered, true);
    await home.read(group, "dev", { ack: again.batch_id ?? "" }, "s2");
    assert.equal((await deliveryOf(event.id))?.state, "accepted");
  });

  it("ends a session without a lease some time after its last call", async () => {
    await direct("work");
    await home.read(group, "dev", {}, "s1");
    home.clock.advance(LIMITS.actorSession.idleSeconds * 1000 - 1);
    assert.deepEqual((await home.read(group, "dev", {}, "s2")).texts, []);
    home.clock.advance(1);
    const again = await home.read(group, "dev", {}, "s2");
    assert.deepEqual([again.texts, again.messages[0]?.redelivered], [["work"], true]);
  });

  it("honours an acknowledgement after a restart of the daemon, else hands out again", async () => {
    const first = await direct("first");
    const { batch_id: batchId } = await home.read(group, "dev", { limit: 1 });
    await direct("second");
    const second = await home.read(group, "dev", { limit: 1 }, "s2");
    assert.deepEqual(second.texts, ["second"]);
    home = await home.restarted();
    const after = await home.read(group, "dev", { ack: batchId ?? "" });
    assert.equal((await deliveryOf(first.event.id))?.state, "accepted");
    assert.deepEqual(after.texts, ["second"]);
    assert.equal(after.messages[0]?.redelivered, true);
  });

  it("acknowledges without a session only by name", async () => {
    const { event } = await direct("work");
    const as = home.actor(group, "dev", null);
    const { batch_id: batchId } = await home.call("inbox_read", { group_id: group }, { as });
    await home.call("inbox_read", { group_id: group }, { as });
    assert.equal((await deliveryOf(event.id))?.state, "claimed");
    await home.call("inbox_read", { group_id: group, ack: batchId ?? "" }, { as });
    assert.equal((await deliveryOf(event.id))?.state, "accepted");
  });

  it("waits for messages and is woken by the append", async () => {
    const { answer } = waiting();
    await isWaiting();
    await direct("now");
    assert.deepEqual(texts(await answer), ["now"]);
    assert.equal(home.messaging.presence(group, "dev").state, "working");
  });

  it("answers empty when the time is over, with signs of life meanwhile", async () => {
    const { answer, said } = waiting("s1", 40);
    for (const seconds of [15, 15, 10]) {
      await isWaiting();
      home.clock.advance(seconds * 1000);
      await until(
        () => home.messaging.presence(group, "dev").reason !== "waits for messages" || said.length > 0,
      );
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual(texts(await answer), []);
    assert.equal(said.length, 2);
  });

  it("hands back what was claimed for a call that was cancelled meanwhile", async () => {
    const { answer, abort } = waiting();
    await isWaiting();
    const { ledger } = home.registry.get(group);
    // The claim is being written when the caller goes away.
    const append = ledger.appendAll.bind(ledger);
    ledger.appendAll = (events) => {
      const done = append(events);
      if (JSON.stringify(events).includes('"state":"claimed"')) abort.abort();
      return done;
    };
    const { event } = await direct("work");
    assert.deepEqual(texts(await answer), []);
    assert.equal((await deliveryOf(event.id))?.state, "pending");
    assert.equal(pending(), 1);
    ledger.appendAll = append;
    const next = await home.read(group, "dev", {}, "s2");
    assert.deepEqual([next.texts, next.messages[0]?.redelivered], [["work"], false]);
  });

  it("ends a cancelled wait without taking anything", async () => {
    const { answer, abort } = waiting();
    await isWaiting();
    abort.abort();
    assert.deepEqual(texts(await answer), []);
    await direct("work");
    assert.equal(pending(), 1);
  });

  it("gives each message to one of several readers", async () => {
    const reads = Array.from({ length: 4 }, (_, at) => waiting(`s${at}`));
    await isWaiting();
    await Promise.all(Array.from({ length: 4 }, (_, at) => direct(`m${at}`)));
    const handed = (
      await Promise.all([
        reads[0]!.answer,
        ...reads.slice(1).map(({ answer, abort }) => {
          setTimeout(() => abort.abort(), 50);
          return answer;
        }),
      ])
    ).flatMap(texts);
    const rest = (await home.read(group, "dev", {}, "late")).texts;
    assert.deepEqual(new Set([...handed, ...rest]), new Set(["m0", "m1", "m2", "m3"]));
    assert.equal(handed.length + rest.length, 4);
  });

  it("hands nothing out in a paused or stopped Group; the wait goes on until it is resumed", async () => {
    for (const state of ["paused", "stopped"] as const) {
      await home.call("group_set_state", { group_id: group, state });
      await direct("work");
      await mail("mail");
      assert.deepEqual((await home.read(group, "dev")).texts, []);
      const abort = new AbortController();
      const answer = home.call(
        "inbox_read",
        { group_id: group, wait_seconds: 25 },
        { as: home.actor(group, "dev"), signal: abort.signal },
      );
      await direct("more");
      await home.call("group_start", { group_id: group });
      assert.deepEqual(texts(await answer).slice(0, 2), ["work", "mail"]);
      await home.read(group, "dev");
    }
  });

  it("ends waits with the Actor: empty when it is stopped, refused when it is removed or its token renewed", async () => {
    const ended: string[] = [];
    home.messaging.openSession(home.actor(group, "dev", "s1"), () => ended.push("s1"));
    let read = waiting();
    await isWaiting();
    await home.call("actor_stop", { group_id: group, actor_id: "dev" });
    assert.deepEqual(texts(await read.answer), []);
    assert.deepEqual(ended, ["s1"]);
    assert.equal(home.messaging.presence(group, "dev").state, "stopped");
    await home.call("actor_start", { group_id: group, actor_id: "dev" });
    for (const end of ["actor_restart", "actor_remove"] as const) {
      read = waiting();
      await isWaiting();
      const refused = assert.rejects(read.answer, refusal("invalid_launch_token"));
      await home.call(end, { group_id: group, actor_id: "dev" });
      await refused;
    }
  });

  it("leaves the Mail to the token that came after, also for a read that only waited for its turn", async () => {
    await mail("1");
    let goOn = (): void => {};
    void home.messaging
      .get(group)
      .inbox("dev")
      .inTurn(() => new Promise<void>((resolve) => (goOn = resolve)));
    const read = home.call("inbox_read", { group_id: group }, { as: home.actor(group, "dev", null) });
    read.catch(() => {});
    await home.call("actor_restart", { group_id: group, actor_id: "dev" });
    goOn();
    await assert.rejects(read, refusal("invalid_launch_token"));
    assert.deepEqual((await home.read(group, "dev")).texts, ["1"]);
  });

  it("leaves nothing to a new Actor under the same id", async () => {
    await mail("mail");
    const { event } = await direct("work");
    await home.read(group, "dev", { limit: 1 });
    await home.call("actor_remove", { group_id: group, actor_id: "dev" });
    await home.call("actor_add", { group_id: group, actor_id: "dev" });
    const reading = await home.read(group, "dev", {}, "new");
    assert.deepEqual([reading.texts, reading.cursor, reading.unread], [[], null, 0]);
    assert.equal((await deliveryOf(event.id))?.state, "failed");
    await assert.rejects(
      home.call("message_deliver", { group_id: group, source_event_id: event.id, actor_ids: ["dev"] }),
      refusal("invalid_recipient"),
    );
  });

  it("keeps the minimum interval between batches of direct messages", async () => {
    await home.call("group_update", { group_id: group, settings: { min_interval_seconds: 10 } });
    await direct("1");
    await home.read(group, "dev");
    await direct("2");
    await mail("mail");
    assert.deepEqual((await home.read(group, "dev")).texts, ["mail"]);
    const { answer } = waiting();
    await isWaiting();
    home.clock.advance(10_000);
    assert.deepEqual(texts(await answer), ["2"]);
  });

  it("lets the user read the Mail of an Actor, not its direct messages, and no Actor another's", async () => {
    await mail("mail");
    await direct("work");
    const reading = await home.call("inbox_read", { group_id: group, actor_id: "dev" });
    assert.deepEqual(texts(reading), ["mail"]);
    assert.equal(pending(), 1);
    await assert.rejects(home.call("inbox_read", { group_id: group }), refusal("invalid_args"));
    const as = home.actor(group, "lead");
    await assert.rejects(
      home.call("inbox_read", { group_id: group, actor_id: "dev" }, { as }),
      refusal("permission_denied"),
    );
  });

  it("bounds the waits and sessions of one Actor", async () => {
    const reads = Array.from({ length: LIMITS.inbox.waitersPerActor }, () => waiting());
    await until(() => home.clock.timers >= LIMITS.inbox.waitersPerActor);
    await assert.rejects(waiting().answer, refusal("limit_reached"));
    for (const { abort } of reads) abort.abort();
    for (let at = 1; at < LIMITS.actorSession.perActor; at += 1)
      await home.read(group, "dev", {}, `more${at}`);
    await assert.rejects(home.read(group, "dev", {}, "one too many"), refusal("limit_reached"));
  });

  it("delivers again on purpose, an unconfirmed attempt only with force", async () => {
    const { event } = await direct("work");
    const deliver = (forceAmbiguous = false, as?: ReturnType<typeof home.actor>) =>
      home.call(
        "message_deliver",
        { group_id: group, source_event_id: event.id, actor_ids: ["dev"], force_ambiguous: forceAmbiguous },
        as === undefined ? {} : { as },
      );
    const { ledger } = home.registry.get(group);
    const count = ledger.count;
    assert.deepEqual(await deliver(), { queued: ["dev"] });
    assert.equal(ledger.count, count, "it waits already");
    const { batch_id: batchId } = await home.read(group, "dev");
    await assert.rejects(deliver(), refusal("delivery_ambiguous"));
    await assert.rejects(deliver(true, home.actor(group, "dev")), refusal("permission_denied"));
    await deliver(true);
    assert.equal((await deliveryOf(event.id))?.state, "pending");
    home = await home.restarted();
    const again = await home.read(group, "dev", {}, "s2");
    assert.deepEqual([again.texts, again.messages[0]?.redelivered], [["work"], true]);
    await home.read(group, "dev", { ack: batchId ?? "" }, "s2");
    await home.read(group, "dev", { ack: again.batch_id ?? "" }, "s2");
    assert.equal((await deliveryOf(event.id))?.state, "accepted");
    await assert.rejects(deliver(true), refusal("not_pending"));
    const letter = await mail("mail");
    await assert.rejects(
      home.call("message_deliver", { group_id: group, source_event_id: letter.event.id, actor_ids: ["dev"] }),
      refusal("not_pending"),
    );
  });
});
