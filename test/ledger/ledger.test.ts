import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ledger } from "../../daemon/ledger/ledger.ts";
import type { LedgerLimits, Placed } from "../../daemon/ledger/types.ts";
import { RealClock } from "../../daemon/platform/real-clock.ts";
import { RealFiles } from "../../daemon/platform/real-files.ts";
import { RealRandom } from "../../daemon/platform/real-random.ts";
import type { Refusal } from "../../shared/errors.ts";
import { all, GROUP, HastyClock, keyOf, message, Tally, texts, turnsDuring } from "./setting.ts";

let root: string;
let directory: string;
let tally: Tally;
const opened: Ledger[] = [];

async function open(limits: Partial<LedgerLimits> = {}): Promise<Ledger> {
  tally = new Tally();
  const deps = { files: new RealFiles(), clock: new RealClock(), random: new RealRandom() };
  const ledger = await Ledger.open(deps, directory, { group_id: GROUP, projections: [tally], keyOf, limits });
  opened.push(ledger);
  return ledger;
}

function names(pattern: RegExp): string[] {
  return fs
    .readdirSync(directory)
    .filter((name) => pattern.test(name))
    .sort();
}

function activeText(): string {
  return fs.readFileSync(join(directory, "active.jsonl"), "utf8");
}

/** Rewrites the active file as a crash could have left it: `text` and behind it `rest`. */
function leaveBehind(text: string, rest: string): void {
  fs.writeFileSync(join(directory, "active.jsonl"), text + rest);
}

function hasCode(code: string): (error: unknown) => boolean {
  return (error) => (error as Refusal).code === code;
}

