import assert from "node:assert/strict";
import * as fc from "fast-check";
import { hashKey } from "../../daemon/ledger/format/key-hash.ts";
import { decodeLine } from "../../daemon/ledger/format/line.ts";
import { encodeLine } from "../../daemon/ledger/format/line-encoding.ts";
import { LineHead } from "../../daemon/ledger/format/line-head.ts";
import type { Ledger } from "../../daemon/ledger/ledger.ts";
import { ParsedHead } from "../../daemon/ledger/parsed-head.ts";
import { SimulatedFiles } from "../simulation/files.ts";
import { odd } from "../support/events.ts";
import { GROUP, message, setting, texts } from "./setting.ts";

const hex = (length: number) =>
  fc.string({ unit: fc.constantFrom(..."0123456789abcdef".split("")), minLength: length, maxLength: length });
const anyText = fc.string({ unit: "grapheme", maxLength: 20 });
const memberName = fc
  .oneof(fc.constantFrom("text", "reply_to", "client_id", "to", "source_event_id", 'a"b', "", "7"), anyText)
  .filter((name) => name !== "__proto__");
const events = fc
  .record({
    v: fc.constant(1 as const),
    id: hex(32),
    ts: fc
      .date({ min: new Date(0), max: new Date("9999-01-01"), noInvalidDate: true })
      .map((date) => date.toISOString()),
    kind: fc.oneof(fc.constantFrom("chat.message", "runtime.delivery"), anyText),
    group_id: fc.constant(GROUP),
    scope_key: anyText,
    by: anyText,
    data: fc.dictionary(memberName, fc.jsonValue()),
  })
  .map(odd);

describe("The line codec", () => {
  it("gives back every event, on one line", () => {
    fc.assert(
      fc.property(events, (event) => {
        const line = encodeLine(event);
        assert.ok(!line.includes("\n"));
        assert.deepEqual(decodeLine(line), JSON.parse(JSON.stringify(event)));
      }),
    );
  });

  it("reads from the raw line what a parse would give, or says that it can't", () => {
    const head = new LineHead(GROUP);
    let placed = 0;
    fc.assert(
      fc.property(events, fc.nat(40), (event, offset) => {
        const line = Buffer.from(`${" ".repeat(offset)}${encodeLine(event)}\n`);
        if (!head.place(line, offset, line.length - 1)) return;
        placed += 1;
        const parsed = new ParsedHead(decodeLine(line.toString("utf8"))!);
        for (const member of ["id", "ts", "kind", "scope_key", "by"] as const)
          assert.equal(head[member], parsed[member]);
        const known = Object.keys(head.data);
        if (event.kind !== "chat.message") assert.deepEqual(head.data, parsed.data);
        for (const name of known) {
          assert.deepEqual(head.data[name], parsed.data[name]);
          assert.equal(head.string(name), parsed.string(name));
        }
        assert.equal(head.string("nowhere to be found"), undefined);
      }),
      { numRuns: 1000 },
    );
    assert.ok(placed > 300, `${placed} lines were of our layout`);
  });

  it("never takes the beginning of a line for an event", () => {
    fc.assert(
      fc.property(events, fc.nat(), (event, cut) => {
        const line = encodeLine(event);
        assert.equal(decodeLine(line.slice(0, cut % line.length)), null);
      }),
    );
  });
});

type Step = { append: number } | { together: number } | { atomic: number } | "compact" | "reopen" | "crash";

describe("Ledger against a list", () => {
  it("holds the same after any sequence of appends, sealings, reopenings and crashes", async () => {
    const step: fc.Arbitrary<Step> = fc.oneof(
      { arbitrary: fc.record({ append: fc.integer({ min: 0, max: 900 }) }), weight: 4 },
      fc.record({ together: fc.integer({ min: 1, max: 6 }) }),
      fc.record({ atomic: fc.integer({ min: 1, max: 4 }) }),
      fc.constantFrom("compact" as const, "reopen" as const, "crash" as const),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        let files = new SimulatedFiles();
        let { open, ...made } = setting(files, "/ledger", { extendBytes: 1024, segmentBytes: 2500 });
        let ledger = await open();
        const model: string[] = [];
        const next = (pad = 0): string => `${model.length} ${"x".repeat(pad)}`;
        const add = async (pad: number): Promise<void> => {
          const text = next(pad);
          model.push(text);
          await ledger.append(message(text, { client_id: text }));
        };
        for (const one of steps) {
          if (one === "compact") await ledger.compact();
          else if (one === "reopen" || one === "crash") {
            if (one === "reopen") await ledger.close();
            // Only what is surely on disk survives.
            if (one === "crash") files = new SimulatedFiles(files.crashStates()[0]);
            ({ open, ...made } = setting(
              files,
              "/ledger",
              { extendBytes: 1024, segmentBytes: 2500 },
              made.deps.random,
            ));
            ledger = await open();
          } else if ("append" in one) await add(one.append);
          else if ("together" in one) await Promise.all(Array.from({ length: one.together }, () => add(10)));
          else {
            const batch = Array.from({ length: one.atomic }, (_, at) => `${model.length} ${at}`);
            model.push(...batch);
            await ledger.appendAll(batch.map((text) => message(text)));
          }
        }
        await agree(ledger, model);
        await ledger.close();
      }),
      { numRuns: 60 },
    );
  });
});

async function agree(ledger: Ledger, model: string[]): Promise<void> {
  assert.deepEqual(texts(ledger), model);
  for (const [ordinal, text] of model.entries()) {
    assert.equal(ledger.ordinalOf(ledger.read(ordinal).id), ordinal);
    const key = ledger.byKey(`user\n${text}`);
    assert.ok(key === undefined || key === ordinal);
  }
  assert.deepEqual((await ledger.verify()).problems, []);
}

describe("The hash of keys", () => {
  it("stays what index files keep", () => {
    const words = new Uint32Array(2);
    for (const [key, high, low] of [
      ["", 0xe1f5d39d, 0x9b6016ba],
      ["a", 0xc9979953, 0x339cc65b],
      ["m/user//c1", 0x82a0aaa3, 0xb80fcec1],
      ["m/user//c12", 0x675a51d1, 0xe37f61e7],
      ["d/é\n𝄞", 0x4966cea3, 0x4327b33a],
    ] as const) {
      hashKey(key, words);
      assert.deepEqual([...words], [high, low], JSON.stringify(key));
    }
  });
});
