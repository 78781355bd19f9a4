/** Sealed segments with their index files, and the checkpoint. */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { Ledger } from "../../daemon/ledger/ledger.ts";
import { RealClock } from "../../platform/real-clock.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { hasCode, useLedger } from "./on-disk.ts";
import { all, GROUP, keyOf, message, Tally, texts } from "./setting.ts";

describe("Ledger", () => {
  const { directory, names, open, tally } = useLedger();

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
        assert.equal(tally().seen.length, 7);
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
          assert.equal(tally().seen.length, 3);
          assert.deepEqual((await ledger.verify()).problems, []);
        });
      }
    }

    it("throws an index and a checkpoint of another history away", async () => {
      await two();
      const foreign = `${directory}-foreign`;
      fs.renameSync(directory, foreign);
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
});
