/** Reading, searching, following and checking a ledger. */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { Ledger } from "../../daemon/ledger/ledger.ts";
import type { Placed } from "../../daemon/ledger/types.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { messageOf, oddNew } from "../support/events.ts";
import { hasCode, useLedger } from "./on-disk.ts";
import { GROUP, HastyClock, keyOf, message, turnsDuring } from "./setting.ts";

describe("Ledger", () => {
  const { directory, names, open, opened, tally } = useLedger();

  describe("reading", () => {
    it("pages forwards and backwards and says whether more follows", async () => {
      const ledger = await open();
      const ids: string[] = [];
      for (let at = 0; at < 10; at += 1) ids.push((await ledger.append(message(`${at}`))).event.id);
      const shown = (page: { events: { data: Record<string, unknown> }[] }): string =>
        page.events.map((event) => event.data["text"]).join("");
      assert.deepEqual([shown(ledger.page({ limit: 3 })), ledger.page({ limit: 3 }).more], ["789", true]);
      assert.deepEqual(
        [shown(ledger.page({ limit: 20 })), ledger.page({ limit: 20 }).more],
        ["0123456789", false],
      );
      assert.equal(shown(ledger.page({ before: ids[5], limit: 2 })), "34");
      assert.equal(ledger.page({ before: ids[2], limit: 2 }).more, false);
      assert.equal(shown(ledger.page({ after: ids[5], limit: 2 })), "67");
      assert.equal(ledger.page({ after: ids[7], limit: 2 }).more, false);
      assert.equal(shown(ledger.page({ after: ids[9], limit: 2 })), "");
      assert.equal(shown(ledger.page({ from: "newest", limit: 2 })), "89");
      assert.equal(shown(ledger.page({ from: "oldest", limit: 2 })), "01");
      assert.equal(ledger.page({ from: "oldest", limit: 2 }).more, true);
      assert.equal(ledger.page({ from: "oldest", limit: 10 }).more, false);
      const window = ledger.window({ around: ids[4]!, before: 2, after: 9 });
      assert.deepEqual([shown(window), window.older, window.newer], ["23456789", true, false]);
      assert.throws(() => ledger.page({ before: "0".repeat(32), limit: 1 }), hasCode("event_not_found"));
      assert.throws(() => ledger.readById("no id"), hasCode("event_not_found"));
      assert.throws(() => ledger.read(10), hasCode("event_not_found"));
    });

    it("filters by kind, also beyond the kinds that have a code of their own", async () => {
      let ledger = await open();
      const kinds = Array.from({ length: 300 }, (_, at) => `x.kind${at}`);
      await ledger.appendAll(kinds.map((kind) => oddNew({ kind, scope_key: "", by: "system", data: {} })));
      for (let round = 0; round < 2; round += 1) {
        for (const kind of ["x.kind7", "x.kind280"]) {
          const { events, more } = ledger.page({ limit: 5, kinds: new Set([kind]) });
          assert.deepEqual([events.map((event) => event.kind), more], [[kind], false]);
        }
        await ledger.close();
        ledger = await open();
      }
    });

    it("searches newest first without regard to case, over segments, and goes on where it stopped", async () => {
      const ledger = await open({ searchScanBytes: 1000 });
      for (let at = 0; at < 30; at += 1) {
        await ledger.append(
          message(at % 3 === 0 ? `Needle Straße "${at}" ÄÖ` : `hay ${"x".repeat(200)}`, {}, "needle"),
        );
        if (at % 10 === 9) await ledger.compact();
      }
      const found: string[] = [];
      let before: string | undefined;
      let calls = 0;
      for (;;) {
        const page = await ledger.search({ query: 'nEEDLE straße "', before, limit: 2 });
        assert.ok(page.events.length <= 2);
        found.unshift(...page.events.map((event) => messageOf(event).text));
        calls += 1;
        if (page.before === null) break;
        before = page.before;
      }
      assert.deepEqual(
        found,
        Array.from({ length: 10 }, (_, at) => `Needle Straße "${at * 3}" ÄÖ`),
      );
      assert.ok(calls > 5);
      const none = await ledger.search({ query: "äö", kinds: new Set(["mail.read"]), limit: 5 });
      assert.deepEqual(none.events, []);
    });

    it("leads from an event to those that refer to it, oldest first, over every kind that does", async () => {
      let ledger = await open();
      const source = (await ledger.append(message("ask"))).event.id;
      const put = (kind: string, data: Record<string, unknown>) =>
        ledger.append(oddNew({ kind, scope_key: "", by: "system", data }));
      await ledger.append(message("reply", { reply_to: source }));
      await put("runtime.delivery", { actor_id: "a", source_event_id: source });
      await put("mail.read", { actor_id: "a", event_id: source });
      await ledger.compact();
      await put("chat.reply_request.cancelled", { source_event_id: source, recipients: [] });
      await put("chat.cross_group_receipt", { status: "sent", source_event_id: source });
      await put("system.notify", { kind: "x", related_event_id: source });
      await put("system.notify", { kind: "x", related_event_id: null });
      await put("chat.cross_group_receipt", { source_event_id: "e".repeat(32) });
      for (let round = 0; round < 3; round += 1) {
        assert.deepEqual(ledger.related(0), [1, 2, 4, 5, 6]);
        assert.deepEqual(ledger.related(1), []);
        await ledger.close();
        if (round === 1) for (const name of names(/\.bin$/)) fs.rmSync(join(directory, name));
        ledger = await open();
      }
    });
  });

  describe("following", () => {
    it("tells each batch once, in order, after projections had it, until it is stopped", async () => {
      const ledger = await open();
      const heard: number[] = [];
      const stop = ledger.follow((placed: readonly Placed[]) => {
        for (const { ordinal } of placed) {
          assert.equal(tally().seen.length > ordinal, true);
          heard.push(ordinal);
        }
      });
      await Promise.all(Array.from({ length: 50 }, (_, at) => ledger.append(message(`${at}`))));
      stop();
      await ledger.append(message("unheard"));
      assert.deepEqual(
        heard,
        Array.from({ length: 50 }, (_, at) => at),
      );
    });
  });

  describe("verify", () => {
    it("leaves the event loop to others, also within a segment, and stops when the ledger is closed", async () => {
      const deps = { files: new RealFiles(), clock: new HastyClock(), random: new RealRandom() };
      const ledger = await Ledger.open(deps, directory, { group_id: GROUP, projections: [], keyOf });
      opened.push(ledger);
      const batch = Array.from({ length: 1000 }, (_, at) => message(`${at} ${"x".repeat(400)}`));
      for (let round = 0; round < 3; round += 1) await ledger.appendAll(batch);
      const turns = await turnsDuring(() => ledger.verify());
      assert.ok(turns > 8, `${turns} turns`);
      const stopped = assert.rejects(ledger.verify(), hasCode("shutting_down"));
      await ledger.close();
      await stopped;
    });

    it("finds a projection that went its own way and a line that was damaged on disk", async () => {
      const ledger = await open();
      for (const text of ["one", "two"]) await ledger.append(message(text));
      tally().seen.pop();
      assert.match((await ledger.verify()).problems.join(" "), /projection tally differs/);
      await ledger.compact();
      const path = join(directory, "segment-000001.jsonl");
      fs.writeFileSync(path, fs.readFileSync(path, "utf8").replace('"text":"two"', '"text": two '));
      assert.match((await ledger.verify()).problems.join(" "), /Segment 1 has a line/);
    });
  });
});
