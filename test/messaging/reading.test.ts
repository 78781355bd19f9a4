import assert from "node:assert/strict";
import { join, resolve } from "node:path";
import { homePaths } from "../../client/paths.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";
import { textOf } from "../support/events.ts";
import { WornFiles } from "../support/worn-files.ts";
import { refusal, TestHome } from "./setting.ts";

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
    const say = (text: string, messageMode: "send" | "request_reply" = "send") =>
      home.send(group, text, { to: ["user"], message_mode: messageMode }, lead);
    const first = await say("1");
    const asked = await say("?", "request_reply");
    const last = await say("3");
    const counts = () => {
      const { unread, attention } = home.messaging.counts(group);
      return [unread, attention];
    };
    assert.deepEqual(counts(), [3, 1]);
    assert.equal(home.messaging.counts(group).first_unread, first.event.id);
    assert.ok(told >= 3);
    const read = (eventId: string) => home.call("feed_read", { group_id: group, event_id: eventId });
    assert.deepEqual(await read(asked.event.id), { unread: 1, first_unread: last.event.id, attention: 1 });
    assert.deepEqual(await read(first.event.id), { unread: 1, first_unread: last.event.id, attention: 1 });
    assert.equal((await home.status(group, first.event.id)).delivery_status.user?.state, "read");
    assert.equal((await home.status(group, last.event.id)).delivery_status.user?.state, "pending");
    await home.call("reply", { group_id: group, event_id: asked.event.id, text: "yes" });
    home = await home.restarted();
    assert.deepEqual(counts(), [1, 0]);
    assert.equal(home.messaging.counts(group).first_unread, last.event.id);
    await read(last.event.id);
    assert.deepEqual(counts(), [0, 0]);
    assert.equal(home.messaging.counts(group).first_unread, null);
    assert.equal(home.messaging.counts(group).last_event?.id !== undefined, true);
    await assert.rejects(read("0".repeat(32)), refusal("event_not_found"));
  });

  it("says what needs the person, though the disk can't read the last message", async () => {
    const files = new WornFiles();
    home = await home.restarted(files);
    const asked = await home.send(
      group,
      "?",
      { to: ["user"], message_mode: "request_reply" },
      home.actor(group, "lead"),
    );
    files.wear(join(homePaths(home.root).group(group).ledger, "active.jsonl"), asked.event.id);
    assert.throws(() => home.messaging.counts(group));
    assert.equal(home.messaging.attention(group), 1);
  });

  it("goes back where the person marks unread, over a restart, and attention stays", async () => {
    const lead = home.actor(group, "lead");
    const say = (text: string) =>
      home.send(group, text, { to: ["user"], message_mode: "request_reply" }, lead);
    const first = await say("1");
    const mine = await home.send(group, "mine", { to: ["lead"] });
    const second = await say("2");
    const last = await say("3");
    const mark = (name: "feed_read" | "feed_unread", eventId: string) =>
      home.call(name, { group_id: group, event_id: eventId });
    const nothing = { unread: 0, first_unread: null, attention: 3 };
    const events = async () =>
      (await home.call("ledger_tail", { group_id: group, limit: 200 })).events.length;
    assert.deepEqual(await mark("feed_read", last.event.id), nothing);
    // From a message of the person's own: what was said to them after it.
    let told = 0;
    home.messaging.onCounts(() => (told += 1));
    const back = { unread: 2, first_unread: second.event.id, attention: 3 };
    assert.deepEqual(await mark("feed_unread", mine.event.id), back);
    assert.equal(told, 1);
    assert.equal((await home.status(group, first.event.id)).delivery_status.user?.state, "read");
    assert.equal((await home.status(group, second.event.id)).delivery_status.user?.state, "pending");
    // Only back, and what changes nothing is not recorded.
    const before = await events();
    assert.deepEqual(await mark("feed_unread", last.event.id), back);
    assert.equal(await events(), before);
    home = await home.restarted();
    assert.deepEqual(home.messaging.counts(group).first_unread, second.event.id);
    assert.deepEqual((await home.call("ledger_verify", { group_id: group })).problems, []);
    assert.deepEqual(await mark("feed_read", last.event.id), nothing);
    await home.send(group, "mine too", { to: ["lead"] });
    const { events: newest } = await home.call("ledger_tail", { group_id: group, limit: 1 });
    assert.deepEqual(await mark("feed_unread", newest[0]!.id), nothing);
    await assert.rejects(mark("feed_unread", "0".repeat(32)), refusal("event_not_found"));
  });

  it("finds messages by who wrote or got them, mode, files and open requests, with words or without", async () => {
    const lead = home.actor(group, "lead");
    const paths = [resolve("package.json")];
    await home.send(group, "zebra one", { to: ["lead"], message_mode: "request_reply" });
    await home.send(group, "zebra two", { to: ["lead"], message_mode: "mail", paths });
    const asked = await home.send(
      group,
      "zebra three",
      { to: ["user"], message_mode: "request_reply" },
      lead,
    );
    await home.send(group, "lion", { to: ["lead"], paths });
    const found = async (filter: object, limit = 50) => {
      const texts: string[] = [];
      let before: string | null = null;
      do {
        const page: ResultOf<"ledger_search"> = await home.call("ledger_search", {
          group_id: group,
          limit,
          ...filter,
          ...(before === null ? {} : { before }),
        });
        assert.ok(page.events.length <= limit);
        texts.unshift(...page.events.map((event) => textOf(event) ?? ""));
        before = page.continue_before;
      } while (before !== null);
      return texts;
    };
    for (const limit of [1, 50]) {
      assert.deepEqual(await found({ files: true }, limit), ["zebra two", "lion"]);
      assert.deepEqual(await found({ open: true }, limit), ["zebra one", "zebra three"]);
      assert.deepEqual(await found({ message_mode: "mail" }, limit), ["zebra two"]);
      assert.deepEqual(await found({ actor: "user", query: "ZEBRA" }, limit), [
        "zebra one",
        "zebra two",
        "zebra three",
      ]);
      assert.deepEqual(await found({ query: "zebra", files: true }, limit), ["zebra two"]);
      assert.deepEqual(await found({ query: "zebra", open: true, message_mode: "mail" }, limit), []);
    }
    assert.deepEqual(await found({ actor: "nobody" }), []);
    await home.call("reply", { group_id: group, event_id: asked.event.id, text: "yes" });
    assert.deepEqual(await found({ open: true }), ["zebra one"]);
    await assert.rejects(found({}), refusal("invalid_args"));
  });

  it("finds the first message since a time", async () => {
    const at: string[] = [];
    const ids: string[] = [];
    for (let number = 0; number < 5; number += 1) {
      const { event } = await home.send(group, String(number), { to: ["lead"] });
      at.push(event.ts);
      ids.push(event.id);
      home.clock.advance(86_400_000);
    }
    const since = async (ts: string) =>
      (await home.call("ledger_since", { group_id: group, ts, kinds: ["chat.message"] })).event_id;
    assert.deepEqual(await Promise.all(at.map(since)), ids);
    const later = (ts: string, by: number) => new Date(Date.parse(ts) + by).toISOString();
    assert.equal(await since(later(at[2]!, 1)), ids[3]);
    assert.equal(await since("1970-01-01T00:00:00.000Z"), ids[0]);
    assert.equal(await since(later(at[4]!, 1)), null);
  });

  it("shows a conversation of replies from any of its messages, and nothing else", async () => {
    const lead = home.actor(group, "lead");
    const asked = await home.send(group, "?", { to: ["lead"], message_mode: "request_reply" });
    await home.send(group, "something else", { to: ["lead"] });
    const answer = (eventId: string, text: string) =>
      home.call("reply", { group_id: group, event_id: eventId, text }, { as: lead });
    const first = await answer(asked.event.id, "1");
    await answer(asked.event.id, "2");
    const back = await home.call("reply", { group_id: group, event_id: first.event.id, text: "1.1" });
    home = await home.restarted();
    for (const eventId of [asked.event.id, back.event.id]) {
      const { events, has_more: hasMore } = await home.call("ledger_thread", {
        group_id: group,
        event_id: eventId,
      });
      assert.deepEqual([events.map(textOf), hasMore], [["?", "1", "2", "1.1"], false]);
    }
    const gone = home.call("ledger_thread", { group_id: group, event_id: "0".repeat(32) });
    await assert.rejects(gone, refusal("event_not_found"));
  });

  it("isn't told that its Group is gone while the daemon ends", async () => {
    home.messaging.close();
    assert.throws(() => home.messaging.get(group), refusal("shutting_down"));
    await home.registry.close();
    assert.throws(() => home.registry.get(group), refusal("shutting_down"));
  });
});
