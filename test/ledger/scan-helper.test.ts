import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { threadFile } from "../../daemon/assembly/installation.ts";
import { type ScanJob, scanParts } from "../../daemon/ledger/index/scan-thread.ts";
import { Ledger } from "../../daemon/ledger/ledger.ts";
import type { NewEvent, Projection } from "../../daemon/ledger/types.ts";
import { keyOf, messageKey } from "../../daemon/messaging/messages/message-keys.ts";
import { RealClock } from "../../platform/real-clock.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { RealThreads } from "../../platform/real-threads.ts";
import type { ThreadEvents, Threads } from "../../platform/threads.ts";
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

describe("a history that lost its index files, opened by two threads", () => {
  const files = new RealFiles();
  let directory: string;
  let ids: string[];
  let expected: Said;

  function open(threads?: Threads, projections: Projection[] = []): Promise<Ledger> {
    const deps = { files, clock: new RealClock(), random: new RealRandom(), threads };
    const limits = { segmentBytes: 256 * 1024, threadBytes: 1, partBytes: 64 * 1024 };
    return Ledger.open(deps, directory, { group_id: GROUP, projections, keyOf, limits });
  }

  function event(at: number): NewEvent {
    const id = ids[at]!;
    if (at % 3 === 0) {
      const source_event_id = ids[at < 12 ? at : at - 9];
      const data = { actor_id: "a", source_event_id, delivery_id: `d${at}`, state: "claimed" };
      return { id, kind: "runtime.delivery", scope_key: "", by: "system", data };
    }
    const reply_to = at % 7 === 0 ? ids[Math.max(0, at - FAR)]! : undefined;
    const client_id = at % 2 === 0 ? `c${at}` : undefined;
    const more = { ...(reply_to && { reply_to }), ...(client_id && { client_id }) };
    const key = client_id === undefined ? {} : { key: messageKey({ by: "user" }, client_id) };
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

  async function opensAlike(threads: Threads): Promise<void> {
    const ledger = await open(threads);
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

  it("knows what the one that wrote it knew, whoever read a segment", async () => {
    const file = threadFile("scan");
    assert.ok(file !== undefined, "dist has no scan.cjs: node esbuild.mjs node");
    const threads = new RealThreads(() => file);
    let fromThread = 0;
    await opensAlike({
      start(program, events) {
        const message = (value: unknown): void => {
          fromThread += 1;
          events.message(value);
        };
        const thread = threads.start(program, { ...events, message });
        if (thread === null) return null;
        const post = (job: unknown): void => {
          thread.post(job);
          // The opening thread begins when the other one has.
          const { taken } = job as ScanJob;
          const until = performance.now() + 60_000;
          while (Atomics.load(taken, taken.length - 1) === 0 && performance.now() < until);
        };
        return { ...thread, post };
      },
    });
    assert.ok(fromThread > 0);
  });

  /** Another thread as `run` has it; it has done everything before the opening one begins. */
  function threadThat(run: (job: ScanJob, events: ThreadEvents) => void): Threads {
    return {
      start: (_program, events) => ({ post: (job) => run(job as ScanJob, events), stop: () => undefined }),
    };
  }

  /** As a crash leaves it: a projection's state of an earlier moment, which lies in the middle of a part. */
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

  const scanned =
    (tells: (place: number) => boolean) =>
    (job: ScanJob, events: ThreadEvents): void => {
      scanParts(files, keyOf, job, (part) => {
        if (tells(part.place)) events.message(structuredClone(part));
      });
      events.ended();
    };

  it("reads itself what a thread took and never told of", async () => {
    await opensAlike(threadThat(scanned(() => true)));
    await opensAlike(threadThat(scanned((place) => place % 2 === 0)));
    await opensAlike(threadThat((_job, events) => events.ended()));
    await opensAlike(threadThat((job, events) => scanned(() => true)({ ...job, format: 1 as 2 }, events)));
  });

  it("shows a projection what came after its checkpoint, each event once, whoever read it", async () => {
    const applied: number[] = [];
    class Watching extends Tally {
      override apply(...[event, ordinal]: Parameters<Tally["apply"]>): void {
        applied.push(ordinal);
        super.apply(event, ordinal);
      }
    }
    const { count, checkpoint } = await earlyCheckpoint();
    for (const tells of [() => true, (place: number) => place % 2 === 0, () => false]) {
      for (const name of fs.readdirSync(directory))
        if (name.endsWith(".bin")) fs.rmSync(join(directory, name));
      fs.writeFileSync(join(directory, "checkpoint.bin"), checkpoint);
      applied.length = 0;
      const tally = new Watching();
      await (await open(threadThat(scanned(tells)), [tally])).close();
      const wanted = Array.from({ length: EVENTS - count }, (_, at) => count + at);
      assert.deepEqual(
        applied,
        wanted.filter((ordinal) => ordinal % 3 !== 0),
      );
      assert.equal(tally.seen.length, EVENTS - EVENTS / 3);
    }
  });

  it("mixes segments with and without index files", async () => {
    await (await open()).close();
    for (const number of [2, 3, 6]) fs.rmSync(join(directory, `index-00000${number}.bin`));
    fs.writeFileSync(join(directory, "index-000005.bin"), "spoilt");
    await opensAlike(threadThat(scanned(() => true)));
  });

  it("says which segment has a line that isn't an event, as one thread does", async () => {
    const path = join(directory, "segment-000004.jsonl");
    const whole = fs.readFileSync(path);
    const spoilt = Buffer.from(whole);
    spoilt.write("x", spoilt.indexOf("\n") + 1);
    fs.writeFileSync(path, spoilt);
    try {
      const refused = { code: "ledger_corrupt" };
      await assert.rejects(open(threadThat(scanned(() => true))), refused);
      await assert.rejects(open(), refused);
    } finally {
      fs.writeFileSync(path, whole);
    }
    await opensAlike(threadThat(scanned(() => true)));
  });

  it("asks no thread for little, or when there is none", async () => {
    let asked = 0;
    const none: Threads = {
      start() {
        asked += 1;
        return null;
      },
    };
    await opensAlike(none);
    assert.equal(asked, 1);
    // All index files are there now.
    await opensAlike(none);
    assert.equal(asked, 1);
  });
});
