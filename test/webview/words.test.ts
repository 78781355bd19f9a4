/** What the interface says: deliveries, Actors, events, times, sizes, plans, excerpts. */
import assert from "node:assert/strict";
import { actorReason, actorWords, rowWords } from "../../shared/actor-words.ts";
import { invitationQuery, pastedInvitation, readInvitation } from "../../shared/address.ts";
import { sharedCount } from "../../shared/any-connection-words.ts";
import { connectionWords, endingOf, remedyFor, remedyForChange } from "../../shared/connection-words.ts";
import { awaitsApproval, connectionsInBrief, peerName } from "../../shared/connections-brief.ts";
import type { ChatMessage, LedgerEvent } from "../../shared/events.ts";
import { shownCode, shownName, shownText } from "../../shared/foreign-text.ts";
import { labelFrom } from "../../shared/invisible.ts";
import { addressOf, partiesOf } from "../../shared/message-parties.ts";
import { label } from "../../shared/model.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { Connection } from "../../shared/operations/connect.ts";
import type { DirectRelation } from "../../shared/operations/direct.ts";
import { instanceQuery, readPlace } from "../../shared/remote-place.ts";
import { sharingSentence } from "../../shared/sharing-words.ts";
import { sizeWords } from "../../shared/size-words.ts";
import { age, ago, lasting, past, secondsFrom, timeIn } from "../../shared/time-words.ts";
import { eventWords } from "../../webview/feed/event-words.ts";
import { excerpt, flatten } from "../../webview/feed/excerpt.ts";
import { initials, tint } from "../../webview/feed/initials.ts";
import type { SharingStatus } from "../../webview/state/group-connections.ts";
import { verifies } from "../requirements.ts";
import { chatMessage } from "../support/events.ts";

const upper = (id: string) => id.toUpperCase();

describe("a title that nobody typed", () => {
  it("is one that the daemon takes, cut between whole characters", () => {
    const page = `https://host.example/${"a".repeat(600)}`;
    const family = "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}";
    for (const [name, bytes, title] of [
      ["plan.md", 512, "plan.md"],
      [page, 512, page.slice(0, 512)],
      ["a\u202egpj.\u200bmd\n", 512, "agpj.md"],
      ["half \ud83d", 512, "half \ufffd"],
      [`ab ${family}${family}`, 3 + 18 + 17, `ab ${family}`],
      [`ab ${family}`, 3 + 17, "ab"],
      ["\u200f\u2066", 512, ""],
    ] as const) {
      assert.equal(labelFrom(name, bytes), title);
      assert.ok(label(bytes).safeParse(title).success);
    }
  });
});

