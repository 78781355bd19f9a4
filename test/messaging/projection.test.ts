import assert from "node:assert/strict";
import * as fc from "fast-check";
import type { EventHead } from "../../daemon/ledger/types.ts";
import { HANDED_BACK } from "../../daemon/messaging/kinds.ts";
import { Backlog } from "../../daemon/messaging/projection/backlog.ts";
import { MessageProjection } from "../../daemon/messaging/projection/projection.ts";
import { EVENT_DATA } from "../../shared/events.ts";
import { LIMITS } from "../../shared/limits.ts";

const idOf = (at: number): string => at.toString(16).padStart(8, "0").repeat(4);
const id = fc.nat(30).map(idOf);
const actor = fc.constantFrom("a", "b", "user", "g_000000000000::a");
const generation = fc.constantFrom("g1", "g2", "");
const generations = fc.record({ a: generation, b: generation }, { requiredKeys: [] });
const to = fc.subarray(["a", "b", "user"]);

/** Events as the daemon writes them, mixed with any others that a reader may meet. */
const event = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("chat.message"),
      data: fc.record(
        {
          message_mode: fc.constantFrom("send", "request_reply", "mail"),
          to,
          to_generations: generations,
          reply_to: id,
          sender_generation: generation,
        },
        { requiredKeys: ["message_mode", "to", "to_generations"] },
      ),
    }),
  },
  fc.record({
    kind: fc.constant("chat.message"),
    data: fc.record({
      message_mode: fc.constant("request_reply"),
      dst_group_id: fc.constant("g_000000000000"),
      dst_to: to,
      dst_to_generations: generations,
    }),
  }),
  fc.record({
    kind: fc.constant("mail.read"),
    data: fc.record({ actor_id: actor, actor_generation: generation, event_id: id }),
  }),
  fc.record({
    kind: fc.constant("mail.unread"),
    data: fc.record({ actor_id: fc.constant("user"), event_id: id }),
  }),
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("runtime.delivery"),
      data: fc.record({
        actor_id: actor,
        actor_generation: generation,
        source_event_id: id,
        state: fc.constantFrom("claimed", "accepted", "failed", "ambiguous"),
        reason: fc.constantFrom("", HANDED_BACK),
        batch_id: fc.constantFrom("b1", "b2"),
      }),
    }),
  },
  fc.record({
    kind: fc.constant("runtime.delivery_request"),
    data: fc.record({ source_event_id: id, source_ordinal: fc.nat(30), actor_generations: generations }),
  }),
  fc.record({
    kind: fc.constant("chat.reply_request.cancelled"),
    data: fc.record({ source_event_id: id, recipients: to }),
  }),
  fc.record({
    kind: fc.constant("system.notify"),
    data: fc.record({
      kind: fc.constantFrom("mail_notice", "reply_notice", "other"),
      target_actor_id: fc.constantFrom("a", "b", null),
      related_event_id: id,
      context: fc.record({ actor_generation: generation }, { requiredKeys: [] }),
    }),
  }),
  fc.record({ kind: fc.constant("chat.cross_group_receipt"), data: fc.record({ source_event_id: id }) }),
  fc.record({ kind: fc.constant("actor.remove"), data: fc.record({ actor_id: actor }) }),
  fc.record({
    kind: fc.constantFrom(...Object.keys(EVENT_DATA), "unknown.kind"),
    data: fc.dictionary(
      fc.constantFrom("to", "reply_to", "actor_id", "event_id", "context", "recipients", "actor_generations"),
      fc.jsonValue(),
    ),
  }),
);

function head(kind: string, by: string, data: Record<string, unknown>, ordinal: number): EventHead {
  return {
    id: idOf(ordinal),
    ts: new Date(1_700_000_000_000 + ordinal).toISOString(),
    kind,
    scope_key: "",
    by,
    data,
    string(name) {
      const value = data[name];
      return typeof value === "string" ? value : undefined;
    },
  };
}

