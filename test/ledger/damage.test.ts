/** Histories that lost something: what opens for reading only, and what a person may decide. */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { Ledger } from "../../daemon/ledger/ledger.ts";
import { RealClock } from "../../platform/real-clock.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { Refusal } from "../../shared/errors.ts";
import { hasCode, useLedger } from "./on-disk.ts";
import { GROUP, keyOf, message, Tally, texts } from "./setting.ts";

const SEALED = 40;
const EVENTS = 100;

describe("A damaged ledger", () => {
  const { directory, names, open } = useLedger();
  const at = (name: string) => join(directory, name);
  const active = () => at("active.jsonl");
  const segment = () => at("segment-000001.jsonl");

  /** Texts t0 to t99, the first forty of them sealed, closed as a daemon does it. */
  async function filled(): Promise<void> {
    const ledger = await open();
    for (let number = 0; number < EVENTS; number += 1) {
      await ledger.append(message(`t${number} ${"x".repeat(200)}`));
      if (number + 1 === SEALED) await ledger.compact();
    }
    await ledger.close();
  }

  function deps() {
    return { files: new RealFiles(), clock: new RealClock(), random: new RealRandom() };
  }

  function options() {
    return { group_id: GROUP, projections: [new Tally()], keyOf, isRecorded: true };
  }

  async function refusal(): Promise<Refusal> {
    try {
      const ledger = await Ledger.open(deps(), directory, options());
      await ledger.close();
    } catch (error) {
      if (error instanceof Refusal) return error;
      throw error;
    }
    return assert.fail("it opened as if nothing were wrong");
  }

  function picture(): Map<string, string> {
    return new Map(
      names(/./)
        .filter((name) => fs.lstatSync(at(name)).isFile())
        .map((name) => [name, fs.readFileSync(at(name), "latin1")]),
    );
  }

  function change(path: string, how: (bytes: Buffer) => Buffer): void {
    fs.writeFileSync(path, how(fs.readFileSync(path)));
  }

  function lines(path: string): string[] {
    return fs.readFileSync(path, "utf8").split("\n").filter(Boolean);
  }

  function withoutSidecars(): void {
    for (const name of names(/\.bin$/)) fs.rmSync(at(name));
  }

  const bare = (ledger: Ledger) => texts(ledger).map((text) => text.split(" ")[0]!);
  const numbered = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, step) => `t${from + step}`);

  /** What is left afterwards. */
  const kinds: [string, () => void, string[]][] = [
    ["the active file is emptied", () => fs.truncateSync(active(), 0), numbered(0, SEALED)],
    ["the active file is deleted", () => fs.rmSync(active()), numbered(0, SEALED)],
    [
      "the active file is zeroed at its front",
      () => change(active(), (bytes) => bytes.fill(0, 0, 512)),
      [...numbered(0, SEALED), ...numbered(SEALED + 2, EVENTS)],
    ],
    [
      "the active file is zeroed whole",
      () => change(active(), (bytes) => bytes.fill(0)),
      numbered(0, SEALED),
    ],
    [
      "the active file is cut in the middle of a line",
      () => fs.truncateSync(active(), fs.readFileSync(active()).indexOf('"text":"t50 ')),
      numbered(0, 50),
    ],
    [
      "the active file is cut behind a line",
      () =>
        change(active(), (bytes) =>
          bytes.subarray(0, bytes.indexOf("\n", bytes.indexOf('"text":"t50 ')) + 1),
        ),
      numbered(0, 51),
    ],
    [
      "a line of the active file is removed",
      () => fs.writeFileSync(active(), `${lines(active()).toSpliced(10, 1).join("\n")}\n`),
      [...numbered(0, SEALED + 10), ...numbered(SEALED + 11, EVENTS)],
    ],
    [
      "a line of the active file is there twice",
      () =>
        fs.writeFileSync(
          active(),
          `${lines(active())
            .flatMap((line, row) => (row === 3 ? [line, line] : [line]))
            .join("\n")}\n`,
        ),
      numbered(0, EVENTS),
    ],
    [
      "the active file is an older copy",
      () => fs.writeFileSync(active(), `${lines(active()).slice(0, 20).join("\n")}\n`),
      numbered(0, SEALED + 20),
    ],
    [
      "the active file is another Group's",
      () => change(active(), (bytes) => Buffer.from(bytes.toString().replaceAll(GROUP, "g_ffffffffffff"))),
      numbered(0, SEALED),
    ],
    [
      "the active file is a directory",
      () => {
        fs.rmSync(active());
        fs.mkdirSync(active());
      },
      numbered(0, SEALED),
    ],
    [
      "the active file is a link to nothing",
      () => {
        fs.rmSync(active());
        fs.symlinkSync("/nowhere", active());
      },
      numbered(0, SEALED),
    ],
    ["a sealed segment is deleted", () => fs.rmSync(segment()), numbered(SEALED, EVENTS)],
    [
      "a sealed segment is deleted and the manifest too",
      () => {
        fs.rmSync(segment());
        fs.rmSync(at("manifest.json"));
      },
      numbered(SEALED, EVENTS),
    ],
    ["a sealed segment is emptied", () => fs.truncateSync(segment(), 0), numbered(SEALED, EVENTS)],
    [
      "a sealed segment is cut",
      () => fs.truncateSync(segment(), fs.readFileSync(segment()).indexOf('"text":"t20 ')),
      [...numbered(0, 20), ...numbered(SEALED, EVENTS)],
    ],
    [
      "a sealed segment has something behind its end",
      () => fs.appendFileSync(segment(), "{}\n"),
      numbered(0, EVENTS),
    ],
    ["the manifest is damaged", () => fs.writeFileSync(at("manifest.json"), "{"), numbered(0, EVENTS)],
    [
      "everything but the manifest is deleted",
      () => {
        for (const name of names(/^(?!manifest)/)) fs.rmSync(at(name));
      },
      [],
    ],
    [
      "everything is deleted",
      () => {
        for (const name of names(/./)) fs.rmSync(at(name));
      },
      [],
    ],
    [
      "one byte is bad long before the end, and no file beside it can tell",
      () => {
        withoutSidecars();
        change(active(), (bytes) => {
          bytes[bytes.indexOf('"text":"t45 ')] = 0;
          return bytes;
        });
      },
      [...numbered(0, 45), ...numbered(46, EVENTS)],
    ],
    [
      "lines in the middle are blank, and no file beside it can tell",
      () => {
        withoutSidecars();
        change(active(), (bytes) =>
          bytes.fill("\n", bytes.indexOf('"text":"t45 '), bytes.indexOf('"text":"t47 ')),
        );
      },
      [...numbered(0, 45), ...numbered(48, EVENTS)],
    ],
    [
      "a sealed line is bad, and no file beside it can tell",
      () => {
        withoutSidecars();
        change(segment(), (bytes) => bytes.fill("?", 0, 1));
      },
      numbered(1, EVENTS),
    ],
  ];

  for (const [what, damage, left] of kinds) {
    it(`is opened for reading when ${what}, changes nothing, and goes on when a person says so`, async () => {
      await filled();
      damage();
      const before = picture();
      const refused = await refusal();
      assert.equal(refused.code, "ledger_corrupt");
      const reading = Ledger.openDamaged(deps(), directory, options(), refused);
      assert.deepEqual(bare(reading), left);
      assert.ok(reading.damage !== null && reading.damage.problems.length > 0);
      if (left.length < EVENTS) assert.ok(reading.damage.missing_events > 0, JSON.stringify(reading.damage));
      await assert.rejects(reading.append(message("more")), hasCode("ledger_damaged"));
      await assert.rejects(reading.compact(), hasCode("ledger_damaged"));
      const { problems } = await reading.verify();
      assert.ok(problems.includes(reading.damage.problems[0]!), problems.join(" "));
      await reading.close();
      assert.deepEqual(picture(), before);
      // The next start finds it too.
      await reading.noteDamage();
      assert.equal((await refusal()).code, "ledger_corrupt");

      assert.equal(await Ledger.decideToContinue(deps(), directory, options(), "user"), true);
      for (let round = 0; round < 2; round += 1) {
        const ledger = await Ledger.open(deps(), directory, options());
        assert.deepEqual(bare(ledger).slice(0, left.length), left);
        if (round === 0) {
          assert.equal(ledger.decision?.by, "user");
          await ledger.forgetDecision();
          await ledger.append(message("next"));
        }
        assert.equal(ledger.count, left.length + 1);
        assert.deepEqual((await ledger.verify()).problems, []);
        assert.equal(ledger.decision, null);
        await ledger.close();
      }
      for (const [name, bytes] of before) {
        if (!name.endsWith(".jsonl")) continue;
        const files = names(/\.jsonl$/).filter((other) => fs.lstatSync(at(other)).isFile());
        const kept = files.map((other) => fs.readFileSync(at(other), "latin1"));
        const text = bytes.replace(/\n+$/, "");
        assert.ok(
          kept.some((other) => other.startsWith(text)),
          `the bytes of ${name} are gone`,
        );
      }
    });
  }

  it("names the missing events by their places", async () => {
    await filled();
    fs.writeFileSync(active(), `${lines(active()).toSpliced(10, 2).join("\n")}\n`);
    const reading = Ledger.openDamaged(deps(), directory, options(), await refusal());
    assert.deepEqual(reading.damage?.missing, [{ first: SEALED + 10, last: SEALED + 11 }]);
    assert.equal(reading.damage.missing_events, 2);
    assert.deepEqual(reading.damage.files, ["active.jsonl"]);
    await reading.close();
  });

  it("is used again once its files were put back", async () => {
    await filled();
    const whole = fs.readFileSync(active());
    fs.truncateSync(active(), 0);
    const reading = Ledger.openDamaged(deps(), directory, options(), await refusal());
    await reading.noteDamage();
    await reading.close();
    fs.writeFileSync(active(), whole.subarray(0, whole.indexOf("\n") + 1));
    assert.equal((await refusal()).code, "ledger_corrupt");
    fs.writeFileSync(active(), whole);
    const ledger = await Ledger.open(deps(), directory, options());
    assert.deepEqual(bare(ledger), numbered(0, EVENTS));
    await ledger.append(message("next"));
    await ledger.close();
    assert.deepEqual(names(/damage/), []);
  });

  it("is noticed by who reads it: the reading goes on behind the bad line, and nothing more is recorded", async () => {
    await filled();
    change(segment(), (bytes) => {
      bytes[bytes.indexOf('"text":"t20 ') + 8] = 1;
      return bytes;
    });
    const ledger = await open();
    const id = ledger.idOf(20);
    const page = ledger.page({ limit: 25, before: ledger.idOf(30) });
    assert.deepEqual(page.unreadable, [id]);
    assert.equal(page.events.length, 25);
    assert.equal(page.events[0]!.id, ledger.idOf(4));
    assert.equal(ledger.page({ limit: 5, after: ledger.idOf(18) }).events.length, 5);
    assert.throws(() => ledger.read(20), hasCode("event_unreadable"));
    await assert.rejects(ledger.append(message("more")), hasCode("ledger_damaged"));
    assert.deepEqual(ledger.damage?.missing, [{ first: 20, last: 20 }]);
    await ledger.noteDamage();
    await ledger.close();
    // The index still fits, but the note makes the next start look.
    assert.equal((await refusal()).code, "ledger_corrupt");
  });

  it("loses nothing without its disposable files", async () => {
    await filled();
    for (const name of names(/^(?!active|segment)/)) fs.rmSync(at(name));
    const ledger = await Ledger.open(deps(), directory, options());
    assert.deepEqual(bare(ledger), numbered(0, EVENTS));
    await ledger.close();
  });

  it("is told apart from a batch that a crash tore at sectors", async () => {
    const sector = 512;
    for (const lost of [[0], [1], [2], [0, 2], [1, 3], [4]]) {
      fs.rmSync(directory, { recursive: true, force: true });
      const ledger = await open();
      await ledger.append(message("kept"));
      await ledger.close();
      withoutSidecars();
      const bytes = fs.readFileSync(active());
      const end = bytes.indexOf("\n") + 1;
      const line = bytes.toString("utf8", 0, end);
      const batch = Array.from({ length: 9 }, (_, number) =>
        line.replace(/"id":"[0-9a-f]{32}"/, `"id":"${String(number).repeat(32)}"`),
      ).join("");
      bytes.write(batch, end);
      const first = Math.floor(end / sector);
      for (const index of lost)
        bytes.fill("\n", Math.max(end, (first + index) * sector), (first + index + 1) * sector);
      fs.writeFileSync(active(), bytes);
      const again = await Ledger.open(deps(), directory, options());
      assert.equal(texts(again)[0], "kept", String(lost));
      assert.equal(again.damage, null);
      await again.close();
    }
  });
});
