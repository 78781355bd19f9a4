/** What the interface says of the delivery of a message, and of the plan of one. */
import assert from "node:assert/strict";
import { named } from "../../shared/arrival.ts";
import type { ChatMessage } from "../../shared/events.ts";
import { WAITS_IN_INBOX } from "../../shared/names.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { MessageStatus } from "../../shared/operations/messages.ts";
import { alike, deliveries, settled } from "../../webview/feed/delivery-words.ts";
import { plan } from "../../webview/state/send-plan.ts";
import { chatMessage } from "../support/events.ts";

const NOTHING: MessageStatus = {
  read_status: {},
  obligation_status: {},
  delivery_status: {},
  connect_delivery: null,
  connect_cancellation: null,
};
const upper = (id: string) => id.toUpperCase();

function said(status: Partial<MessageStatus>, message: Partial<ChatMessage>) {
  return deliveries({ ...NOTHING, ...status }, chatMessage(message), upper).map((entry) => [
    entry.who,
    ...entry.words.map((word) => word.word),
  ]);
}

describe("delivery in words", () => {
  const ts = "2026-01-01T00:00:00.000Z";
  const sent = chatMessage({ to: ["a"] });

  it("has a word for every state, with its reason where it failed", () => {
    const word = (state: MessageStatus["delivery_status"][string]["state"], reason = "") =>
      said({ delivery_status: { a: { state, reason, ts } } }, sent)[0]![1];
    assert.deepEqual(
      (["pending", "claimed", "queued", "accepted", "ambiguous", "read"] as const).map((state) =>
        word(state),
      ),
      ["pending", "claimed", "queued", "accepted", "not confirmed", "read"],
    );
    assert.equal(word("failed", "actor_removed"), "failed (actor removed)");
  });

  it("says what is still owed, and that it was answered or withdrawn", () => {
    const owed = (state: "open" | "replied" | "cancelled") =>
      said(
        {
          delivery_status: { a: { state: "accepted", reason: "", ts } },
          obligation_status: { a: { state } },
        },
        { to: ["a"], message_mode: "request_reply" },
      )[0];
    assert.deepEqual(owed("open"), ["A", "accepted", "awaiting reply"]);
    assert.deepEqual(owed("replied"), ["A", "replied"]);
    assert.deepEqual(owed("cancelled"), ["A", "accepted", "request cancelled"]);
  });

  it("is settled once everybody has it and nothing is owed, with the fact of each", () => {
    const of = (
      states: Record<string, "accepted" | "pending" | "read">,
      owed: "open" | "replied" | null = null,
    ) =>
      settled(
        deliveries(
          {
            ...NOTHING,
            delivery_status: Object.fromEntries(
              Object.entries(states).map(([id, state]) => [id, { state, reason: "", ts: null }]),
            ),
            obligation_status: owed === null ? {} : { a: { state: owed } },
          },
          chatMessage({ to: Object.keys(states) }),
          upper,
        ),
      )?.map(({ word, fact }) => [word, fact]) ?? null;
    assert.deepEqual(of({ a: "accepted" }), [["accepted", "A confirmed that it arrived."]]);
    assert.deepEqual(of({ a: "accepted", b: "accepted" }), [
      ["accepted", "A confirmed that it arrived.\nB confirmed that it arrived."],
    ]);
    assert.deepEqual(of({ a: "accepted" }, "replied"), [["replied", "A replied."]]);
    assert.equal(of({ a: "accepted", b: "pending" }), null);
    assert.equal(of({ a: "accepted", b: "read" }), null);
    assert.equal(of({ a: "accepted" }, "open"), null);
    assert.equal(of({}), null);
  });

  it("says that a message waits in the Inbox where nothing is typed into the program", () => {
    const reason = `${WAITS_IN_INBOX} (--prompts allows it)`;
    const [only] = deliveries(
      { ...NOTHING, delivery_status: { a: { state: "pending", reason, ts } } },
      sent,
      upper,
    );
    assert.deepEqual(
      only?.words.map(({ word }) => word),
      ["waits in the Inbox"],
    );
    assert.match(only?.words[0]?.fact ?? "", /^svc types nothing into A’s program.*until A reads it\.$/);
  });

  it("tells recipients apart where they differ", () => {
    const status = { ...NOTHING, read_status: { a: true, b: false } };
    const list = deliveries(status, chatMessage({ to: ["a", "b"], message_mode: "mail" }), upper);
    assert.deepEqual(
      list.map((entry) => entry.words[0]?.word),
      ["read", "in the Inbox"],
    );
    assert.equal(alike(list), false);
    assert.equal(alike([list[0]!, list[0]!]), true);
  });

  it("offers another delivery only where one failed or wasn't confirmed, and somebody is there to take it", () => {
    const left = {
      ...NOTHING,
      delivery_status: { a: { state: "claimed" as const, reason: "session_ended", ts } },
    };
    assert.deepEqual(
      deliveries(left, sent, upper)[0]?.words.map(({ word, fact }) => [word, fact]),
      [
        [
          "claimed, to be redelivered",
          "Handed to A, which left without confirming it. It will be delivered again.",
        ],
      ],
    );
    const again = (state: "accepted" | "claimed" | "queued" | "failed" | "ambiguous", reason = "") =>
      deliveries({ ...NOTHING, delivery_status: { a: { state, reason, ts } } }, sent, upper)[0]?.again;
    assert.deepEqual([again("accepted"), again("failed"), again("ambiguous")], ["no", "failed", "ambiguous"]);
    assert.equal(again("queued"), "no", "it comes again by itself when it has to");
    assert.equal(again("claimed"), "ambiguous");
    assert.equal(again("ambiguous", "actor_removed"), "no");
    const elsewhere = chatMessage({ dst_group_id: "g_1", dst_to: [] });
    const failed = { g_1: { state: "failed" as const, reason: "group_not_found", ts } };
    assert.equal(deliveries({ ...NOTHING, delivery_status: failed }, elsewhere, upper)[0]?.again, "no");
  });

  it("says how a message to another instance fares, once, with what each there still owes", () => {
    const message = {
      to: [],
      message_mode: "request_reply" as const,
      dst_instance_id: "12D3",
      dst_instance_name: "office",
      dst_group_title: "Lab",
      dst_to: ["lead", "docs"],
      dst_actor_titles: { lead: "Head" },
    };
    const came = { to: [], src_instance_id: "12D3", src_group_title: "Lab" };
    assert.deepEqual(said({ connect_cancellation: { state: "sent" } }, came), []);
    assert.deepEqual(said({ connect_cancellation: { state: "queued" } }, came), [
      ["Lab", "withdrawal queued"],
    ]);
    const fares = (state: "queued" | "sent" | "failed" | "unconfirmed") =>
      said(
        { connect_delivery: { state, error: { code: "x", message: "It expired. Send again." } } },
        message,
      )[0];
    assert.deepEqual(fares("queued"), ["Lab at office", "queued"]);
    assert.deepEqual(fares("sent"), ["Lab at office", "delivered"]);
    assert.deepEqual(fares("failed"), ["Lab at office", "failed: It expired"]);
    assert.deepEqual(fares("unconfirmed"), ["Lab at office", "not confirmed: It expired"]);
    const open = { "connect:12D3::lead": { state: "open" as const } };
    assert.deepEqual(said({ connect_delivery: { state: "unconfirmed" }, obligation_status: open }, message), [
      ["Lab at office", "not confirmed"],
      ["Head", "awaiting reply"],
      ["docs"],
    ]);
    assert.deepEqual(said({ connect_delivery: { state: "failed" }, obligation_status: open }, message), [
      ["Lab at office", "failed"],
      ["Head"],
      ["docs"],
    ]);
    assert.deepEqual(
      said(
        {
          connect_delivery: { state: "sent" },
          connect_cancellation: { state: "queued" },
          obligation_status: {
            "connect:12D3::lead": { state: "open" },
            "connect:12D3::docs": { state: "cancelled" },
          },
        },
        message,
      ),
      [
        ["Lab at office", "delivered", "withdrawal queued"],
        ["Head", "awaiting reply"],
        ["docs", "request cancelled"],
      ],
    );
  });

  it("speaks of the other Group for a message that went there", () => {
    assert.deepEqual(
      said(
        {
          delivery_status: { g_1: { state: "accepted", reason: "recorded_there", ts } },
          obligation_status: { "g_1::a": { state: "open" } },
        },
        {
          to: [],
          message_mode: "request_reply",
          dst_group_id: "g_1",
          dst_group_title: "docs",
          dst_to: ["a"],
        },
      ),
      [
        ["docs", "accepted"],
        ["a", "awaiting reply"],
      ],
    );
  });

  it("says nothing under a message to the person but what they owe", () => {
    const read = { user: { state: "read" as const, reason: "", ts } };
    assert.deepEqual(said({ delivery_status: read }, { to: ["user"], message_mode: "send" }), [["You"]]);
    assert.deepEqual(
      said(
        { delivery_status: read, obligation_status: { user: { state: "open" } } },
        { to: ["user"], message_mode: "request_reply" },
      ),
      [["You", "awaiting your reply"]],
    );
  });
});

