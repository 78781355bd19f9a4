/** The messaging state machine against a model that a person can check at a glance. */
import assert from "node:assert/strict";
import * as fc from "fast-check";
import { textOf } from "../support/events.ts";
import { MessagingModel, type Mode, type ModelReply } from "./model.ts";
import { refusal, TestHome, textsOf } from "./setting.ts";

const ACTORS = ["lead", "dev", "doc"] as const;
type Id = (typeof ACTORS)[number];

/** One step: does it in the daemon and in the model, and compares. */
type Step = (run: Run) => Promise<void>;

class Run {
  home: TestHome;
  readonly group: string;
  readonly model = new MessagingModel(ACTORS);

  constructor(home: TestHome, group: string) {
    this.home = home;
    this.group = group;
  }

  as(speaker: Id | "user", session: string | null = "s1") {
    return speaker === "user" ? {} : { as: this.home.actor(this.group, speaker, session) };
  }

  /** Everything that both sides know. */
  async compare(): Promise<void> {
    const { messages } = this.model;
    if (messages.length > 0) {
      const eventIds = messages.map(({ event_id: eventId }) => eventId);
      const { statuses } = await this.home.call("ledger_statuses", {
        group_id: this.group,
        event_ids: eventIds,
      });
      for (const message of messages) {
        const status = statuses[message.event_id]!;
        const seen = {
          mail: status.read_status,
          direct: Object.fromEntries(
            Object.entries(status.delivery_status).map(([id, { state }]) => [id, state]),
          ),
          owed: Object.fromEntries(
            Object.entries(status.obligation_status).map(([id, { state }]) => [id, state]),
          ),
        };
        assert.deepEqual(seen, this.model.statusOf(message), `message ${message.text}`);
      }
    }
    const { unread, attention } = this.home.messaging.counts(this.group);
    assert.deepEqual({ unread, attention }, this.model.counts());
    const { problems } = await this.home.call("ledger_verify", { group_id: this.group });
    assert.deepEqual(problems, []);
  }
}

/** Counterexamples show what a step does instead of its source. */
function named<Arguments>(name: string, make: (args: Arguments) => Step): (args: Arguments) => Step {
  return (args) =>
    Object.assign(make(args), { [fc.toStringMethod]: () => `${name}(${JSON.stringify(args)})` });
}

const speaker = fc.constantFrom<(Id | "user")[]>("user", ...ACTORS);
const actor = fc.constantFrom(...ACTORS);
const session = fc.constantFrom("s1", "s2");
const mode = fc.constantFrom<Mode[]>("send", "request_reply", "mail", "mail");

const send = fc
  .record({
    by: speaker,
    to: fc.subarray([...ACTORS], { minLength: 1 }),
    mode,
    toPerson: fc.boolean(),
    session,
  })
  .map(
    named(
      "send",
      ({ by, to, mode, toPerson, session }): Step =>
        async (run) => {
          const person = toPerson && by !== "user" && mode !== "mail";
          const recipients = person ? ["user" as const] : to;
          const text = `m${run.model.messages.length}`;
          if (by !== "user") run.model.called(by, session);
          const { event } = await run.home.call(
            "send",
            { group_id: run.group, text, to: recipients, message_mode: mode },
            run.as(by, session),
          );
          run.model.sent({ event_id: event.id, text, by, mode, to: recipients });
        },
    ),
  );

const reply = fc.record({ by: speaker, which: fc.nat(), session }).map(
  named(
    "reply",
    ({ by, which, session }): Step =>
      async (run) => {
        const { messages } = run.model;
        const message = messages[which % Math.max(1, messages.length)];
        if (message === undefined) return;
        if (by !== "user") run.model.called(by, session);
        const text = `m${messages.length}`;
        const expected: ModelReply = run.model.reply(message, by);
        const answer = run.home.call(
          "reply",
          { group_id: run.group, event_id: message.event_id, text },
          run.as(by, session),
        );
        if ("refused" in expected) return assert.rejects(answer, refusal(expected.refused));
        const { event } = await answer;
        assert.deepEqual(event.data.to, expected.to);
        run.model.sent({ event_id: event.id, text, by, mode: expected.mode, to: expected.to });
        run.model.replied(message, by);
      },
  ),
);

const cancel = fc.record({ by: speaker, which: fc.nat() }).map(
  named(
    "cancel",
    ({ by, which }): Step =>
      async (run) => {
        const message = run.model.messages[which % Math.max(1, run.model.messages.length)];
        if (message === undefined) return;
        if (by !== "user") run.model.called(by, "s1");
        const expected = run.model.cancel(message, by);
        const answer = run.home.call(
          "reply_request_cancel",
          { group_id: run.group, event_id: message.event_id },
          run.as(by),
        );
        if ("refused" in expected) return assert.rejects(answer, refusal(expected.refused));
        assert.deepEqual((await answer).cancelled, expected.cancelled);
      },
  ),
);

