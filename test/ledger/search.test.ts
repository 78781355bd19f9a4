import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { Ledger } from "../../daemon/ledger/ledger.ts";
import { BlockGrams, querySlots, SLOTS } from "../../daemon/ledger/search/grams.ts";
import { AsciiFinder, folded } from "../../daemon/ledger/search/text-match.ts";
import type { SearchPage } from "../../daemon/ledger/types.ts";
import type { Timer } from "../../platform/clock.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import type { Refusal } from "../../shared/errors.ts";
import { messageOf } from "../support/events.ts";
import { GROUP, HastyClock, keyOf, message, texts, turnsDuring } from "./setting.ts";

const WORDS = "amber Basin cedar delta ember fjord grove Haven inlet jetty".split(" ");
/** About 600 bytes an event, so that a thousand of them make some twenty blocks. */
const EVENTS = 2500;

const LETTERS = 'abAB "\\'.split("");
const anyText = fc.string({
  unit: fc.constantFrom(...'abkKİıſßΣςé✓ \n"\\/'.split(""), "😀", "\ud800"),
  maxLength: 12,
});

describe("Filters of texts", () => {
  it("never exclude a text that holds the query, in whatever case", () => {
    fc.assert(
      fc.property(anyText, anyText, anyText, fc.boolean(), (before, query, after, upper) => {
        const text = folded(before + (upper ? query.toUpperCase() : query) + after);
        const wanted = folded(query);
        fc.pre(text.includes(wanted));
        const grams = new BlockGrams();
        grams.add(text);
        const rows = new Uint32Array(SLOTS * 2);
        grams.moveTo(rows, 2, 37);
        for (const slot of querySlots(wanted) ?? []) assert.equal((rows[slot * 2 + 1]! >>> 5) & 1, 1);
      }),
    );
  });

  it("exclude nearly everything else", () => {
    const grams = new BlockGrams();
    for (const word of WORDS) grams.add(folded(`${word} ${word}`));
    const rows = new Uint32Array(SLOTS);
    grams.moveTo(rows, 1, 0);
    const all = (query: string): boolean => querySlots(query)!.every((slot) => rows[slot] === 1);
    assert.ok(all("basin") && all("asi"));
    const foreign = Array.from({ length: 300 }, (_, at) => `${(at * 7919).toString(36)}zq${at.toString(36)}`);
    assert.ok(foreign.filter(all).length <= 3);
  });
});

describe("The finder of ASCII texts", () => {
  it("finds the same places as a search of the folded text", () => {
    const ascii = fc.string({ unit: fc.constantFrom(...LETTERS), minLength: 4, maxLength: 6 });
    const long = fc.string({ unit: fc.constantFrom(...LETTERS), maxLength: 200 });
    fc.assert(
      fc.property(ascii, long, fc.nat(220), (query, text, from) => {
        const finder = AsciiFinder.of(folded(query))!;
        assert.equal(finder.lastIn(Buffer.from(text), from), folded(text).lastIndexOf(folded(query), from));
      }),
    );
  });
});