describe("Ledger", () => {
  beforeEach(() => {
    root = fs.mkdtempSync(join(tmpdir(), "svc-ledger-"));
    directory = join(root, "ledger");
  });
  afterEach(async () => {
    for (const ledger of opened.splice(0)) await ledger.close();
    fs.rmSync(root, { recursive: true, force: true });
  });

  describe("append and reopen", () => {
    it("writes one JSON line per event, members in the contract's order and what projections need before the text", async () => {
      const ledger = await open();
      const data = {
        text: "hi",
        refs: [],
        client_id: "c",
        message_mode: "send",
        extra: 1,
        to: [],
        sender_title: "S",
      };
      await ledger.append({ kind: "chat.message", scope_key: "", by: "user", data, key: "user\nc" });
      const line = activeText().split("\n")[0]!;
      assert.deepEqual(Object.keys(JSON.parse(line) as object), [
        "v",
        "id",
        "ts",
        "kind",
        "group_id",
        "scope_key",
        "by",
        "data",
      ]);
      const members = Object.keys((JSON.parse(line) as { data: object }).data);
      assert.deepEqual(members, ["message_mode", "to", "client_id", "sender_title", "text", "refs", "extra"]);
    });

    it("extends the file ahead with line feeds, and keeps modes 0700 and 0600", async () => {
      const ledger = await open();
      await ledger.append(message("one"));
      const text = activeText();
      assert.equal(text.length, 1024 * 1024);
      assert.match(text, /^\{[^\n]+\}\n+$/);
      assert.equal(fs.statSync(directory).mode & 0o777, 0o700);
      for (const name of fs.readdirSync(directory))
        assert.equal(fs.statSync(join(directory, name)).mode & 0o777, 0o600, name);
    });

    it("gives ordinals in append order, also to those that wait together, and finds events after a reopen", async () => {
      let ledger = await open();
      const placed = await Promise.all(
        Array.from({ length: 200 }, (_, at) => ledger.append(message(`m${at}`, { client_id: `c${at}` }))),
      );
      assert.deepEqual(
        placed.map(({ ordinal }) => ordinal),
        Array.from({ length: 200 }, (_, at) => at),
      );
      for (const clean of [true, false]) {
        if (clean) await ledger.close();
        ledger = await open();
        assert.equal(ledger.count, 200);
        assert.equal(ledger.lastOrdinal, 199);
        assert.deepEqual(ledger.read(17), placed[17]!.event);
        assert.deepEqual(ledger.readById(placed[180]!.event.id), placed[180]!.event);
        assert.equal(ledger.ordinalOf(placed[3]!.event.id), 3);
        assert.equal(ledger.byKey("user\nc42"), 42);
        assert.equal(ledger.byKey("user\nnobody"), undefined);
        assert.equal(ledger.ordinalOf("f".repeat(32)), undefined);
        assert.equal(tally.seen.length, 200);
      }
    });

    it("writes an atomic batch with one sync and drops it whole when its last line is missing", async () => {
      let ledger = await open();
      await ledger.append(message("before"));
      await ledger.appendAll([message("a"), message("b"), message("c")]);
      await ledger.close();
      const lines = activeText().split("\n").slice(0, 4);
      fs.rmSync(join(directory, "index-000001.bin"));
      fs.rmSync(join(directory, "checkpoint.bin"));
      leaveBehind(`${lines.slice(0, 3).join("\n")}\n`, "\n\n");
      ledger = await open();
      assert.deepEqual(texts(ledger), ["before"]);
      assert.equal(tally.seen.length, 1);
    });

    it("refuses what is too large, too much at once, or after the end, and records nothing of it", async () => {
      const ledger = await open({ lineBytes: 2000, batchBytes: 4000, batchLines: 3, pendingBytes: 6000 });
      await assert.rejects(ledger.append(message("x".repeat(2000))), hasCode("too_large"));
      await assert.rejects(
        ledger.appendAll(Array.from({ length: 4 }, () => message("y"))),
        hasCode("too_large"),
      );
      await assert.rejects(
        ledger.appendAll(Array.from({ length: 3 }, () => message("y".repeat(1500)))),
        hasCode("too_large"),
      );
      const many = await Promise.allSettled(
        Array.from({ length: 10 }, (_, at) => ledger.append(message(`${at} ${"z".repeat(1000)}`))),
      );
      assert.ok(many.some((one) => one.status === "rejected" && hasCode("overloaded")(one.reason)));
      assert.equal(ledger.count, many.filter((one) => one.status === "fulfilled").length);
      const waiting = ledger.append(message("still taken"));
      await Promise.all([ledger.close(), waiting]);
      await assert.rejects(ledger.append(message("late")), hasCode("shutting_down"));
    });

    it("keeps text of every kind unharmed", async () => {
      const odd = ['quotes " and \\ back', "line\nfeed\r\u0000", "ünï ✓ 😀 \ud800", '"},"text":"', "\u2028"];
      let ledger = await open();
      for (const text of odd) await ledger.append(message(text, { client_id: text, sender_title: text }));
      for (let round = 0; round < 2; round += 1) {
        assert.deepEqual(
          texts(ledger),
          odd.map((text) => JSON.parse(JSON.stringify(text)) as string),
        );
        for (const [at, text] of odd.entries())
          if (text.isWellFormed()) assert.equal(ledger.byKey(`user\n${text}`), at);
        await ledger.close();
        for (const name of names(/\.bin$/)) fs.rmSync(join(directory, name));
        ledger = await open();
      }
    });
  });

  describe("the end of the active file", () => {
    const torn: [string, string][] = [
      ["a line without its line feed", '{"v":1,"id":"'],
      [
        "half a line with blanks where its rest was",
        '{"v":1,"id":"0123456789abcdef0123456789abcdef","ts":"\n\n\n","data":{}}\n',
      ],
      ["a line that isn't JSON", "what is this}}\n"],
      ["a blank line and something complete behind it", "BLANK"],
      ["zeros where space was allocated", "\0\0\0\0\0\0"],
    ];
    for (const [what, rest] of torn) {
      it(`is before ${what}; a copy is kept and the next append follows the end`, async () => {
        let ledger = await open();
        await ledger.append(message("kept"));
        await ledger.close();
        const line = `${activeText().split("\n")[0]!}\n`;
        leaveBehind(line, rest === "BLANK" ? `\n${line}` : rest);
        ledger = await open();
        assert.deepEqual(texts(ledger), ["kept"]);
        const copies = names(/^torn-/);
        assert.equal(copies.length, 1);
        assert.equal(
          fs.readFileSync(join(directory, copies[0]!), "utf8"),
          rest === "BLANK" ? `\n${line}` : rest,
        );
        assert.equal(fs.statSync(join(directory, copies[0]!)).mode & 0o777, 0o600);
        await ledger.append(message("next"));
        await ledger.close();
        ledger = await open();
        assert.deepEqual(texts(ledger), ["kept", "next"]);
        assert.deepEqual((await ledger.verify()).problems, []);
        assert.equal(names(/^torn-/).length, 1);
      });
    }

    it("is found when a line of our layout is broken behind its head", async () => {
      let ledger = await open();
      for (const text of ["one", "two"]) await ledger.append(message(text));
      await ledger.close();
      for (const name of names(/\.bin$/)) fs.rmSync(join(directory, name));
      leaveBehind(activeText().replace('"text":"two"', '"text":"two'), "");
      ledger = await open();
      assert.deepEqual(texts(ledger), ["one"]);
    });
  });

  describe("segments", () => {
    it("seals into plain JSON lines listed in the manifest, reads across them, and keeps keys over all of them", async () => {
      let ledger = await open();
      assert.deepEqual(await ledger.compact(), { sealed: null });
      for (let segment = 0; segment < 3; segment += 1) {
        await ledger.append(message(`a${segment}`, { client_id: `a${segment}` }));
        await ledger.append(message(`b${segment}`));
        const { sealed } = await ledger.compact();
        assert.deepEqual([sealed?.number, sealed?.events], [segment + 1, 2]);
      }
      await ledger.append(message("active"));
      assert.deepEqual(
        names(/^segment/),
        [1, 2, 3].map((number) => `segment-00000${number}.jsonl`),
      );
      assert.match(fs.readFileSync(join(directory, "segment-000002.jsonl"), "utf8"), /^(\{[^\n]+\}\n){2}$/);
      const expected = ["a0", "b0", "a1", "b1", "a2", "b2", "active"];
      for (let round = 0; round < 2; round += 1) {
        assert.deepEqual(texts(ledger), expected);
        assert.equal(ledger.byKey("user\na1"), 2);
        assert.equal(tally.seen.length, 7);
        assert.deepEqual(await ledger.verify(), { events: 7, segments: 4, problems: [] });
        await ledger.close();
        ledger = await open();
      }
    });

    it("seals by itself when the active file is large", async () => {
      const ledger = await open({ segmentBytes: 2000 });
      for (let at = 0; at < 20; at += 1) await ledger.append(message(`${at} ${"x".repeat(300)}`));
      assert.ok(names(/^segment/).length >= 3);
      assert.equal(texts(ledger).length, 20);
    });

    it("adopts a segment that the manifest misses", async () => {
      let ledger = await open();
      await ledger.append(message("one"));
      await ledger.compact();
      await ledger.append(message("two"));
      await ledger.compact();
      await ledger.close();
      const manifest = join(directory, "manifest.json");
      const value = JSON.parse(fs.readFileSync(manifest, "utf8")) as { segments: unknown[] };
      for (const segments of [value.segments.slice(0, 1), []]) {
        fs.writeFileSync(manifest, JSON.stringify({ ...value, segments }));
        ledger = await open();
        assert.deepEqual(texts(ledger), ["one", "two"]);
        await ledger.close();
        assert.equal((JSON.parse(fs.readFileSync(manifest, "utf8")) as typeof value).segments.length, 2);
      }
    });

    const broken: [string, () => void][] = [
      [
        "two segments bear one number",
        () =>
          fs.copyFileSync(
            join(directory, "segment-000001.jsonl"),
            join(directory, "segment-000001-copy.jsonl"),
          ),
      ],
      [
        "two spellings of one number",
        () => fs.copyFileSync(join(directory, "segment-000001.jsonl"), join(directory, "segment-1.jsonl")),
      ],
      ["a listed segment is missing", () => fs.rmSync(join(directory, "segment-000001.jsonl"))],
      [
        "a segment is shorter than listed",
        () => fs.truncateSync(join(directory, "segment-000001.jsonl"), 10),
      ],
      [
        "a segment is longer than listed",
        () => fs.appendFileSync(join(directory, "segment-000001.jsonl"), "{}\n"),
      ],
      ["a number between is missing", () => fs.writeFileSync(join(directory, "segment-000003.jsonl"), "")],
      ["the manifest is unreadable", () => fs.writeFileSync(join(directory, "manifest.json"), "{")],
      [
        "the manifest is newer",
        () => fs.writeFileSync(join(directory, "manifest.json"), '{"v":2,"segments":[]}'),
      ],
    ];
    for (const [what, breakIt] of broken) {
      it(`refuses with ledger_corrupt and changes nothing when ${what}`, async () => {
        const ledger = await open();
        await ledger.append(message("one"));
        await ledger.compact();
        await ledger.close();
        breakIt();
        const before = names(/./).map((name) => [name, fs.readFileSync(join(directory, name), "utf8")]);
        await assert.rejects(open(), hasCode("ledger_corrupt"));
        assert.deepEqual(
          names(/./).map((name) => [name, fs.readFileSync(join(directory, name), "utf8")]),
          before,
        );
      });
    }
  });

  describe("index files and checkpoint", () => {
    async function two(): Promise<void> {
      const ledger = await open();
      const first = await ledger.append(message("one", { client_id: "1" }));
      await ledger.append(message("two", { reply_to: first.event.id }));
      await ledger.compact();
      await ledger.append(message("three", { reply_to: first.event.id }));
      await ledger.close();
    }
    const spoils: [string, (bytes: Buffer) => Buffer | null][] = [
      ["missing", () => null],
      ["empty", () => Buffer.alloc(0)],
      ["cut short", (bytes) => bytes.subarray(0, bytes.length - 3)],
      ["longer", (bytes) => Buffer.concat([bytes, Buffer.from("x")])],
      ["of another version", (bytes) => Buffer.from(bytes).fill("0", 0, 8)],
      [
        "damaged in the middle",
        (bytes) => Buffer.from(bytes).fill(bytes[bytes.length - 5]! ^ 1, bytes.length - 5, bytes.length - 4),
      ],
    ];
    for (const file of ["index-000001.bin", "index-000002.bin", "checkpoint.bin"]) {
      for (const [what, spoil] of spoils) {
        it(`gives the same ledger when ${file} is ${what}`, async () => {
          await two();
          const path = join(directory, file);
          const bytes = spoil(fs.readFileSync(path));
          fs.rmSync(path);
          if (bytes !== null) fs.writeFileSync(path, bytes);
          const ledger = await open();
          assert.deepEqual(texts(ledger), ["one", "two", "three"]);
          assert.deepEqual(ledger.related(0), [1, 2]);
          assert.equal(ledger.byKey("user\n1"), 0);
          assert.equal(tally.seen.length, 3);
          assert.deepEqual((await ledger.verify()).problems, []);
        });
      }
    }

    it("throws an index and a checkpoint of another history away", async () => {
      await two();
      const foreign = directory;
      directory = join(root, "other");
      await two();
      for (const name of ["index-000001.bin", "index-000002.bin", "checkpoint.bin"])
        fs.copyFileSync(join(foreign, name), join(directory, name));
      const ledger = await open();
      assert.deepEqual((await ledger.verify()).problems, []);
      assert.deepEqual(
        all(ledger).map((event) => ledger.ordinalOf(event.id)),
        [0, 1, 2],
      );
    });

    it("replays only what follows a checkpoint, and everything for a projection of a new version", async () => {
      await two();
      const applied: number[] = [];
      class Watching extends Tally {
        override apply(...[event, ordinal]: Parameters<Tally["apply"]>): void {
          applied.push(ordinal);
          super.apply(event, ordinal);
        }
      }
      const deps = { files: new RealFiles(), clock: new RealClock(), random: new RealRandom() };
      const options = { group_id: GROUP, keyOf };
      const same = await Ledger.open(deps, directory, { ...options, projections: [new Watching()] });
      await same.append(message("four"));
      assert.deepEqual(applied.splice(0), [3]);
      await same.close();
      class Newer extends Watching {
        override readonly version = 2;
      }
      const newer = await Ledger.open(deps, directory, { ...options, projections: [new Newer()] });
      assert.deepEqual(applied, [0, 1, 2, 3]);
      await newer.close();
    });

    it("writes the index of a sealed segment anew when it was lost", async () => {
      await two();
      fs.rmSync(join(directory, "index-000001.bin"));
      const ledger = await open();
      await ledger.compact();
      assert.ok(names(/^index-000001/).length === 1);
    });
  });

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
      await ledger.appendAll(kinds.map((kind) => ({ kind, scope_key: "", by: "system", data: {} })));
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
        found.unshift(...page.events.map((event) => String(event.data["text"])));
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
        ledger.append({ kind, scope_key: "", by: "system", data });
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
          assert.equal(tally.seen.length > ordinal, true);
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
      tally.seen.pop();
      assert.match((await ledger.verify()).problems.join(" "), /projection tally differs/);
      await ledger.compact();
      const path = join(directory, "segment-000001.jsonl");
      fs.writeFileSync(path, fs.readFileSync(path, "utf8").replace('"text":"two"', '"text": two '));
      assert.match((await ledger.verify()).problems.join(" "), /Segment 1 has a line/);
    });
  });
});
