/** The order of the history is that of its events, whatever the clock was set to in between. */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { homePaths } from "../../client/paths.ts";
import { textOf } from "../support/events.ts";
import { until } from "../support/until.ts";
import { refusal, TestHome } from "./setting.ts";

const DAY = 24 * 3_600_000;

describe("A history with a clock that was set back", () => {
  let home: TestHome;
  let group: string;
  beforeEach(async () => {
    home = await TestHome.open();
    home.clock.set(3 * DAY);
    group = await home.group("lead");
    home.clock.set(-3 * DAY);
  });
  afterEach(() => home.remove());

  async function own(query = ""): Promise<string[]> {
    const texts: string[] = [];
    let before: string | undefined;
    for (;;) {
      const page = await home.call("message_history", {
        group_id: group,
        actor_id: "lead",
        query,
        limit: 50,
        ...(before === undefined ? {} : { before_event_id: before }),
      });
      texts.unshift(...page.events.map((event) => textOf(event) ?? ""));
      if (page.continue_before === null) return texts;
      before = page.continue_before;
    }
  }

  it("is an Actor's to its beginning", async () => {
    const sent: string[] = [];
    for (let at = 0; at < 450; at += 1) {
      sent.push(`zebra ${at}`);
      await home.send(group, sent[at]!, { to: ["lead"] });
      if (at === 200) home.clock.set(-2 * DAY);
    }
    assert.deepEqual(await own(), sent);
    assert.deepEqual(await own("zebra"), sent);
  });

  it("finds the first event since a moment in the order of the history", async () => {
    const at = async (text: string) => (await home.send(group, text, { to: ["lead"] })).event.id;
    const since = async (moment: number) =>
      (
        await home.call("ledger_since", {
          group_id: group,
          ts: new Date(moment).toISOString(),
          kinds: ["chat.message"],
        })
      ).event_id;
    const early = await at("early");
    home.clock.set(10 * DAY);
    const future = home.clock.now();
    const ahead = await at("ahead");
    home.clock.set(-9 * DAY);
    // More than the ledger looks at together.
    for (let number = 0; number < 600; number += 1)
      await home.send(group, `later ${number}`, { to: ["lead"] });
    assert.equal(await since(0), early);
    assert.equal(await since(future), ahead);
    assert.equal(await since(future - DAY), ahead);
    assert.equal(await since(future + 1000 * DAY), null);
    assert.equal(await since(home.clock.now()), ahead);
  });

  it("reminds of Mail that came after the clock was set back", async () => {
    const notices = () =>
      home.registry
        .get(group)
        .ledger.page({ limit: 200, kinds: new Set(["system.notify"]) })
        .events.map((event) => (event.kind === "system.notify" ? event.data.related_event_id : ""));
    home.clock.set(5 * DAY);
    const first = await home.send(group, "from tomorrow", { to: ["lead"], message_mode: "mail" });
    home.clock.set(-5 * DAY);
    const second = await home.send(group, "from today", { to: ["lead"], message_mode: "mail" });
    home.clock.advance(3_600_000);
    await until(() => {
      home.clock.advance(0);
      return notices().length === 2;
    });
    assert.deepEqual(notices(), [first.event.id, second.event.id]);
  });
});

describe("A history with a damaged line in its middle", () => {
  let home: TestHome;
  let group: string;
  beforeEach(async () => {
    home = await TestHome.open();
    group = await home.group("lead");
  });
  afterEach(() => home.remove());

  it("is read to its beginning by every reader, which name what is unreadable", async () => {
    const sent: { id: string; text: string }[] = [];
    for (let at = 0; at < 300; at += 1) {
      const text = `zebra ${at} ${"x".repeat(100)}`;
      sent.push({ id: (await home.send(group, text, { to: ["lead"] })).event.id, text });
    }
    await home.call("ledger_compact", { group_id: group });
    home = await home.restarted();
    const bad = sent[150]!;
    const path = join(homePaths(home.root).group(group).ledger, "segment-000001.jsonl");
    const bytes = fs.readFileSync(path);
    bytes[bytes.indexOf(`"id":"${bad.id}"`) - 2] = 0;
    fs.writeFileSync(path, bytes);
    const left = sent.filter(({ id }) => id !== bad.id).map(({ id }) => id);

    const unreadable = new Set<string>();
    const read: Record<string, string[]> = { history: [], tail: [], search: [] };
    for (let before: string | undefined; ; ) {
      const page = await home.call("message_history", {
        group_id: group,
        actor_id: "lead",
        limit: 40,
        ...(before === undefined ? {} : { before_event_id: before }),
      });
      read["history"]!.unshift(...page.events.map(({ id }) => id));
      for (const id of page.unreadable ?? []) unreadable.add(id);
      if (page.continue_before === null) break;
      before = page.continue_before;
    }
    assert.deepEqual([...unreadable], [bad.id]);
    for (let before: string | undefined; ; ) {
      const page = await home.call("ledger_tail", {
        group_id: group,
        limit: 40,
        kinds: ["chat.message"],
        ...(before === undefined ? {} : { before }),
      });
      read["tail"]!.unshift(...page.events.map(({ id }) => id));
      for (const id of page.unreadable ?? []) assert.equal(id, bad.id);
      if (!page.has_more) break;
      before = page.events[0]!.id;
    }
    for (let before: string | null | undefined; before !== null; ) {
      const page = await home.call("ledger_search", {
        group_id: group,
        query: "zebra",
        limit: 40,
        ...(before === undefined ? {} : { before }),
      });
      read["search"]!.unshift(...page.events.map(({ id }) => id));
      before = page.continue_before;
    }
    for (const [reader, ids] of Object.entries(read)) assert.deepEqual(ids, left, reader);
    const window = await home.call("ledger_window", {
      group_id: group,
      event_id: bad.id,
      before: 2,
      after: 2,
    });
    assert.deepEqual(
      window.events.map(({ id }) => id),
      [148, 149, 151, 152].map((at) => sent[at]!.id),
    );
    assert.deepEqual(window.unreadable, [bad.id]);
    const { statuses } = await home.call("ledger_statuses", {
      group_id: group,
      event_ids: sent.map(({ id }) => id),
    });
    assert.equal(Object.keys(statuses).length, left.length);
    const { path: exported, events } = await home.call("group_export", {
      group_id: group,
      path: join(home.root, "export.jsonl"),
    });
    assert.ok(fs.readFileSync(exported, "utf8").includes(sent[151]!.text));
    assert.ok(events >= left.length);
    await assert.rejects(home.send(group, "more", { to: ["lead"] }), refusal("ledger_damaged"));
  });
});