describe("who wrote to whom", () => {
  const event = (by: string, data: Partial<ChatMessage>) => ({
    by,
    data: chatMessage({ sender_title: "", ...data }),
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
      from: "Lab at “of\ufffdfice”",
      mark: "outside, key unknown, this account",
      to: null,
    });
    const { mark } = partiesOf({ ...came, _imported: true }, upper);
    assert.equal(mark, "imported: outside, key unknown, this account");
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

  it("to other instances begin with an address that names one, and perhaps a Group there", () => {
    const instanceId = "12D3KooWC5wZpLwvSsQT1vzYvvdpKjRMe8E25kEFh9hwLbUoa8hg";
    const groupId = "g_0123456789ab";
    for (const place of [
      { instanceId, groupId },
      { instanceId, groupId: null },
    ])
      assert.deepEqual(readPlace(instanceQuery(place.instanceId, place.groupId)), place);
    assert.deepEqual(readPlace(`?group=g_1&instance=${instanceId}&instance_group=../x`), {
      instanceId,
      groupId: null,
    });
    for (const wrong of ["", "0OIl", "../", "javascript:alert(1)", "a".repeat(129)])
      assert.equal(readPlace(`?instance=${encodeURIComponent(wrong)}`), null);
    assert.equal(readPlace(`?instance_group=${groupId}`), null);
  });

  it("to other accounts begin with an address that names one whole invitation", () => {
    const id = "0a9b1c2d-0000-8000-8000-00000000000f";
    assert.equal(readInvitation(invitationQuery(id)), id);
    assert.equal(readInvitation(`?group=g_1&connect_invite=${id}`), id);
    const wrong = ["", id.toUpperCase(), ` ${id}`, `${id}0`, id.slice(1), "javascript:alert(1)", "../"];
    for (const one of wrong) assert.equal(readInvitation(`?connect_invite=${encodeURIComponent(one)}`), null);
    assert.equal(readInvitation(`?connect_invite=${id}&connect_invite=${id}`), null);
    for (const pasted of [
      id,
      ` ${id.toUpperCase()}\n`,
      `svc connect accept ${id}`,
      `http://a/?connect_invite=${id}`,
    ])
      assert.equal(pastedInvitation(pasted), id);
    for (const pasted of ["", `x${id}`, `${id}x`, "svc-direct:abc"])
      assert.equal(pastedInvitation(pasted), null);
  });

  it("to other accounts are none only if that is confirmed, and unconfirmed isn't zero", () => {
    verifies("EXT-016", "EXT-017", "SNAP-013", "SNAP-014");
    const [now, later] = [Date.parse("2026-01-01T00:00:00Z"), "2026-01-01T00:02:00.000Z"];
    const sharing = (change: object) =>
      ({
        status: "ready",
        links: [],
        expires_at: later,
        error_message: null,
        ...change,
      }) as unknown as SharingStatus;
    assert.match(sharingSentence(sharing({}), now), /^No connections/u);
    assert.match(sharingSentence(sharing({ links: [{}] }), now), /^1 connection to/u);
    const unsure = [
      null,
      sharing({ expires_at: null }),
      sharing({ expires_at: "2026-01-01T00:00:00.000Z" }),
      ...["not_linked", "syncing", "unavailable"].map((status) => sharing({ status })),
    ];
    for (const one of unsure) assert.doesNotMatch(sharingSentence(one, now), /^No connections|^\d/u);
    const counts = { counts: { g_1: 2, g_2: 0, g_3: null }, expires_at: later };
    assert.deepEqual(
      ["g_1", "g_2", "g_3", "g_4"].map((id) => sharedCount(counts, id, now)),
      [2, 0, null, null],
    );
    assert.equal(sharedCount(null, "g_1", now), null);
    assert.equal(sharedCount(counts, "g_1", Date.parse(later)), null);
  });

  it("has a state, a sentence, and what ending it means, for every stage", () => {
    const say = (change: Partial<DirectRelation>) => connectionWords({ ...relation, ...change }).word;
    assert.equal(say({}), "online");
    assert.equal(say({ online: false }), "active but offline");
    assert.equal(say({ state: "pending" }), "pending approval");
    assert.equal(say({ state: "pending", expired: true }), "checking approval");
    assert.equal(say({ state: "expired" }), "expired");
    assert.equal(say({ state: "revoked" }), "revoked");
    assert.match(connectionWords({ ...relation, current: false }).sentence, /replaced/);
    assert.equal(peerName(relation), "Lab at “office\ufffd”");
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
    assert.equal(brief({}), "“office\ufffd” online");
    assert.equal(brief({}, {}), "2 online");
    assert.equal(brief({}, { online: false }), "1 of 2 offline");
    assert.equal(brief({ online: false }, { state: "expired" }), "“office\ufffd” offline");
    assert.equal(brief({ state: "invited", remote: null, initiated: false }), "pending");
    assert.equal(brief({}, { state: "pending", initiated: false }), "approve");
    // Connections to other accounts are summed up with them.
    const external = (state: Connection["state"]) =>
      ({ kind: "external", state, remote: { title: "Shop", name: "Ben" } }) as unknown as Connection;
    assert.equal(connectionsInBrief([], [external("reached")])?.word, "Shop online");
    assert.equal(connectionsInBrief([relation], [external("unconfirmed")])?.word, "1 of 2 offline");
    assert.equal(connectionsInBrief([], [external("not_tried")])?.word, "Shop not asked yet");
    assert.equal(connectionsInBrief([], [external("ended")]), null);
    assert.equal(remedyFor(relation), null);
    assert.match(remedyFor({ ...relation, online: false, error: "refused" }) ?? "", /listening/);
    // Connected, but by its clock nothing is in time.
    const apart = { error: "The other side's clock is about 2 minutes ahead of this machine's." };
    assert.equal(say(apart), "online, messages are refused");
    assert.equal(connectionWords({ ...relation, ...apart }).tone, "attention");
    assert.match(remedyFor({ ...relation, ...apart }) ?? "", /clocks from a time server/);
    assert.equal(brief(apart), "“office\ufffd” refuses");
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
    assert.equal(say("system.notify", { ...notice, target_actor_id: "user" }), "Reply owed: “Answer it.”");
    assert.equal(say("system.notify", { ...notice, target_actor_id: null }), "Reply owed: “Answer it.”");
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
    assert.equal(row("waiting", "waits for permission to use Bash", true), "waiting for you · ");
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
