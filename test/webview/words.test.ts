/** What the interface says: deliveries, Actors, events, times, sizes, plans, excerpts. */
import assert from "node:assert/strict";
import {
  awaitsApproval,
  connectionsInBrief,
  connectionWords,
  endingOf,
  peerName,
  remedyFor,
  remedyForChange,
} from "../../shared/connection-words.ts";
import type { LedgerEvent } from "../../shared/events.ts";
import { shownCode, shownName, shownText } from "../../shared/foreign-text.ts";
import { addressOf, partiesOf } from "../../shared/message-parties.ts";
import { WAITS_IN_INBOX } from "../../shared/names.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { DirectRelation } from "../../shared/operations/direct.ts";
import type { MessageStatus } from "../../shared/operations/messages.ts";
import { sizeWords } from "../../shared/size-words.ts";
import { age, ago, lasting, past, secondsFrom, timeIn } from "../../shared/time-words.ts";
import { actorReason, actorWords, rowWords } from "../../webview/actors/actor-words.ts";
import { named, plan } from "../../webview/composer/send-plan.ts";
import { alike, deliveries, settled } from "../../webview/feed/delivery-words.ts";
import { eventWords } from "../../webview/feed/event-words.ts";
import { excerpt, flatten } from "../../webview/feed/excerpt.ts";
import { initials, tint } from "../../webview/feed/initials.ts";
import { verifies } from "../requirements.ts";

const NOTHING: MessageStatus = {
  read_status: {},
  obligation_status: {},
  delivery_status: {},
  connect_delivery: null,
  connect_cancellation: null,
};
const upper = (id: string) => id.toUpperCase();

function said(
  status: Partial<MessageStatus>,
  message: { to: string[]; message_mode: string; [field: string]: unknown },
) {
  return deliveries({ ...NOTHING, ...status }, message, upper).map((entry) => [
    entry.who,
    ...entry.words.map((word) => word.word),
  ]);
}

describe("who wrote to whom", () => {
  const event = (by: string, data: Record<string, unknown>) => ({
    by,
    data: { to: [], message_mode: "send", sender_title: "", ...data },
  });

  it("is told of other instances by the names of then, and by the id where there is none", () => {
    verifies("MSG-034");
    const came = event("connect:12D3", {
      sender_title: "Head",
      to: ["a"],
      src_instance_id: "12D3",
      src_instance_name: "of\u202efice",
      src_group_title: "Lab",
      source_user_id: "lead",
    });
    assert.deepEqual(partiesOf(came, upper), {
      sender: "Head",
      recipients: ["A"],
      from: "Lab at of\ufffdfice",
      to: null,
    });
    const went = partiesOf(
      event("user", {
        dst_instance_id: "12D3",
        dst_instance_name: "office",
        dst_group_title: "Lab",
        dst_to: ["lead", "docs", "user"],
        dst_actor_titles: { lead: "Head" },
      }),
      upper,
    );
    assert.equal(addressOf(went), "Head, docs, person · Lab at office");
    assert.equal(went.sender, "USER");
  });
});

describe("text of others", () => {
  it("has nothing left that turns or hides what stands around it", () => {
    assert.equal(shownName("a\u202eb\u200bc\n d\u0007\u007f"), "a\ufffdb\ufffdc d\u2407\u2421");
    assert.equal(
      shownText("x\u202ey\n\u05d0\u200f \u{1f469}\u200d\u{1f4bb}"),
      "x\ufffdy\n\u05d0\u200f \u{1f469}\u200d\u{1f4bb}",
    );
    const england = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}";
    assert.equal(shownText(`${england} a\u{e0069}\u{e0067}b`), `${england} a\ufffd\ufffdb`);
    assert.equal(shownText("❤\ufe0f x\ufe00\u{e0101}y\u3164z"), "❤\ufe0f x\ufe00\ufffdy\ufffdz");
    assert.equal(shownName("ad\u00admin\u3164"), "ad\ufffdmin\ufffd");
    const family = "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}";
    assert.equal(shownName(`a\u200db ${family}`), `a\ufffdb ${family}`);
    assert.equal(shownCode("\ta\u200d=\u20661\r\n"), "\ta\ufffd=\ufffd1\r\n");
  });
});

