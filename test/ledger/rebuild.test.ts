import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ledger } from "../../daemon/ledger/ledger.ts";
import type { NewEvent, Projection } from "../../daemon/ledger/types.ts";
import { keyOf, messageKey } from "../../daemon/messaging/projection/message-keys.ts";
import { RealClock } from "../../platform/real-clock.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { oddNew } from "../support/events.ts";
import { GROUP, message, Tally } from "./setting.ts";

const EVENTS = 9000;
const BATCH = 500;
/** More than the index's memory of recent ids. */
const FAR = 5000;

/** What the index says of every event. */
interface Said {
  ids: string[];
  related: number[][];
  keyed: (number | undefined)[];
}

describe("a history that lost its index files, when it is opened", () => {
  const files = new RealFiles();
  let directory: string;
  let ids: string[];
  let expected: Said;

  function open(projections: Projection[] = []): Promise<Ledger> {
    const deps = { files, clock: new RealClock(), random: new RealRandom() };
    const limits = { segmentBytes: 256 * 1024 };
    return Ledger.open(deps, directory, { group_id: GROUP, projections, keyOf, limits });
  }

  function event(at: number): NewEvent {
    const id = ids[at]!;
    if (at % 3 === 0) {
      const sourceEventId = ids[at < 12 ? at : at - 9];
      const data = { actor_id: "a", source_event_id: sourceEventId, delivery_id: `d${at}`, state: "claimed" };
      return oddNew({ id, kind: "runtime.delivery", scope_key: "", by: "system", data });
    }
    const replyTo = at % 7 === 0 ? ids[Math.max(0, at - FAR)]! : undefined;
    const clientId = at % 2 === 0 ? `c${at}` : undefined;
    const more = { ...(replyTo && { reply_to: replyTo }), ...(clientId && { client_id: clientId }) };
    const key = clientId === undefined ? {} : { key: messageKey({ by: "user" }, clientId) };
    return { ...message(`text ${at}`, more), id, ...key };
  }

  function said(ledger: Ledger): Said {
    const ordinals = Array.from({ length: ledger.count }, (_, ordinal) => ordinal);
    return {
      ids: ledger.readMany(ordinals).map(({ id }) => id),
      related: ordinals.map((ordinal) => ledger.related(ordinal)),
      keyed: ordinals.map((ordinal) => ledger.byKey(messageKey({ by: "user" }, `c${ordinal}`))),
    };
  }

  async function opensAlike(): Promise<void> {
    const ledger = await open();
    try {
      assert.deepEqual(said(ledger), expected);
      assert.deepEqual((await ledger.verify()).problems, []);
    } finally {
      await ledger.close();
    }
  }

  before(async () => {
    directory = fs.mkdtempSync(join(tmpdir(), "svc-scan-"));
    ids = Array.from({ length: EVENTS }, () => new RealRandom().uuid().replaceAll("-", ""));
    const ledger = await open();
    for (let from = 0; from < EVENTS; from += BATCH)
      await ledger.appendAll(Array.from({ length: BATCH }, (_, at) => event(from + at)));
    await ledger.compact();
    expected = said(ledger);
    assert.ok(ledger.segments > 5);
    await ledger.close();
  });

  beforeEach(() => {
    for (const name of fs.readdirSync(directory)) if (name.endsWith(".bin")) fs.rmSync(join(directory, name));
  });

  after(() => fs.rmSync(directory, { recursive: true, force: true }));

  it("knows what the one that wrote it knew", () => opensAlike());

  /**
   * As a crash leaves it: a projection's state of an earlier moment, which lies in the middle of a
   * part.
   */
  async function earlyCheckpoint(): Promise<{ count: number; checkpoint: Buffer }> {
    const earlier = fs.mkdtempSync(join(tmpdir(), "svc-scan-"));
    const deps = { files, clock: new RealClock(), random: new RealRandom() };
    const ledger = await Ledger.open(deps, earlier, { group_id: GROUP, projections: [new Tally()], keyOf });
    const count = Math.floor(EVENTS / 3) + 7;
    await ledger.appendAll(Array.from({ length: count }, (_, at) => event(at)));
    await ledger.close();
    const checkpoint = fs.readFileSync(join(earlier, "checkpoint.bin"));
    fs.rmSync(earlier, { recursive: true });
    return { count, checkpoint };
  }

  it("shows a projection what came after its checkpoint, each event once", async () => {
    const applied: number[] = [];
    class Watching extends Tally {
      override apply(...[event, ordinal]: Parameters<Tally["apply"]>): void {
        applied.push(ordinal);
        super.apply(event, ordinal);
      }
    }
    const { count, checkpoint } = await earlyCheckpoint();
    fs.writeFileSync(join(directory, "checkpoint.bin"), checkpoint);
    const tally = new Watching();
    await (await open([tally])).close();
    const wanted = Array.from({ length: EVENTS - count }, (_, at) => count + at);
    assert.deepEqual(
      applied,
      wanted.filter((ordinal) => ordinal % 3 !== 0),
    );
    assert.equal(tally.seen.length, EVENTS - EVENTS / 3);
  });

  it("mixes segments with and without index files", async () => {
    await (await open()).close();
    for (const number of [2, 3, 6]) fs.rmSync(join(directory, `index-00000${number}.bin`));
    fs.writeFileSync(join(directory, "index-000005.bin"), "spoilt");
    await opensAlike();
  });

  it("says which segment has a line that isn't an event", async () => {
    const path = join(directory, "segment-000004.jsonl");
    const whole = fs.readFileSync(path);
    const spoilt = Buffer.from(whole);
    const position = spoilt.indexOf("\n") + 1;
    spoilt.write("x", position);
    fs.writeFileSync(path, spoilt);
    try {
      await assert.rejects(open(), { code: "ledger_corrupt", details: { number: 4, position } });
    } finally {
      fs.writeFileSync(path, whole);
    }
    await opensAlike();
  });
});