describe("Search", () => {
  let root: string;
  let ledger: Ledger;
  const open = (limits = {}): Promise<Ledger> => {
    const deps = { files: new RealFiles(), clock: new HastyClock(), random: new RealRandom() };
    return Ledger.open(deps, root, { group_id: GROUP, projections: [], keyOf, limits });
  };
  const filters = (): string[] => fs.readdirSync(root).filter((name) => name.startsWith("filter-"));

  /** Every text that holds the query, over all pages. */
  async function found(query: string, limit = 50): Promise<string[]> {
    const all: string[] = [];
    let before: string | undefined;
    for (;;) {
      const page: SearchPage = await ledger.search({ query, limit, before });
      all.unshift(...page.events.map((event) => messageOf(event).text));
      if (page.before === null) return all;
      before = page.before;
    }
  }

  beforeEach(async () => {
    root = fs.mkdtempSync(join(tmpdir(), "svc-search-"));
    ledger = await open({ searchFilterBytes: 1, segmentBytes: 512 * 1024 });
  });
  afterEach(async () => {
    await ledger.close();
    fs.rmSync(root, { recursive: true, force: true });
  });

  async function fill(from: number, to: number): Promise<void> {
    for (let start = from; start < to; start += 100) {
      const batch = Array.from({ length: Math.min(100, to - start) }, (_, at) => {
        const number = start + at;
        let text = `event ${number}`;
        if (number % 700 === 3) text += " Größe des Kelvinzeichens \u212a";
        if (number % 900 === 5) text += ' Zeppelin "over" C:\\temp';
        for (let word = number; text.length < 400; word += 3) text += ` ${WORDS[word % WORDS.length]!}`;
        return message(text);
      });
      await ledger.appendAll(batch);
    }
  }

  it("gives the same with filters, without them, and with ones that are lost or spoilt", async () => {
    await fill(0, EVENTS);
    const everything = texts(ledger);
    const queries = [
      'zeppelin "OVER" c:\\TEMP',
      "größe",
      "zeichens k",
      "event 77",
      "HAVEN",
      "no such text",
      "zq",
      "Σ",
    ];
    const agree = async (): Promise<void> => {
      for (const query of queries) {
        const expected = everything.filter((text) => folded(text).includes(folded(query)));
        assert.deepEqual(await found(query), expected, query);
      }
    };
    assert.deepEqual(filters(), []);
    await agree();
    await ledger.compact();
    assert.equal(filters().length, ledger.segments);
    await agree();
    await ledger.close();
    const [first, second, third] = filters();
    fs.rmSync(join(root, first!));
    fs.copyFileSync(join(root, second!), join(root, first!));
    fs.truncateSync(join(root, second!), 5000);
    fs.writeFileSync(join(root, third!), fs.readFileSync(join(root, third!)).fill(0, 3000));
    ledger = await open({ searchFilterBytes: 1 });
    await agree();
    await fill(EVENTS, EVENTS + 300);
    everything.push(...texts(ledger).slice(EVENTS));
    await agree();
    await agree();
    await ledger.compact();
    await agree();
  });

  it("gets filters for segments that were sealed by themselves, once no more are", async () => {
    const timers = new Set<() => void>();
    const clock = new (class extends HastyClock {
      override after(_milliseconds: number, task: () => void): Timer {
        timers.add(task);
        return { cancel: () => void timers.delete(task) };
      }
    })();
    await ledger.close();
    const deps = { files: new RealFiles(), clock, random: new RealRandom() };
    const limits = { searchFilterBytes: 1, segmentBytes: 64 * 1024 };
    ledger = await Ledger.open(deps, root, { group_id: GROUP, projections: [], keyOf, limits });
    await fill(0, 600);
    assert.ok(ledger.segments >= 3);
    assert.equal(timers.size, 1, "one timer for all of them");
    assert.deepEqual(filters(), []);
    for (const fire of timers) fire();
    while (filters().length < ledger.segments) await new Promise((done) => setImmediate(done));
    await ledger.close();
    assert.equal(filters().length, ledger.segments);
  });

  it("gets a filter for the active file too, which grows with it", async () => {
    await fill(0, 300);
    const size = (): number => fs.statSync(join(root, filters()[0]!)).size;
    const settled = async (condition: () => boolean): Promise<void> => {
      while (!condition()) {
        await found("zeppelin");
        await new Promise((done) => setImmediate(done));
      }
    };
    await settled(() => filters().length === 1);
    assert.deepEqual((await found("zeppelin")).length, 1);
    const before = size();
    await fill(300, 2000);
    await settled(() => size() > before || filters().length > 1);
    assert.equal((await found("zeppelin")).length, 3);
  });

  it("doesn't keep the event loop: others have their turn while a large history is searched", async () => {
    await fill(0, EVENTS);
    // Two letters have no filter, so that everything is read.
    const turns = await turnsDuring(() => ledger.search({ query: "zq", limit: 50 }));
    assert.ok(turns > 10, `${turns} turns`);
  });

  it("ends with shutting_down when the ledger is closed meanwhile", async () => {
    await fill(0, EVENTS);
    const results = Array.from({ length: 4 }, () =>
      ledger.search({ query: "zq", limit: 50 }).then(
        () => "done",
        (error: Refusal) => error.code,
      ),
    );
    await ledger.close();
    const outcomes = await Promise.all(results);
    assert.ok(outcomes.includes("shutting_down"));
    assert.ok(outcomes.every((outcome) => outcome === "done" || outcome === "shutting_down"));
  });
});
