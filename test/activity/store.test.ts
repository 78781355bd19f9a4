import assert from "node:assert/strict";
import { readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import type { RuntimeActivityEvent } from "../../shared/activity/event.ts";
import { Refusal } from "../../shared/errors.ts";
import { verifies } from "../requirements.ts";
import { diskError, FaultyFiles } from "../support/faulty-files.ts";
import { claude, openSetting, type Setting } from "./setting.ts";

const { start, end, pre, post, ask } = claude();

function code(expected: string): (error: unknown) => boolean {
  return (error) => error instanceof Refusal && error.code === expected;
}

describe("activity store", () => {
  let files: FaultyFiles;
  let setting: Setting;
  beforeEach(async () => {
    files = new FaultyFiles();
    setting = await openSetting(files);
    await setting.addActor("ann", "claude");
    await setting.addActor("bob", "claude");
  });
  afterEach(() => setting.close());

  const followed = (): RuntimeActivityEvent[] => {
    const told: RuntimeActivityEvent[] = [];
    setting.activity.follow(setting.group.group_id, {
      events: (events) => told.push(...events),
      gone: () => {},
    });
    return told;
  };

  it("keeps the latest revision of an activity with its start, and nothing else", async () => {
    verifies(
      "ACT-005",
      "ACT-006",
      "ACT-007",
      "ACT-008",
      "ACT-009",
      "ACT-011",
      "ACT-015",
      "ACT-018",
      "ACT-047",
    );
    const told = followed();
    const launch = setting.launches.launch(setting.group, "ann");
    for (const payload of [start(), pre("t1"), ask(), post("t1")]) {
      setting.clock.advance(1000);
      await setting.submit(launch, payload);
    }
    assert.equal(told.length, 4);
    assert.equal(new Set(told.map(({ id }) => id)).size, 4);
    assert.deepEqual(
      told.map(({ duration_ms: durationMs }) => durationMs),
      [null, null, null, 2000],
    );
    const [session, tool] = setting.stored("ann");
    assert.deepEqual(setting.stored("ann").length, 2);
    assert.deepEqual(tool, { event: told[3], started_at: "2026-01-01T00:00:02.000Z" });
    assert.deepEqual(session!.event, told[0]);
    const file = JSON.parse(readFileSync(setting.recordsPath("ann"), "utf8")) as object;
    assert.deepEqual(Object.keys(file), ["v", "generation", "records"]);
    assert.equal(statSync(setting.recordsPath("ann")).mode & 0o777, 0o600);
    const [event] = setting.snapshot();
    assert.deepEqual(Object.keys(event!), [
      "v",
      "id",
      "ts",
      "group_id",
      "actor_id",
      "runtime",
      "activity_id",
      "kind",
      "status",
      "event_type",
      "session_id",
      "turn_id",
      "operation_id",
      "tool_name",
      "duration_ms",
    ]);
    assert.match(event!.ts, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it("shows active records and what ended in the last 15 seconds; nothing is older than 5 minutes", async () => {
    verifies("ACT-002", "ACT-045", "ACT-046");
    const launch = setting.launches.launch(setting.group, "ann");
    for (const payload of [start(), pre("t1"), post("t1"), pre("t2")]) await setting.submit(launch, payload);
    const operations = (): string[] => setting.snapshot().map(({ operation_id: operationId }) => operationId);
    setting.clock.advance(14_000);
    assert.deepEqual(operations(), ["", "t1", "t2"]);
    setting.clock.advance(2000);
    assert.deepEqual(operations(), ["", "t2"]);
    assert.equal(setting.stored("ann").length, 3);
    setting.clock.advance(284_000 + 30_000);
    assert.deepEqual(operations(), []);
    await setting.activity.close();
    assert.deepEqual(setting.stored("ann"), []);
  });

  it("still knows how long a tool ran whose start has gone by age", async () => {
    const launch = setting.launches.launch(setting.group, "ann");
    for (const payload of [start(), pre("t1")]) await setting.submit(launch, payload);
    setting.clock.advance(400_000);
    await setting.submit(launch, post("t1"));
    const [event] = setting.snapshot();
    assert.deepEqual([event?.status, event?.duration_ms], ["completed", 400_000]);
  });

  it("a Group keeps 256 records: ended ones go first, then waiting ones, started ones never", async function () {
    this.timeout(120_000);
    verifies("ACT-043", "ACT-044", "HOOK-015");
    const ann = setting.launches.launch(setting.group, "ann");
    const bob = setting.launches.launch(setting.group, "bob");
    const kept = () => [...setting.stored("ann"), ...setting.stored("bob")].map(({ event }) => event);
    await setting.submit(ann, start());
    await setting.submit(bob, claude("b").start());
    for (let index = 0; index < 300; index += 1) {
      await setting.submit(ann, pre(`done${index}`));
      await setting.submit(ann, post(`done${index}`));
    }
    assert.equal(kept().length, 256);
    for (let index = 0; index < 252; index += 1) await setting.submit(bob, claude("b").pre(`b${index}`));
    await setting.submit(bob, claude("b").ask());
    await setting.submit(bob, claude("b").pre("b-last"));
    await setting.submit(bob, claude("b").pre("b-more"));
    assert.equal(kept().length, 256);
    assert.equal(kept().filter(({ status }) => status === "completed").length, 0, "what ended is gone first");
    assert.equal(kept().filter(({ status }) => status === "waiting").length, 1);
    await setting.submit(bob, claude("b").pre("b-256"));
    assert.equal(kept().filter(({ status }) => status === "waiting").length, 0, "then what waits");
    assert.equal(kept().filter(({ status }) => status === "started").length, 256);
    const before = kept();
    await assert.rejects(setting.submit(bob, claude("b").pre("b-257")), code("limit_reached"));
    await assert.rejects(setting.submit(ann, pre("a-257")), code("limit_reached"));
    assert.deepEqual(kept(), before, "all started ones are still there");
    assert.equal((await setting.submit(bob, claude("b").post("b-256"))).accepted, true, "an end fits");
    assert.equal((await setting.submit(ann, pre("a-257-again"))).accepted, true);
    assert.equal(kept().length, 256);
  });

  it("keeps the end of a turn with more tools than fit, and the next session", async function () {
    this.timeout(120_000);
    const launch = setting.launches.launch(setting.group, "ann");
    await setting.submit(launch, start());
    for (let index = 0; index < 255; index += 1) await setting.submit(launch, pre(`t${index}`));
    await assert.rejects(setting.submit(launch, pre("over")), code("limit_reached"));
    assert.equal((await setting.submit(launch, claude().stop("p"))).accepted, true);
    const kept = setting.stored("ann").map(({ event }) => event);
    assert.equal(kept.length, 256);
    assert.equal(kept.at(-1)?.event_type, "Stop");
    assert.equal(kept.filter(({ status }) => status === "started").length, 1, "the session alone");
    for (let index = 0; index < 255; index += 1) await setting.submit(launch, pre(`u${index}`));
    setting.launches.end(launch);
    await setting.activity.settled();
    const next = setting.launches.launch(setting.group, "ann");
    assert.equal((await setting.submit(next, claude("s2").start())).accepted, true);
  });

  it("applies racing events in the order of arrival: no start comes after an end", async () => {
    verifies("HOOK-012", "HOOK-013");
    const told = followed();
    const launch = setting.launches.launch(setting.group, "ann");
    await setting.submit(launch, start());
    const submitted: Promise<unknown>[] = [];
    for (let index = 0; index < 1000; index += 1) {
      submitted.push(setting.submit(launch, pre(`t${index}`)));
      submitted.push(setting.submit(launch, post(`t${index}`)));
      submitted.push(setting.submit(launch, pre(`t${index}`)));
      if (index % 20 === 19) await Promise.all(submitted.splice(0));
    }
    assert.equal(
      setting.snapshot().filter(({ kind, status }) => kind === "tool" && status === "started").length,
      0,
    );
    const last = new Map(told.map((event) => [event.activity_id, event.status]));
    assert.equal(last.size, 1001);
    assert.ok([...last].every(([id, status]) => id.includes(":session:") || status === "completed"));
    const ofAnn = (path: string): boolean => path === setting.recordsPath("ann");
    const writes = files.renames.filter(ofAnn).length + files.writes.filter(ofAnn).length;
    assert.ok(writes < 500, `${writes} writes for 2000 events: those that wait go to the disk together`);
  });

  it("a late error of the disk doesn't undo what is committed; an early one undoes state and records together", async () => {
    verifies("HOOK-014", "HOOK-012");
    const told = followed();
    const launch = setting.launches.launch(setting.group, "ann");
    // The first event writes a whole file.
    files.fail = (step, path) =>
      step === "syncDir" && path === setting.group.paths.runtimeActivity ? diskError("EIO") : null;
    await setting.submit(launch, start());
    assert.equal(setting.stored("ann").length, 1);
    assert.equal(told.length, 1);
    // The second takes a place in it; the error comes when its bytes are there.
    files.fail = (step, path) =>
      step === "written" && path === setting.recordsPath("ann") ? diskError("EIO") : null;
    assert.equal((await setting.submit(launch, pre("t1"))).accepted, true);
    assert.equal(setting.stored("ann").length, 2);
    assert.equal(told.length, 2);
    assert.equal((await setting.submit(launch, pre("t1"))).reason, "operation", "it is in the state, too");

    for (const step of ["write", "rename"] as const) {
      files.fail = (at, path) => (at === step && path.includes("ann") ? diskError("ENOSPC") : null);
      const bytes = readFileSync(setting.recordsPath("ann"));
      await setting.submit(launch, post("t1"));
      assert.equal(setting.log.lines.at(-1)?.fields["code"], "storage_full");
      assert.deepEqual(readFileSync(setting.recordsPath("ann")), bytes);
      assert.deepEqual(
        setting.snapshot().map(({ status }) => status),
        ["started", "started"],
      );
      assert.equal(told.length, 2, "nobody is told of it");
    }
    files.fail = () => null;
    assert.equal((await setting.submit(launch, post("t1"))).accepted, true, "the operation is still open");
    assert.deepEqual(
      setting.snapshot().map(({ status }) => status),
      ["started", "completed"],
    );
  });

  it("a prompt that takes up an earlier session, and that the disk refuses, doesn't shut that session out", async () => {
    const launch = setting.launches.launch(setting.group, "ann");
    const [fork, empty] = [claude("s2"), claude("s3")];
    for (const payload of [fork.start("fork"), empty.start()]) await setting.submit(launch, payload);
    files.fail = (at, path) => (at === "write" && path.includes("ann") ? diskError("ENOSPC") : null);
    await setting.submit(launch, fork.prompt("p1"));
    assert.equal(setting.log.lines.at(-1)?.fields["code"], "storage_full");
    files.fail = () => null;
    assert.equal((await setting.submit(launch, fork.pre("t1"))).reason, "session");
    assert.equal((await setting.submit(launch, fork.prompt("p2"))).accepted, true);
    assert.equal((await setting.submit(launch, fork.pre("t2"))).accepted, true);
  });

  it("a write in its place that fails half-way leaves everything as it was, and the next one heals it", async () => {
    verifies("HOOK-014");
    const launch = setting.launches.launch(setting.group, "ann");
    for (const payload of [start(), pre("t1"), pre("t2")]) await setting.submit(launch, payload);
    const path = setting.recordsPath("ann");
    const bytes = readFileSync(path);
    const failing = (isOther: boolean) => {
      files.fail = (step, at) =>
        step === "part" && (at === path || isOther) && at.includes("ann") ? diskError("EIO") : null;
    };
    failing(false);
    await setting.submit(launch, post("t1"));
    assert.equal(setting.log.lines.at(-1)?.fields["code"], "storage_failed");
    assert.deepEqual(readFileSync(path), bytes, "what was there is put back");
    files.fail = () => null;
    await setting.submit(launch, pre("t3"));
    const more = readFileSync(path);
    failing(true);
    await setting.submit(launch, post("t1"));
    assert.notDeepEqual(readFileSync(path), more, "the disk takes nothing");
    const shown = (): string[] =>
      setting.snapshot().map(({ operation_id: operationId, status }) => `${operationId} ${status}`);
    const before = [" started", "t1 started", "t2 started", "t3 started"];
    assert.deepEqual(shown(), before, "what counts is what was committed");
    files.fail = () => null;
    assert.equal((await setting.submit(launch, post("t1"))).accepted, true);
    assert.deepEqual(shown(), [" started", "t2 started", "t3 started", "t1 completed"]);
    assert.equal(setting.stored("ann").length, 4);
  });

  it("writes one line for one event, and a whole file when it needs more room", async () => {
    const launch = setting.launches.launch(setting.group, "ann");
    await setting.submit(launch, start());
    const path = setting.recordsPath("ann");
    const { ino: inode, size } = statSync(path);
    const lines = (): string[] => readFileSync(path, "utf8").split("\n");
    for (let index = 0; index < 7; index += 1) {
      for (const payload of [pre(`t${index}`), post(`t${index}`)]) {
        const before = lines();
        await setting.submit(launch, payload);
        const after = lines();
        assert.equal(after.filter((line, at) => line !== before[at]).length, 1);
        assert.ok(after.slice(0, -2).every((line) => line.length === before[0]!.length));
      }
    }
    assert.deepEqual([statSync(path).ino, statSync(path).size], [inode, size]);
    for (let index = 0; index < 20; index += 1) await setting.submit(launch, pre(`u${index}`));
    assert.equal(setting.stored("ann").length, 28);
    const long = (id: string): string => id.padEnd(128, '"');
    const wordy = claude(long("s"));
    setting.launches.end(launch);
    const next = setting.launches.launch(setting.group, "ann");
    for (const payload of [wordy.start(), wordy.pre(long("t"), "x".repeat(100)), wordy.pre("short")])
      assert.equal((await setting.submit(next, payload)).accepted, true);
    const shown = setting.snapshot();
    setting = await setting.reopen();
    assert.deepEqual(
      setting.snapshot(),
      shown.filter(({ status }) => status === "completed" || status === "failed"),
    );
  });

  it("reads the files of the version before, and goes on in their place", async () => {
    const launch = setting.launches.launch(setting.group, "ann");
    for (const payload of [start(), pre("t1"), post("t1"), pre("t2")]) await setting.submit(launch, payload);
    const records = setting.stored("ann");
    const shown = setting.snapshot();
    const path = setting.recordsPath("ann");
    writeFileSync(path, `${JSON.stringify({ v: 1, generation: "generation of ann", records })}\n`);
    assert.deepEqual(setting.snapshot(), shown);
    assert.equal((await setting.submit(launch, post("t2"))).accepted, true);
    assert.deepEqual(
      setting.stored("ann").map(({ event }) => `${event.operation_id} ${event.status}`),
      [" started", "t1 completed", "t2 completed"],
    );
    assert.equal((JSON.parse(readFileSync(path, "utf8")) as { v: number }).v, 2);
  });

  it("what somebody laid out otherwise is read, and written anew", async () => {
    const launch = setting.launches.launch(setting.group, "ann");
    for (const payload of [start(), pre("t1")]) await setting.submit(launch, payload);
    const path = setting.recordsPath("ann");
    writeFileSync(path, JSON.stringify(JSON.parse(readFileSync(path, "utf8")), null, 1));
    assert.equal(setting.snapshot().length, 2);
    assert.equal((await setting.submit(launch, post("t1"))).accepted, true);
    assert.deepEqual(
      setting.stored("ann").map(({ event }) => event.status),
      ["started", "completed"],
    );
    const widths = readFileSync(path, "utf8").split("\n").slice(0, -2);
    assert.equal(new Set(widths.map(({ length }) => length)).size, 1);
  });

  it("a file that the machine's end tore is empty, one that was damaged since is an error", async () => {
    verifies("ACT-003", "ACT-039");
    const launch = setting.launches.launch(setting.group, "ann");
    for (const payload of [start(), pre("t1"), post("t1")]) await setting.submit(launch, payload);
    const path = setting.recordsPath("ann");
    const torn = readFileSync(path).fill(0, 1500, 2600);
    writeFileSync(path, torn);
    utimesSync(path, 1000, 1000);
    setting = await setting.reopen(999_000);
    assert.throws(() => setting.snapshot(), code("runtime_activity_unavailable"));
    setting = await setting.reopen(1_001_000);
    assert.deepEqual(setting.snapshot(), []);
    const next = setting.launches.launch(setting.group, "ann");
    assert.equal((await setting.submit(next, start())).accepted, true);
    assert.equal(setting.stored("ann").length, 1);
    writeFileSync(path, torn);
    assert.throws(() => setting.snapshot(), code("runtime_activity_unavailable"));
  });

  it("a damaged store is an error and never an empty list; nothing overwrites it; a repaired one goes on", async () => {
    verifies("ACT-038", "ACT-039", "ACT-041", "ACT-042");
    const told = followed();
    const launch = setting.launches.launch(setting.group, "ann");
    for (const payload of [start(), pre("t1")]) await setting.submit(launch, payload);
    const path = setting.recordsPath("ann");
    const good = readFileSync(path);
    const damages = [
      good.subarray(0, 40),
      Buffer.from("[]"),
      Buffer.from(good.toString().replace('"v":2', '"v":9')),
      Buffer.from(good.toString().replace('"end":1', '"end":0')),
      good.subarray(0, good.length >> 1),
      Buffer.from(good.toString().replace('"kind":"tool"', '"kind":"prompt"')),
      Buffer.from([0xff, 0xfe]),
      Buffer.from(""),
    ];
    for (const damage of damages) {
      writeFileSync(path, damage);
      assert.throws(() => setting.snapshot(), code("runtime_activity_unavailable"));
      await assert.rejects(setting.submit(launch, post("t1")), code("runtime_activity_unavailable"));
      assert.deepEqual(readFileSync(path), damage);
    }
    assert.equal(told.length, 2);
    writeFileSync(path, good);
    assert.equal(setting.snapshot().length, 2);
    assert.equal((await setting.submit(launch, post("t1"))).accepted, true);
    assert.equal(told.length, 3);
  });

  it("goes on with an empty store, also while it runs", async () => {
    verifies("ACT-003");
    const launch = setting.launches.launch(setting.group, "ann");
    for (const payload of [start(), pre("t1")]) await setting.submit(launch, payload);
    rmSync(setting.recordsPath("ann"));
    assert.deepEqual(setting.snapshot(), []);
    assert.equal((await setting.submit(launch, post("t1"))).accepted, true);
    assert.equal(setting.snapshot().length, 1);
    setting = await setting.reopen();
    rmSync(setting.group.paths.runtimeActivity, { recursive: true });
    assert.deepEqual(setting.snapshot(), []);
    const [actor] = setting.group.record.actors;
    assert.equal(setting.activity.workingState(setting.group.group_id, actor!).state, "stopped");
    const next = setting.launches.launch(setting.group, "ann");
    assert.equal((await setting.submit(next, start())).accepted, true);
  });

  it("after a restart nothing of an earlier process is active, and what ended is remembered for its time", async () => {
    const launch = setting.launches.launch(setting.group, "ann");
    for (const payload of [start(), pre("t1"), post("t1"), pre("t2")]) await setting.submit(launch, payload);
    setting = await setting.reopen();
    assert.deepEqual(
      setting.snapshot().map(({ operation_id: operationId }) => operationId),
      ["t1"],
    );
  });

  it("a new Actor under an old id inherits no activity", async () => {
    const launch = setting.launches.launch(setting.group, "ann");
    for (const payload of [start(), pre("t1")]) await setting.submit(launch, payload);
    const removed = {
      kind: "actor.remove",
      by: "user",
      data: { actor_id: "ann", generation: launch.generation },
    } as const;
    await setting.group.update((record) => ({ ...record, actors: record.actors.slice(1) }), removed);
    assert.deepEqual(setting.snapshot(), []);
    await setting.addActor("ann", "claude", { generation: "another generation" });
    assert.deepEqual(setting.snapshot(), []);
    await setting.submit(setting.launches.launch(setting.group, "ann"), end()).catch(() => {});
    assert.deepEqual(setting.snapshot(), []);
  });
});
