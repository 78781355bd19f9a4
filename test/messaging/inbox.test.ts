import assert from "node:assert/strict";
import type { Lifeline } from "../../daemon/messaging/sessions.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";
import { refusal, TestHome, textsOf, until } from "./setting.ts";

describe("The Inbox of an external Actor", () => {
  let home: TestHome;
  let group: string;
  beforeEach(async () => {
    home = await TestHome.open();
    group = await home.group("lead", "dev");
  });
  afterEach(() => home.remove());

  const mail = (text: string, to = "dev") => home.send(group, text, { to: [to], message_mode: "mail" });
  const direct = (text: string, to = "dev") => home.send(group, text, { to: [to] });
  const deliveryOf = async (event_id: string, actor_id = "dev") =>
    (await home.status(group, event_id)).delivery_status[actor_id];
  const pending = () => home.messaging.presence(group, "dev").pending;
  /** A read that waits; its answer, and the way to cancel it. */
  const waiting = (session = "s1", wait_seconds = 25) => {
    const abort = new AbortController();
    const said: string[] = [];
    const answer = home.call(
      "inbox_read",
      { group_id: group, wait_seconds },
      { as: home.actor(group, "dev", session), signal: abort.signal, progress: (text) => said.push(text) },
    );
    return { answer, abort, said };
  };
  const isWaiting = () => until(() => home.messaging.presence(group, "dev").reason === "waits for messages");
  const texts = ({ messages }: ResultOf<"inbox_read">) => textsOf(messages.map(({ event }) => event));

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

  describe("whose session's calls may overtake one another", () => {
    const unordered = () => ({ as: { ...home.actor(group, "dev", "s1"), unordered: true as const } });
    const later = () => home.call("bootstrap", { group_id: group }, unordered());
    const pass = async (part: number) => {
      home.clock.advance(LIMITS.mcp.settleSeconds * 1000 * part);
      await home.settled();
    };
    let event: string;
    let batch_id: string | null;
    let lifeline: Lifeline;
    beforeEach(async () => {
      event = (await direct("now")).event.id;
      lifeline = home.messaging.openSession(unordered().as);
      ({ batch_id } = await home.call("inbox_read", { group_id: group }, unordered()));
      await later();
      await pass(0.9);
      assert.equal((await deliveryOf(event))?.state, "claimed");
    });

    it("takes a later call for an acknowledgement when nothing was lost for a while, also if it leaves meanwhile", async () => {
      lifeline.release();
      assert.deepEqual((await home.read(group, "dev", {}, "s2")).texts, []);
      await pass(0.1);
      assert.equal((await deliveryOf(event))?.state, "accepted");
      assert.equal(home.messaging.presence(group, "dev").reason, "connected");
    });

    it("hands out again what was lost, although a later call came first", async () => {
      lifeline.release(true);
      await pass(1);
      assert.equal((await deliveryOf(event))?.state, "claimed");
      const { messages } = await home.read(group, "dev", {}, "s2");
      assert.deepEqual(
        messages.map((one) => [one.event.id, one.redelivered]),
        [[event, true]],
      );
    });

    it("acknowledges by name at once", async () => {
      await home.call("inbox_read", { group_id: group, ack: batch_id ?? "" }, unordered());
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
      const lifeline = home.messaging.openSession(home.actor(group, "dev", "s1"));
      assert.deepEqual((await home.read(group, "dev", { limit: 1 }, "s1")).texts, ["1"]);
      await mail("2");
      const other = await home.read(group, "dev", {}, "s2");
      assert.deepEqual([other.texts, other.unread], [["now"], 1]);
      const alone = await home.call("inbox_read", { group_id: group }, asDev(null));
      assert.deepEqual(texts(alone), []);
      const { timers } = home.clock;
      const { answer } = waiting("s2");
      await until(() => home.clock.timers > timers);
      lifeline.release();
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
      const lifeline = home.messaging.openSession(home.actor(group, "dev", "s1"));
      const first = await home.read(group, "dev", {}, "s1");
      lifeline.release();
      const late = await home.read(group, "dev", { ack: first.batch_id ?? "" }, "s2");
      assert.deepEqual([late.texts, late.cursor], [[], first.messages[0]!.event.id]);
    });

    it("has it unread again, marked, after a restart of the daemon", async () => {
      const { event } = await mail("1");
      const { batch_id } = await home.read(group, "dev");
      await mail("2");
      home = await home.restarted();
      const again = await home.read(group, "dev", { ack: batch_id ?? "" });
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
        if (events.some(({ data }) => data.state === "claimed")) abort.abort();
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
      const lifeline = home.messaging.openSession(home.actor(group, "dev", "s1"));
      await home.read(group, "dev", {}, "s1");
      const { count } = home.registry.get(group).ledger;
      home.clock.advance(1_800_000);
      await home.settled();
      assert.equal(home.registry.get(group).ledger.count, count);
      lifeline.release();
      home.clock.advance(1);
      await until(() => home.registry.get(group).ledger.count > count);
    });
  });

  it("mixes Mail and direct messages in ledger order", async () => {
    await mail("1");
    await direct("2");
    await mail("3");
    const reading = await home.read(group, "dev");
    assert.deepEqual(
      reading.messages.map(({ event, delivery }) => [event.data.text, delivery]),
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
    const lifeline = home.messaging.openSession(home.actor(group, "dev", "s1"));
    assert.equal((await home.read(group, "dev", {}, "s1")).messages[0]?.redelivered, false);
    assert.deepEqual((await home.read(group, "dev", {}, "s2")).texts, []);
    const { timers } = home.clock;
    const other = waiting("s2");
    await until(() => home.clock.timers > timers);
    lifeline.release();
    const again = await other.answer;
    assert.deepEqual(texts(again), ["work"]);
    assert.equal(again.messages[0]?.redelivered, true);
    await home.read(group, "dev", { ack: again.batch_id ?? "" }, "s2");
    assert.equal((await deliveryOf(event.id))?.state, "accepted");
  });

  it("ends a session without a lifeline some time after its last call", async () => {
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
    const { batch_id } = await home.read(group, "dev", { limit: 1 });
    await direct("second");
    const second = await home.read(group, "dev", { limit: 1 }, "s2");
    assert.deepEqual(second.texts, ["second"]);
    home = await home.restarted();
    const after = await home.read(group, "dev", { ack: batch_id ?? "" });
    assert.equal((await deliveryOf(first.event.id))?.state, "accepted");
    assert.deepEqual(after.texts, ["second"]);
    assert.equal(after.messages[0]?.redelivered, true);
  });

  it("acknowledges without a session only by name", async () => {
    const { event } = await direct("work");
    const as = home.actor(group, "dev", null);
    const { batch_id } = await home.call("inbox_read", { group_id: group }, { as });
    await home.call("inbox_read", { group_id: group }, { as });
    assert.equal((await deliveryOf(event.id))?.state, "claimed");
    await home.call("inbox_read", { group_id: group, ack: batch_id ?? "" }, { as });
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
      if (events.some(({ data }) => data.state === "claimed")) abort.abort();
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
    const deliver = (force_ambiguous = false, as?: ReturnType<typeof home.actor>) =>
      home.call(
        "message_deliver",
        { group_id: group, source_event_id: event.id, actor_ids: ["dev"], force_ambiguous },
        as === undefined ? {} : { as },
      );
    const { ledger } = home.registry.get(group);
    const count = ledger.count;
    assert.deepEqual(await deliver(), { queued: ["dev"] });
    assert.equal(ledger.count, count, "it waits already");
    const { batch_id } = await home.read(group, "dev");
    await assert.rejects(deliver(), refusal("delivery_ambiguous"));
    await assert.rejects(deliver(true, home.actor(group, "dev")), refusal("permission_denied"));
    await deliver(true);
    assert.equal((await deliveryOf(event.id))?.state, "pending");
    home = await home.restarted();
    const again = await home.read(group, "dev", {}, "s2");
    assert.deepEqual([again.texts, again.messages[0]?.redelivered], [["work"], true]);
    await home.read(group, "dev", { ack: batch_id ?? "" }, "s2");
    await home.read(group, "dev", { ack: again.batch_id ?? "" }, "s2");
    assert.equal((await deliveryOf(event.id))?.state, "accepted");
    await assert.rejects(deliver(true), refusal("not_pending"));
    const letter = await mail("mail");
    await assert.rejects(
      home.call("message_deliver", { group_id: group, source_event_id: letter.event.id, actor_ids: ["dev"] }),
      refusal("not_pending"),
    );
  });

  it("shows in words what the Actor does", async () => {
    const seen: string[] = [];
    home.messaging.onPresence((_group, actor) => {
      const { state, reason } = home.messaging.presence(group, actor);
      const words = `${actor} ${state}: ${reason}`;
      if (seen.at(-1) !== words) seen.push(words);
    });
    const lifeline = home.messaging.openSession(home.actor(group, "dev", "s1"));
    const { answer } = waiting();
    await isWaiting();
    await direct("work");
    await answer;
    lifeline.release();
    await home.call("actor_stop", { group_id: group, actor_id: "dev" });
    assert.deepEqual(
      seen.filter((words) => words.startsWith("dev")),
      [
        "dev idle: connected",
        "dev idle: waits for messages",
        "dev working: took 1 message",
        "dev unavailable: not connected; 1 message will be handed out again",
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
    const answer = (event_id: string) => home.call("reply", { group_id: group, event_id, text: "!" });

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
      assert.equal(words(), "working: took 1 message");
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
      assert.equal(words(), "stalled: took 1 message, then silence");
      await home.call("bootstrap", { group_id: group }, { as: dev() });
      await home.settled();
      assert.equal(words(), "working: took 1 message");
      silence();
      assert.equal(words(), "stalled: took 1 message, then silence", "it owes a reply");
      await home.call("reply", { group_id: group, event_id: request.event.id, text: "!" }, { as: dev() });
      assert.equal(words(), "working: took 1 message");
      silence();
      assert.equal(words(), "idle: connected", "nothing is open");
    });

    it("says of what it took and never acknowledged that it will be handed out again", async () => {
      const lifeline = home.messaging.openSession(dev());
      const { event } = await direct("work");
      const { batch_id } = await home.read(group, "dev");
      assert.deepEqual(await deliveryOf(event.id), { ...(await deliveryOf(event.id)), reason: "" });
      home.clock.advance(1);
      lifeline.release();
      const status = await deliveryOf(event.id);
      assert.deepEqual([status?.state, status?.reason], ["claimed", "session_ended"]);
      const { since } = home.messaging.presence(group, "dev");
      assert.equal(since, new Date(home.clock.now()).toISOString());
      await home.read(group, "dev", { ack: batch_id ?? "" }, "s2");
      assert.equal((await deliveryOf(event.id))?.state, "accepted");
    });
  });
});

describe("The person's reading", () => {
  let home: TestHome;
  let group: string;
  beforeEach(async () => {
    home = await TestHome.open();
    group = await home.group("lead");
  });
  afterEach(() => home.remove());

  it("goes only forward, is counted once, and attention ends with the reply", async () => {
    let told = 0;
    home.messaging.onCounts(() => (told += 1));
    const lead = home.actor(group, "lead");
    const say = (text: string, message_mode: "send" | "request_reply" = "send") =>
      home.send(group, text, { to: ["user"], message_mode }, lead);
    const first = await say("1");
    const asked = await say("?", "request_reply");
    const last = await say("3");
    const counts = () => {
      const { unread, attention } = home.messaging.counts(group);
      return [unread, attention];
    };
    assert.deepEqual(counts(), [3, 1]);
    assert.ok(told >= 3);
    const read = (event_id: string) => home.call("feed_read", { group_id: group, event_id });
    assert.deepEqual(await read(asked.event.id), { unread: 1, attention: 1 });
    assert.deepEqual(await read(first.event.id), { unread: 1, attention: 1 });
    assert.equal((await home.status(group, first.event.id)).delivery_status.user?.state, "read");
    assert.equal((await home.status(group, last.event.id)).delivery_status.user?.state, "pending");
    await home.call("reply", { group_id: group, event_id: asked.event.id, text: "yes" });
    home = await home.restarted();
    assert.deepEqual(counts(), [1, 0]);
    await read(last.event.id);
    assert.deepEqual(counts(), [0, 0]);
    assert.equal(home.messaging.counts(group).last_event?.id !== undefined, true);
    await assert.rejects(read("0".repeat(32)), refusal("event_not_found"));
  });
});