describe("a connection in words", () => {
  const relation = {
    id: "direct-1",
    local: {},
    remote: { title: "Lab", name: "office\u202e" },
    state: "active",
    initiated: true,
    current: true,
    expired: false,
    expires_at: "2026-01-01T00:00:00.000Z",
    online: true,
    error: null,
  } as unknown as DirectRelation;

  it("has a state, a sentence, and what ending it means, for every stage", () => {
    const say = (change: Partial<DirectRelation>) => connectionWords({ ...relation, ...change }).word;
    assert.equal(say({}), "online");
    assert.equal(say({ online: false }), "active but offline");
    assert.equal(say({ state: "pending" }), "pending approval");
    assert.equal(say({ state: "pending", expired: true }), "checking approval");
    assert.equal(say({ state: "expired" }), "expired");
    assert.equal(say({ state: "revoked" }), "revoked");
    assert.match(connectionWords({ ...relation, current: false }).sentence, /replaced/);
    assert.equal(peerName(relation), "Lab at office\ufffd");
    const end = (change: Partial<DirectRelation>) => endingOf({ ...relation, ...change });
    assert.match(end({}).consequences, /isn’t told/);
    assert.match(end({ initiated: false }).consequences, /learns of it/);
    assert.equal(end({ state: "invited", remote: null, initiated: false }).act, "Withdraw the invitation");
    assert.equal(end({ state: "pending", initiated: false }).act, "Refuse for good");
    assert.equal(end({ state: "pending" }).act, "Withdraw the request");
    assert.equal(end({ state: "expired" }).operation, "connect_direct_remove");
    assert.ok(awaitsApproval({ ...relation, state: "pending", initiated: false }));
    assert.ok(!awaitsApproval({ ...relation, state: "pending", initiated: false, expired: true }));
    // Nobody can approve it for a Group that isn't that one any more.
    assert.ok(!awaitsApproval({ ...relation, state: "pending", initiated: false, current: false }));
    const brief = (...changes: Partial<DirectRelation>[]) =>
      connectionsInBrief(changes.map((change) => ({ ...relation, ...change })))?.word;
    assert.equal(brief({ state: "revoked" }), undefined);
    assert.equal(brief({}), "office\ufffd online");
    assert.equal(brief({}, {}), "2 online");
    assert.equal(brief({}, { online: false }), "1 of 2 offline");
    assert.equal(brief({ online: false }, { state: "expired" }), "office\ufffd offline");
    assert.equal(brief({ state: "invited", remote: null, initiated: false }), "pending");
    assert.equal(brief({}, { state: "pending", initiated: false }), "approve");
    assert.equal(remedyFor(relation), null);
    assert.match(remedyFor({ ...relation, online: false, error: "refused" }) ?? "", /listening/);
    // Connected, but by its clock nothing is in time.
    const apart = { error: "The other side's clock is about 2 minutes ahead of this machine's." };
    assert.equal(say(apart), "online, messages are refused");
    assert.equal(connectionWords({ ...relation, ...apart }).tone, "attention");
    assert.match(remedyFor({ ...relation, ...apart }) ?? "", /clocks from a time server/);
    assert.equal(brief(apart), "office\ufffd refuses");
    assert.equal(brief({}, apart), "1 of 2 refused");
    const refused = (field: string) => remedyForChange({ code: "invalid_args", details: { field } });
    assert.match(refused("listener.bind") ?? "", /IP:PORT/);
    assert.match(refused("display_name") ?? "", /^The name/);
    assert.match(refused("invitation") ?? "", /Copy all of it/);
    assert.equal(refused("id"), null);
    assert.match(remedyForChange({ code: "conflict", details: {} }) ?? "", /Someone else/);
    assert.equal(remedyForChange({ code: "storage_full", details: {} }), null);
  });
});