const reader = fc.constantFrom("s1", "s2", null);
const read = fc
  .record({ id: actor, session: reader, limit: fc.integer({ min: 1, max: 4 }), acks: fc.boolean() })
  .map(
    named(
      "read",
      ({ id, session, limit, acks }): Step =>
        async (run) => {
          const ack = acks ? run.model.someBatch(id) : undefined;
          if (session !== null) run.model.called(id, session);
          if (ack !== undefined) run.model.acknowledged(id, ack);
          const expected = run.model.take(id, limit);
          const reading = await run.home.call(
            "inbox_read",
            { group_id: run.group, limit, ...(ack === undefined ? {} : { ack }) },
            run.as(id, session),
          );
          assert.deepEqual(
            reading.messages.map(({ event, redelivered }) => [textOf(event), redelivered]),
            expected.map(({ message, redelivered }) => [message.text, redelivered]),
          );
          run.model.handedOut(id, session, reading.batch_id, expected);
        },
    ),
  );

const userReads = fc.record({ id: actor, limit: fc.integer({ min: 1, max: 4 }) }).map(
  named(
    "userReads",
    ({ id, limit }): Step =>
      async (run) => {
        const expected = run.model.userTakes(id, limit);
        const reading = await run.home.call("inbox_read", { group_id: run.group, actor_id: id, limit });
        assert.deepEqual(textsOf(reading.messages.map(({ event }) => event)), expected);
      },
  ),
);

const endSession = fc.record({ id: actor, session }).map(
  named(
    "endSession",
    ({ id, session }): Step =>
      async (run) => {
        // Without a call before: what the session holds isn't acknowledged.
        run.home.messaging.openSession(run.home.actor(run.group, id, session)).release();
        run.model.sessionEnded(id, session);
      },
  ),
);

const deliver = fc.record({ which: fc.nat(), force: fc.boolean() }).map(
  named(
    "deliver",
    ({ which, force }): Step =>
      async (run) => {
        const message = run.model.messages[which % Math.max(1, run.model.messages.length)];
        const recipient = message?.recipients.find(({ id }) => id !== "user")?.id;
        if (message === undefined || recipient === undefined) return;
        const expected = run.model.deliverAgain(message, recipient, force);
        const answer = run.home.call("message_deliver", {
          group_id: run.group,
          source_event_id: message.event_id,
          actor_ids: [recipient],
          force_ambiguous: force,
        });
        if (expected !== null) await assert.rejects(answer, refusal(expected));
        else await answer;
      },
  ),
);

const feedRead = fc.nat().map(
  named(
    "feedRead",
    (which): Step =>
      async (run) => {
        const { messages } = run.model;
        const message = messages[which % Math.max(1, messages.length)];
        if (message === undefined) return;
        await run.home.call("feed_read", { group_id: run.group, event_id: message.event_id });
        run.model.personRead(message);
      },
  ),
);

const feedUnread = fc.nat().map(
  named(
    "feedUnread",
    (which): Step =>
      async (run) => {
        const { messages } = run.model;
        const message = messages[which % Math.max(1, messages.length)];
        if (message === undefined) return;
        await run.home.call("feed_unread", { group_id: run.group, event_id: message.event_id });
        run.model.personUnread(message);
      },
  ),
);

const replace = actor.map(
  named(
    "replace",
    (id): Step =>
      async (run) => {
        // The foreman is whoever comes first, so the order changes with it; recipients here are
        // named by id.
        await run.home.call("actor_remove", { group_id: run.group, actor_id: id });
        await run.home.call("actor_add", { group_id: run.group, actor_id: id });
        run.model.replaced(id);
      },
  ),
);

const restart = fc.constant<Step>(async (run) => {
  run.home = await run.home.restarted();
  run.model.restarted();
});

const compact = fc.constant<Step>(async (run) => {
  await run.home.call("ledger_compact", { group_id: run.group });
});

const steps = fc.array(
  fc.oneof(
    { arbitrary: send, weight: 6 },
    { arbitrary: read, weight: 8 },
    { arbitrary: reply, weight: 3 },
    { arbitrary: cancel, weight: 2 },
    { arbitrary: endSession, weight: 3 },
    { arbitrary: deliver, weight: 2 },
    { arbitrary: userReads, weight: 1 },
    { arbitrary: feedRead, weight: 1 },
    { arbitrary: feedUnread, weight: 1 },
    { arbitrary: replace, weight: 1 },
    { arbitrary: restart, weight: 1 },
    { arbitrary: compact, weight: 1 },
  ),
  { minLength: 5, maxLength: 40, size: "max" },
);

describe("The messaging state machine", () => {
  it("does what the model does, and its projection equals a rebuild after every step", async function () {
    this.timeout(600_000);
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        const home = await TestHome.open();
        const run = new Run(home, await home.group(...ACTORS));
        try {
          for (const step of sequence) {
            await step(run);
            await run.home.settled();
            await run.compare();
          }
        } finally {
          await run.home.remove();
        }
      }),
      { numRuns: 60 },
    );
  });
});
