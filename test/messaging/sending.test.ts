import assert from "node:assert/strict";
import { LIMITS } from "../../shared/limits.ts";
import { verifies } from "../requirements.ts";
import { messageOf } from "../support/events.ts";
import { BROWSER, refusal, TestHome, textsOf } from "./setting.ts";

describe("Sending", () => {
  let home: TestHome;
  let group: string;
  beforeEach(async () => {
    home = await TestHome.open();
    group = await home.group("lead", "dev", "doc");
  });
  afterEach(() => home.remove());

  it("freezes aliases as Actor ids with their generations", async () => {
    const { event, message_mode: messageMode } = await home.send(group, "hello", { to: ["@all"] });
    assert.equal(messageMode, "send");
    assert.equal(event.by, "user");
    const { actors } = home.registry.get(group).record;
    assert.deepEqual(event.data.to, ["lead", "dev", "doc"]);
    assert.deepEqual(
      event.data.to_generations,
      Object.fromEntries(actors.map(({ id, generation }) => [id, generation])),
    );
  });

  it("sends by default as people do and as agents do", async () => {
    assert.equal((await home.send(group, "a")).message_mode, "send");
    const lead = home.actor(group, "lead");
    assert.equal((await home.send(group, "b", { to: ["dev"] }, lead)).message_mode, "mail");
    assert.equal((await home.send(group, "c", { to: ["user"] }, lead)).message_mode, "send");
  });

  it("writes nothing when anything is wrong", async () => {
    const lead = home.actor(group, "lead");
    const before = home.registry.get(group).ledger.count;
    const wrong: [Parameters<typeof home.send>[2], string, typeof lead?][] = [
      [{ to: ["user", "dev"] }, "mixed_recipient_kinds"],
      [{ to: ["user"], message_mode: "mail" }, "mail_requires_actor_recipient"],
      [{ to: ["nobody"] }, "invalid_recipient"],
      [{ to: ["lead"], insight: "  " }, "invalid_insight"],
      [{ to: ["lead"], refs: [{ kind: "x", value: "y".repeat(LIMITS.message.refBytes) }] }, "invalid_args"],
      [{ attachments: [{ sha256: "0".repeat(64), name: "a" }] }, "invalid_attachments"],
      [{ paths: ["/nowhere/at/all"] }, "invalid_path"],
      [{ paths: ["relative"] }, "invalid_path"],
      [{ reply_to: "0".repeat(32) }, "event_not_found"],
      [{ text: "" }, "invalid_args"],
      [{ text: " \n\t" }, "invalid_args"],
      [{ to: ["@foreman"] }, "concrete_recipients_required", lead],
    ];
    for (const [input, code, as] of wrong) {
      await assert.rejects(home.send(group, "text", input, as), refusal(code), code);
    }
    await home.call("actor_stop", { group_id: group, actor_id: "dev" });
    const stopped = home.registry.get(group).ledger.count;
    await assert.rejects(home.send(group, "text", { to: ["dev"] }), refusal("no_enabled_recipients"));
    await assert.rejects(
      home.call("send", { group_id: group, text: "x", paths: ["/etc/hosts"] }, { as: BROWSER }),
      refusal("invalid_path"),
    );
    assert.equal(stopped, before + 1);
    assert.equal(home.registry.get(group).ledger.count, stopped);
  });

  it("keeps the limits of a message", async () => {
    verifies("LIM-028", "LIM-029", "LIM-030");
    const size = LIMITS.message.textBytes;
    assert.equal(size, 65_536);
    await home.send(group, "x".repeat(size));
    await home.send(group, "é".repeat(size / 2));
    await assert.rejects(home.send(group, "x".repeat(size + 1)), refusal("invalid_args", { field: "text" }));
    await assert.rejects(home.send(group, `${"é".repeat(size / 2)}x`), refusal("invalid_args"));
    await home.send(group, "a", { client_id: "k".repeat(128) });
    await assert.rejects(home.send(group, "a", { client_id: "k".repeat(129) }), refusal("invalid_args"));
    await assert.rejects(home.send(group, "a", { client_id: "" }), refusal("invalid_args"));
    await assert.rejects(
      home.send(group, "a", { to: Array.from({ length: 129 }, () => "dev") }),
      refusal("invalid_args"),
    );
    const { event } = await home.send(group, "a", { to: Array.from({ length: 128 }, () => "dev") });
    assert.deepEqual(event.data.to, ["dev"]);
  });

  it("wakes an idle Group for a person's message, never for Mail or an agent's", async () => {
    const state = () => home.registry.get(group).record.state;
    await home.call("group_set_state", { group_id: group, state: "idle" });
    await home.send(group, "mail", { message_mode: "mail" });
    await home.send(group, "from an agent", { to: ["dev"], message_mode: "send" }, home.actor(group, "lead"));
    assert.equal(state(), "idle");
    await home.send(group, "wake up", { message_mode: "request_reply" });
    assert.equal(state(), "active");
    await home.call("group_set_state", { group_id: group, state: "paused" });
    await home.send(group, "still appended");
    assert.equal(state(), "paused");
  });

  it("refuses the credential of an Actor that was removed, also when its id is back", async () => {
    const dev = home.actor(group, "dev");
    await home.call("actor_remove", { group_id: group, actor_id: "dev" });
    await assert.rejects(home.send(group, "x", { to: ["lead"] }, dev), refusal("invalid_launch_token"));
    await home.call("actor_add", { group_id: group, actor_id: "dev" });
    await assert.rejects(home.send(group, "x", { to: ["lead"] }, dev), refusal("invalid_launch_token"));
  });

  describe("with a client_id", () => {
    it("answers the first event, over restarts and sealed segments", async () => {
      const first = await home.send(group, "once", { client_id: "k1" });
      assert.equal(first.duplicate, false);
      const again = await home.send(group, "once", { client_id: "k1" });
      assert.deepEqual(again, { ...first, duplicate: true });
      await home.call("ledger_compact", { group_id: group });
      home = await home.restarted();
      assert.deepEqual(await home.send(group, "once", { client_id: "k1" }), { ...first, duplicate: true });
      await assert.rejects(home.send(group, "other", { client_id: "k1" }), refusal("idempotency_conflict"));
      await assert.rejects(
        home.send(group, "once", { client_id: "k1", to: ["dev"] }),
        refusal("idempotency_conflict"),
      );
    });

    it("appends once for calls at the same time, and refuses another content among them", async () => {
      const calls = Array.from({ length: 8 }, () => home.send(group, "once", { client_id: "k2" }));
      const other = home.send(group, "other", { client_id: "k2" });
      await assert.rejects(other, refusal("idempotency_conflict"));
      const sent = await Promise.all(calls);
      assert.equal(new Set(sent.map(({ event }) => event.id)).size, 1);
      assert.equal(sent.filter(({ duplicate }) => !duplicate).length, 1);
    });

    it("keeps keys of senders and generations apart", async () => {
      const ids = new Set<string>();
      const say = async (as: Parameters<typeof home.send>[3]) =>
        ids.add((await home.send(group, "x", { client_id: "same", to: ["doc"] }, as)).event.id);
      await say(undefined);
      await say(home.actor(group, "lead"));
      await say(home.actor(group, "dev"));
      await home.call("actor_remove", { group_id: group, actor_id: "dev" });
      await home.call("actor_add", { group_id: group, actor_id: "dev" });
      await say(home.actor(group, "dev"));
      assert.equal(ids.size, 4);
    });

    it("answers the first event although the Actors changed meanwhile", async () => {
      const first = await home.send(group, "to the foreman", { client_id: "k3", to: ["@foreman"] });
      assert.deepEqual(first.event.data.to, ["lead"]);
      await home.call("actor_remove", { group_id: group, actor_id: "lead" });
      const again = await home.send(group, "to the foreman", { client_id: "k3", to: ["@foreman"] });
      assert.deepEqual([again.event.id, again.duplicate], [first.event.id, true]);
      const reply = { group_id: group, event_id: first.event.id, text: "reply", client_id: "k4" };
      const dev = home.actor(group, "dev");
      await assert.rejects(home.call("reply", reply, { as: dev }), refusal("event_not_found"));
    });
  });

  describe("a reply", () => {
    const reply = (eventId: string, text: string, as?: Parameters<typeof home.send>[3], more = {}) =>
      home.call(
        "reply",
        { group_id: group, event_id: eventId, text, ...more },
        as === undefined ? {} : { as },
      );

    it("goes back to the sender and fulfils the replier's obligation", async () => {
      const asked = await home.send(group, "?", { message_mode: "request_reply", to: ["lead", "dev"] });
      const { event } = await reply(asked.event.id, "!", home.actor(group, "lead"));
      assert.deepEqual(event.data.to, ["user"]);
      assert.equal(event.data.message_mode, "send");
      const { obligation_status: obligationStatus } = await home.status(group, asked.event.id);
      assert.deepEqual(obligationStatus.lead, { state: "replied", event_id: event.id, ts: event.ts });
      assert.deepEqual(obligationStatus.dev, { state: "open" });
      const second = await reply(asked.event.id, "and", home.actor(group, "lead"));
      assert.equal((await home.status(group, asked.event.id)).obligation_status.lead?.event_id, event.id);
      assert.notEqual(second.event.id, event.id);
    });

    it("is send or mail, never request_reply", async () => {
      const { event } = await home.send(group, "x");
      const refused = home.send(group, "y", { reply_to: event.id, message_mode: "request_reply" });
      await assert.rejects(refused, refusal("invalid_message_mode"));
      await assert.rejects(
        reply(event.id, "y", undefined, { message_mode: "request_reply" }),
        refusal("invalid_message_mode"),
      );
    });

    it("to one's own message goes to those that got it", async () => {
      const { event } = await home.send(group, "x", { to: ["dev", "doc"] });
      const followUp = await reply(event.id, "more");
      assert.deepEqual(followUp.event.data.to, ["dev", "doc"]);
    });

    it("can't be made by an Actor that neither sent nor got the message", async () => {
      const { event } = await home.send(group, "secret", { to: ["dev"] });
      await assert.rejects(reply(event.id, "?", home.actor(group, "doc")), refusal("event_not_found"));
      await reply(event.id, "ok", home.actor(group, "dev"));
    });

    it("doesn't reach a new Actor under the sender's old id", async () => {
      const { event } = await home.send(
        group,
        "x",
        { to: ["dev"], message_mode: "send" },
        home.actor(group, "doc"),
      );
      await home.call("actor_remove", { group_id: group, actor_id: "doc" });
      await home.call("actor_add", { group_id: group, actor_id: "doc" });
      await assert.rejects(reply(event.id, "y", home.actor(group, "dev")), refusal("invalid_recipient"));
      const elsewhere = await reply(event.id, "y", home.actor(group, "dev"), { to: ["lead"] });
      assert.deepEqual(elsewhere.event.data.to, ["lead"]);
    });
  });

  describe("to another Group of this Home", () => {
    it("arrives there with its provenance and is recorded here; the reply comes back", async () => {
      verifies("RET-008");
      const other = await home.group("boss");
      const dev = home.actor(group, "dev");
      const asked = await home.call(
        "send_cross_group",
        {
          group_id: group,
          dst_group_id: other,
          text: "help?",
          message_mode: "request_reply",
          client_id: "c",
        },
        { as: dev },
      );
      assert.equal(asked.event.group_id, other);
      assert.equal(asked.event.by, `${group}::dev`);
      assert.deepEqual(asked.event.data.to, ["boss"]);
      assert.equal(asked.event.data.src_group_id, group);
      assert.equal(asked.event.data.src_event_id, asked.source_event.id);
      assert.deepEqual(asked.source_event.data.dst_to, ["boss"]);
      const open = await home.status(group, asked.source_event.id);
      assert.equal(open.obligation_status[`${other}::boss`]?.state, "open");
      assert.equal(open.delivery_status[other]?.state, "accepted");
      const answered = await home.call(
        "reply",
        { group_id: other, event_id: asked.event.id, text: "sure" },
        { as: home.actor(other, "boss") },
      );
      assert.equal(answered.event.group_id, other);
      const inbox = await home.read(group, "dev");
      assert.deepEqual(inbox.texts, ["sure"]);
      assert.equal(messageOf(inbox.messages[0]?.event).reply_to, asked.source_event.id);
      assert.equal(inbox.messages[0]?.event.by, `${other}::boss`);
      const here = (await home.status(group, asked.source_event.id)).obligation_status;
      assert.equal(here[`${other}::boss`]?.state, "replied");
      assert.equal((await home.status(other, asked.event.id)).obligation_status.boss?.state, "replied");
      const again = await home.call(
        "send_cross_group",
        {
          group_id: group,
          dst_group_id: other,
          text: "help?",
          message_mode: "request_reply",
          client_id: "c",
        },
        { as: dev },
      );
      assert.deepEqual([again.event.id, again.duplicate], [asked.event.id, true]);
    });

    it("is cancelled on both sides", async () => {
      const other = await home.group("boss");
      const asked = await home.call("send_cross_group", {
        group_id: group,
        dst_group_id: other,
        text: "?",
        message_mode: "request_reply",
      });
      await home.call("reply_request_cancel", { group_id: group, event_id: asked.source_event.id });
      assert.equal((await home.status(other, asked.event.id)).obligation_status.boss?.state, "cancelled");
    });

    it("is cancelled on both sides also from there, by who may enter both", async () => {
      const other = await home.group("boss");
      const asked = await home.call(
        "send_cross_group",
        { group_id: group, dst_group_id: other, text: "?", message_mode: "request_reply" },
        { as: home.actor(group, "dev") },
      );
      const cancel = { group_id: other, event_id: asked.event.id };
      const member = { kind: "member", by: "user", token_id: "t", groups: new Set([other]) } as const;
      await assert.rejects(
        home.call("reply_request_cancel", cancel, { as: member }),
        refusal("permission_denied"),
      );
      await home.call("reply_request_cancel", cancel);
      for (const [groupId, id] of [
        [group, asked.source_event.id],
        [other, asked.event.id],
      ] as const) {
        const { obligation_status: obligationStatus } = await home.status(groupId, id);
        assert.deepEqual(
          Object.values(obligationStatus).map(({ state }) => state),
          ["cancelled"],
        );
      }
    });

    it("refuses itself as the destination, and a member's reply into a Group it may not see", async () => {
      const other = await home.group("boss");
      await assert.rejects(
        home.call("send_cross_group", { group_id: group, dst_group_id: group, text: "x" }),
        refusal("invalid_args"),
      );
      const { event } = await home.call(
        "send_cross_group",
        { group_id: group, dst_group_id: other, text: "x", to: ["user"] },
        { as: home.actor(group, "dev") },
      );
      const member = { kind: "member", by: "user", token_id: "t", groups: new Set([other]) } as const;
      await assert.rejects(
        home.call("reply", { group_id: other, event_id: event.id, text: "x" }, { as: member }),
        refusal("permission_denied"),
      );
    });
  });

  describe("a cancelled request", () => {
    const cancel = (eventId: string, as?: Parameters<typeof home.send>[3]) =>
      home.call(
        "reply_request_cancel",
        { group_id: group, event_id: eventId },
        as === undefined ? {} : { as },
      );

    it("says what was recorded and nothing of work that goes on", async () => {
      verifies("EVT-011");
      const { event } = await home.send(group, "?", { to: ["dev", "doc"], message_mode: "request_reply" });
      const { batch_id: batchId } = await home.read(group, "dev");
      await home.read(group, "dev", { ack: batchId ?? "" });
      const reply = { group_id: group, event_id: event.id, text: "!" };
      await home.call("reply", reply, { as: home.actor(group, "doc") });
      const cancelled = await cancel(event.id);
      assert.deepEqual(cancelled.cancelled, ["dev"]);
      assert.deepEqual(cancelled.event.data, {
        source_event_id: event.id,
        cancelled_by: "user",
        recipients: ["dev"],
      });
      const status = await home.status(group, event.id);
      assert.equal(status.delivery_status.dev?.state, "accepted");
      assert.equal(status.obligation_status.dev?.state, "cancelled");
      assert.equal(status.obligation_status.doc?.state, "replied");
      await home.call("reply", reply, { as: home.actor(group, "dev") });
      assert.equal((await home.status(group, event.id)).obligation_status.dev?.state, "cancelled");
    });

    it("is recorded once for calls at the same time, by the sender or the user only", async () => {
      const lead = home.actor(group, "lead");
      const asking = { to: ["dev"], message_mode: "request_reply" } as const;
      const { event } = await home.send(group, "?", { ...asking, to: ["dev"] }, lead);
      await assert.rejects(cancel(event.id, home.actor(group, "dev")), refusal("permission_denied"));
      await assert.rejects(cancel(event.id, home.actor(group, "doc")), refusal("event_not_found"));
      const all = await Promise.all([cancel(event.id), cancel(event.id, lead), cancel(event.id)]);
      assert.equal(new Set(all.map((one) => one.event.id)).size, 1);
      assert.equal(all.filter(({ duplicate }) => !duplicate).length, 1);
      const { event: plain } = await home.send(group, "x");
      await assert.rejects(cancel(plain.id), refusal("not_pending"));
    });
  });

  it("shows an Actor only what it sent or was sent in its own generation", async () => {
    await home.send(group, "to dev", { to: ["dev"] });
    await home.send(group, "to lead", { to: ["lead"] });
    await home.send(group, "from dev", { to: ["lead"] }, home.actor(group, "dev"));
    const history = async (more = {}) => {
      const { events } = await home.call(
        "message_history",
        { group_id: group, ...more },
        { as: home.actor(group, "dev") },
      );
      return textsOf(events);
    };
    assert.deepEqual(await history(), ["to dev", "from dev"]);
    assert.deepEqual(await history({ mode: "sent" }), ["from dev"]);
    assert.deepEqual(await history({ query: "TO DEV" }), ["to dev"]);
    assert.deepEqual(await history({ limit: 1 }), ["from dev"]);
    await assert.rejects(history({ actor_id: "lead" }), refusal("permission_denied"));
    await home.call("actor_remove", { group_id: group, actor_id: "dev" });
    await home.call("actor_add", { group_id: group, actor_id: "dev" });
    assert.deepEqual(await history(), []);
  });

  it("looks for an Actor's messages in bounded steps, and each answer says where to go on", async () => {
    await home.remove();
    home = await TestHome.open({ limits: { historyScanBytes: 1024 } });
    group = await home.group("lead", "dev");
    await home.send(group, "first of dev", { to: ["dev"] });
    await Promise.all(
      Array.from({ length: 1000 }, (_, at) => home.send(group, `of lead ${at}`, { to: ["lead"] })),
    );
    await home.send(group, "last of dev", { to: ["dev"] });
    const as = home.actor(group, "dev");
    for (const query of ["", "of"]) {
      const found: unknown[][] = [];
      let beforeEventId: string | undefined;
      do {
        const from = beforeEventId === undefined ? {} : { before_event_id: beforeEventId };
        const page = await home.call("message_history", { group_id: group, query, ...from }, { as });
        assert.equal(page.has_more, page.continue_before !== null);
        found.push(textsOf(page.events));
        beforeEventId = page.continue_before ?? undefined;
      } while (beforeEventId !== undefined);
      assert.deepEqual(found.flat(), ["last of dev", "first of dev"]);
      assert.equal(found.length, 6, "200 messages a step");
    }
    const unknown = { group_id: group, before_event_id: "0".repeat(32) };
    await assert.rejects(home.call("message_history", unknown, { as }), refusal("event_not_found"));
  });
});