describe("delivery in words", () => {
  const ts = "2026-01-01T00:00:00.000Z";
  const sent = { to: ["a"], message_mode: "send" };

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
          { to: Object.keys(states), message_mode: "send" },
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
    const list = deliveries(status, { to: ["a", "b"], message_mode: "mail" }, upper);
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
    const elsewhere = { to: [], message_mode: "send", dst_group_id: "g_1", dst_to: [] };
    const failed = { g_1: { state: "failed" as const, reason: "group_not_found", ts } };
    assert.equal(deliveries({ ...NOTHING, delivery_status: failed }, elsewhere, upper)[0]?.again, "no");
  });

  it("says how a message to another instance fares, once, with what each there still owes", () => {
    const message = {
      to: [],
      message_mode: "request_reply",
      dst_instance_id: "12D3",
      dst_instance_name: "office",
      dst_group_title: "Lab",
      dst_to: ["lead", "docs"],
      dst_actor_titles: { lead: "Head" },
    };
    const came = { to: [], message_mode: "send", src_instance_id: "12D3", src_group_title: "Lab" };
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
    const remote = { place: "Lab at office", to: ["Head"] };
    assert.match(
      plan({ ...input, actors: [], remote }).sentence,
      /^Goes to Lab at office: Head gets it\. Queued here/,
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

describe("times and sizes", () => {
  const now = Date.parse("2026-03-10T12:00:00.000Z");
  it("are relative first and absolute after a day", () => {
    assert.equal(ago(now - 30_000, now), "now");
    assert.equal(ago(now - 5 * 60_000, now), "5 min");
    assert.equal(ago(now - 3 * 3_600_000, now), "3 h");
    assert.match(ago(now - 3 * 86_400_000, now), /7.*, \d\d:\d\d/);
    assert.equal(lasting(now - 42_000, now), "0:42");
    for (const [seconds, minutes] of [
      [0, "0"],
      [900, "15"],
      [90, "1.5"],
      [61, "1.0167"],
    ] as const) {
      assert.equal(timeIn("minutes", seconds), minutes);
      assert.equal(secondsFrom("minutes", minutes), seconds);
    }
    assert.equal(secondsFrom("seconds", " 30 "), 30);
    for (const wrong of ["", "soon", "-1", "1e3", "1.", "NaN"])
      assert.equal(secondsFrom("minutes", wrong), null);
    assert.equal(lasting(now - 3_661_000, now), "1 h 01");
    assert.equal(age(now - 12_000, now), "12 s");
    assert.deepEqual(
      [sizeWords(812), sizeWords(12_345), sizeWords(1_048_575), sizeWords(20_000_000), sizeWords(8e10)],
      ["812 bytes", "12.1 KiB", "1 MiB", "19.1 MiB", "74.5 GiB"],
    );
  });

  it("say when something was", () => {
    const now = Date.parse("2026-07-18T12:00:00");
    assert.equal(past(now - 5000, now), "just now");
    assert.equal(past(now - 240_000, now), "4 min ago");
    assert.equal(past(now - 7_200_000, now), "2 h ago");
    assert.match(past(now - 259_200_000, now), /^on .*15.*, 12:00$/);
  });
});

describe("events in words", () => {
  const event = (kind: string, data: Record<string, unknown>, by = "user") =>
    ({ v: 1, id: "", ts: "", kind, group_id: "", scope_key: "", by, data }) as LedgerEvent;
  it("are one sentence, for kinds that nobody knows too", () => {
    const say = (kind: string, data: Record<string, unknown>, by?: string) =>
      eventWords(event(kind, data, by), (id) => id).text;
    assert.equal(say("actor.add", { actor_id: "lead" }), "User added lead");
    assert.equal(say("group.set_state", { state: "paused" }), "User set the Group paused");
    assert.equal(
      say("actor.stop", { actor_id: "lead", reason: "process_exit" }),
      "lead stopped: process exit",
    );
    assert.equal(
      say("actor.start", { actor_id: "lead", reason: "new_conversation", detail: "its file is gone" }),
      "lead started a new conversation: its last one can't be continued because its file is gone",
    );
    assert.equal(say("actor.stop", { actor_id: "lead", reason: "requested" }), "User stopped lead");
    assert.equal(say("actor.stop", { actor_id: "lead", reason: "requested" }, "lead"), "lead stopped itself");
    const notice = { title: "Reply owed", message: "Answer it." };
    assert.equal(
      say("system.notify", { ...notice, target_actor_id: "lead" }),
      "lead was reminded: Reply owed",
    );
    assert.equal(say("system.notify", { ...notice, target_actor_id: "user" }), "Reply owed: Answer it.");
    assert.equal(say("system.notify", { ...notice, target_actor_id: null }), "Reply owed: Answer it.");
    assert.equal(say("something.new_kind", {}, "lead"), "lead: something new kind");
  });
});

describe("an Actor's state", () => {
  const say = (state: ActorWithPresence["presence"]["state"], reason: string) =>
    `${actorWords({ state, reason }).word} · ${actorReason({ state, reason })}`;

  it("is a word and, where it leaves a question, the reason", () => {
    assert.equal(say("idle", "connected"), "idle · ");
    assert.equal(say("waiting", "asks you for a reply"), "waiting for you · asks you for a reply");
    assert.equal(say("unavailable", "not connected"), "not connected · ");
    assert.equal(
      say("unavailable", "not connected; 1 message will be delivered again"),
      "not connected · 1 message will be delivered again",
    );
    assert.equal(say("unavailable", "no terminal"), "unavailable · no terminal");
  });

  it("is said once in its row: what it waits for says that it waits, and the ticker has the tool", () => {
    const row = (state: ActorWithPresence["presence"]["state"], reason: string, inTicker = false) => {
      const said = rowWords({ state, reason }, inTicker);
      return `${said.word} · ${said.reason}`;
    };
    assert.equal(row("waiting", "asks you for a reply"), "asks you for a reply · ");
    assert.equal(row("waiting", "asks you for a reply; not connected"), "asks you for a reply · ");
    assert.equal(row("waiting", ""), "waiting for you · ");
    assert.equal(row("working", "uses Bash"), "working · uses Bash");
    assert.equal(row("working", "uses Bash", true), "working · ");
    assert.equal(row("failed", "no such program", true), "failed · no such program");
  });
});

describe("an agent's initials", () => {
  it("are those of two words, else two letters, in any script", () => {
    const all = ["Docs writer", "lead", "a", "code-reviewer_2", "Анна Ш.", "漢字", "🎉"].map(initials);
    assert.deepEqual(all, ["DW", "Le", "A", "CR", "АШ", "漢字", ""]);
  });
  it("have the same colour everywhere, and one of the eight", () => {
    assert.equal(tint("lead"), tint("lead"));
    assert.ok(new Set(Array.from({ length: 200 }, (_, at) => tint(`actor-${at}`))).size === 8);
  });
});

describe("excerpts", () => {
  it("leave Markdown's signs out", () => {
    assert.equal(
      flatten("# See `a.ts`:\n\n| a | b |\n|---|:--|\n| **c** | [d](https://e) |"),
      "See a.ts: a b c d",
    );
  });
  it("begin near the first match and mark every word", () => {
    const parts = excerpt(`${"before ".repeat(40)}the needle is here`, "needle");
    assert.ok(parts[0]!.text.startsWith("…"));
    assert.deepEqual(
      parts.filter((part) => part.match).map((part) => part.text),
      ["needle"],
    );
  });
  it("take the searched words as words, not as a pattern", () => {
    assert.deepEqual(
      excerpt("a.b aXb", "a.b")
        .filter((part) => part.match)
        .map((part) => part.text),
      ["a.b"],
    );
  });
});