describe("the plan of a message", () => {
  const actor = (
    id: string,
    role: "foreman" | "peer",
    state: ActorWithPresence["presence"]["state"] = "idle",
    enabled = true,
  ) => ({ id, title: "", role, enabled, presence: { state } }) as ActorWithPresence;
  const actors = [
    actor("lead", "foreman"),
    actor("reviewer", "peer", "working"),
    actor("old", "peer", "stopped", false),
  ];
  const group = {
    state: "active" as const,
    settings: {
      default_send_to: "foreman" as const,
      min_interval_seconds: 0,
      mail_notice_after_seconds: 0,
      reply_notice_after_seconds: 0,
      start_actors: false,
    },
  };
  const input = {
    mode: "send" as const,
    to: [] as string[],
    unknown: null,
    elsewhere: null,
    remote: null,
    replyTo: null,
    actors,
    group,
  };

  it("names who gets it and how", () => {
    assert.equal(plan(input).sentence, "lead gets it now.");
    assert.equal(plan({ ...input, to: ["reviewer"] }).sentence, "reviewer gets it now, while working.");
    assert.equal(
      plan({ ...input, to: ["@all"], mode: "request_reply" }).sentence,
      "lead and reviewer get it now, while working, and each owes you a reply.",
    );
    assert.equal(
      plan({ ...input, to: ["reviewer"], mode: "mail" }).sentence,
      "Mail: reviewer won’t be interrupted; it waits in the Inbox.",
    );
    assert.match(
      plan({ ...input, group: { ...group, state: "paused" } }).sentence,
      /paused, so the message waits/,
    );
    assert.match(plan({ ...input, elsewhere: "docs" }).sentence, /^Goes to docs/);
    const remote = { place: "Lab at office", to: ["Head"], state: null };
    assert.match(
      plan({ ...input, actors: [], remote }).sentence,
      /^Goes to Lab at office: Head gets it\. Queued here/,
    );
    for (const [state, words] of [
      ["unreachable", /^It can’t be reached right now/],
      ["no_route", /^It has no address, so nothing can be sent to it/],
      ["unconfirmed", /^The account service hasn’t confirmed it/],
    ] as const) {
      const { sentence, tone } = plan({ ...input, actors: [], remote: { ...remote, state } });
      assert.match(sentence, words);
      assert.match(sentence, /Goes to Lab at office/);
      assert.equal(tone, "attention");
    }
  });

  it("says that who waits for the person gets it afterwards", () => {
    const inTerminal = { runner: "pty", runtime: "claude" } as const;
    const asking = { ...actor("asker", "peer", "waiting"), ...inTerminal };
    const all = [...actors, asking, { ...actor("coder", "peer", "waiting"), ...inTerminal }];
    const sentence = (to: readonly string[], mode: "send" | "request_reply" = "send") =>
      plan({ ...input, actors: all, to, mode }).sentence;
    assert.equal(sentence(["asker"]), "asker waits for you in its terminal. It gets this afterwards.");
    assert.equal(
      sentence(["asker", "coder"], "request_reply"),
      "asker and coder wait for you in their terminals. They get this afterwards and each owes you a reply.",
    );
    assert.equal(
      sentence(["lead", "asker"]),
      "lead gets it now. asker waits for you in its terminal and gets it afterwards.",
    );
  });

  it("says that who asked and has no terminal gets it now, or once it is connected", () => {
    const sentence = (reason: string) => {
      const { presence, ...asker } = actor("asker", "peer", "waiting");
      const asking = { ...asker, runner: "external" as const, presence: { ...presence, reason } };
      return plan({ ...input, actors: [asking], to: ["asker"] }).sentence;
    };
    assert.equal(sentence("asks you for a reply"), "asker gets it now.");
    assert.equal(
      sentence("asks you for a reply; not connected"),
      "asker isn’t connected. It gets this once connected.",
    );
  });

  it("refuses one who is no longer there, whoever else gets it", () => {
    const what = plan({ ...input, to: ["lead", "gone"] });
    assert.deepEqual(
      [what.possible, what.sentence],
      [false, "gone is no longer in this Group. Choose who gets it."],
    );
  });

  it("leaves a program that nobody said reads prompts out of all, and says that what names it waits", () => {
    const program = { runner: "pty", runtime: "custom", prompts: false } as const;
    const shell = { ...actor("shell", "peer"), ...program };
    const all = [...actors, shell];
    assert.equal(
      plan({ ...input, actors: all, to: ["@all"] }).sentence,
      plan({ ...input, to: ["@all"] }).sentence,
    );
    const only = plan({ ...input, actors: all, to: ["shell"], mode: "request_reply" });
    assert.deepEqual(
      [only.sentence, only.possible],
      ["Waits in the Inbox of shell. Nothing is typed there.", true],
    );
    const paused = { ...group, state: "paused" as const };
    assert.equal(plan({ ...input, actors: all, to: ["shell"], group: paused }).sentence, only.sentence);
    assert.equal(
      plan({ ...input, actors: all, to: ["lead", "shell"] }).sentence,
      "lead gets it now. For shell, it waits in the Inbox.",
    );
    const alone = plan({ ...input, actors: [shell], to: ["@peers"] });
    assert.deepEqual([alone.possible, /by name/.test(alone.sentence)], [false, true]);
    const marked = { ...shell, prompts: true };
    assert.equal(plan({ ...input, actors: [marked], to: ["@all"] }).sentence, "shell gets it now.");
    // Nothing is typed into Cursor either, yet it is one of all.
    const cursor = { ...shell, id: "cursor", runtime: "cursor" as const };
    assert.match(
      plan({ ...input, actors: [cursor], to: ["@all"] }).sentence,
      /^Waits in the Inbox of cursor/,
    );
  });

  it("says that a name at the start is nobody's", () => {
    const { sentence, possible } = plan({ ...input, unknown: "laed" });
    assert.deepEqual([sentence, possible], ["No Actor is named “laed”. lead gets it now.", true]);
  });

  it("refuses what the daemon would refuse", () => {
    assert.equal(plan({ ...input, actors: [] }).possible, false);
    assert.equal(plan({ ...input, to: ["old"] }).possible, false);
    assert.equal(plan({ ...input, to: ["old"], mode: "mail" }).possible, true);
    assert.equal(plan({ ...input, to: ["gone"] }).possible, false);
  });

  it("shortens long lists", () => {
    assert.equal(
      named([actor("a", "peer"), actor("b", "peer"), actor("c", "peer"), actor("d", "peer")]),
      "a, b and 2 more",
    );
  });
});