describe("MessageProjection", () => {
  it("is the same however often it was saved and restored, whatever events it meets", () => {
    const history = fc.array(fc.tuple(event, actor, fc.boolean()), { maxLength: 60 });
    fc.assert(
      fc.property(history, (events) => {
        const straight = new MessageProjection();
        let interrupted = new MessageProjection();
        for (const [ordinal, [{ kind, data }, by, saves]] of events.entries()) {
          straight.apply(head(kind, by, data, ordinal), ordinal);
          interrupted.apply(head(kind, by, data, ordinal), ordinal);
          if (!saves) continue;
          const next = straight.fresh();
          next.restore(interrupted.checkpoint());
          interrupted = next;
        }
        assert.equal(
          Buffer.from(interrupted.checkpoint()).toString(),
          Buffer.from(straight.checkpoint()).toString(),
        );
        assert.deepEqual(interrupted.obligations.ofPerson, straight.obligations.ofPerson);
        straight.reset();
        assert.deepEqual(straight.checkpoint(), new MessageProjection().checkpoint());
      }),
      { numRuns: 500 },
    );
  });

  it("refuses bytes that aren't a checkpoint, also when they look like one", () => {
    const whole = JSON.parse(Buffer.from(new MessageProjection().checkpoint()).toString()) as object;
    const saved = (change: object): string => JSON.stringify({ ...whole, ...change });
    new MessageProjection().restore(Buffer.from(saved({})));
    for (const bytes of [
      "",
      "{}",
      "[]",
      '{"queues":[],"ended":[],"obligations":[],"halfDone":[],"toPerson":"AA=="}',
      // A build before `lastOrdinal`, and one that knows something further.
      saved({ lastOrdinal: undefined }),
      saved({ later: 1 }),
      saved({ personCursor: null }),
      saved({ ended: [["a/g"]] }),
      saved({ queues: [["a", "g", null, -1, -1, "", "", [], []]] }),
      saved({ obligations: [[idOf(1), 1, "", [["a", "g"]]]] }),
      saved({ toPerson: "A" }),
      saved({ personRead: 1 }),
    ]) {
      assert.throws(() => new MessageProjection().restore(Buffer.from(bytes)), Error);
    }
  });

  it("grows with what is open, not with history", () => {
    const projection = new MessageProjection();
    const size = () => projection.checkpoint().length;
    let ordinal = 0;
    const say = (kind: string, by: string, data: Record<string, unknown>) => {
      projection.apply(head(kind, by, data, ordinal), ordinal);
      ordinal += 1;
      return idOf(ordinal - 1);
    };
    let early = 0;
    for (let round = 0; round < 2000; round += 1) {
      const message = { to: ["a"], to_generations: { a: "g" } };
      const mail = say("chat.message", "user", { ...message, message_mode: "mail" });
      const asked = say("chat.message", "user", { ...message, message_mode: "request_reply" });
      const delivery = { actor_id: "a", actor_generation: "g", source_event_id: asked, batch_id: "b" };
      say("runtime.delivery", "a", { ...delivery, state: "claimed" });
      say("mail.read", "a", { actor_id: "a", actor_generation: "g", event_id: mail });
      say("runtime.delivery", "a", { ...delivery, state: "accepted" });
      const answer = say("chat.message", "a", {
        message_mode: "send",
        to: ["user"],
        to_generations: {},
        reply_to: asked,
        sender_generation: "g",
      });
      say("mail.read", "user", { actor_id: "user", event_id: answer });
      if (round === LIMITS.reading.kept) early = size();
    }
    assert.ok(size() < early + 64, `${early} bytes, then ${size()}`);
  });
});

describe("Backlog", () => {
  it("does what an array does", () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ push: fc.integer({ min: 1, max: 40 }) }) },
      fc.record({ drop: fc.nat() }),
      fc.record({ remove: fc.nat() }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let backlog = new Backlog();
        const model: number[] = [];
        let next = 0;
        for (const one of steps) {
          if ("push" in one) {
            for (let at = 0; at < one.push; at += 1) {
              next += 3;
              backlog.push(next, idOf(next));
              model.push(next);
            }
          } else if ("drop" in one) {
            const count = one.drop % (model.length + 1);
            backlog.drop(count);
            model.splice(0, count);
          } else if (model.length > 0) {
            const place = one.remove % model.length;
            backlog.remove(place);
            model.splice(place, 1);
          }
          backlog = Backlog.decode(backlog.encode());
          assert.deepEqual(
            Array.from({ length: backlog.count }, (_, at) => backlog.at(at)),
            model,
          );
          const middle = model[model.length >> 1];
          if (middle === undefined) continue;
          assert.equal(backlog.find(idOf(middle)), model.length >> 1);
          assert.equal(backlog.countThrough(middle + 1), (model.length >> 1) + 1);
          assert.equal(backlog.has(middle), true);
          assert.equal(backlog.has(middle + 1), false);
        }
      }),
    );
  });
});
