/** What the daemon's end, the machine's end and a failing disk can make of an Actor's records. */
import assert from "node:assert/strict";
import type { ActivityRecord, Records } from "../../daemon/activity/record-slots.ts";
import { RecordsFile } from "../../daemon/activity/records-file.ts";
import type { Files } from "../../platform/files.ts";
import { Refusal } from "../../shared/errors.ts";
import { verifies } from "../requirements.ts";
import { enumerateCrashes, type Story } from "../simulation/crash.ts";
import { SimulatedFiles } from "../simulation/files.ts";

const NEVER = 0;
const SINCE = Number.POSITIVE_INFINITY;
/** Calls of a write, at most. */
const LAST_WRITE = 12;
const SESSION = "0f8fad5b-d9cb-469f-a165-70867728950e";

function open(files: Files, machineStartedAt: number): RecordsFile {
  return new RecordsFile({ files, path: "/activity/ann.json", generation: "one", machineStartedAt });
}

let revisions = 0;

function record(operationId: string, status: "started" | "completed"): ActivityRecord {
  revisions += 1;
  const ts = new Date(revisions).toISOString();
  const eventType = status === "started" ? "PreToolUse" : "PostToolUse";
  // Long enough for a line to lie on two sectors of the disk.
  return {
    event: {
      v: 1,
      id: `${revisions}`.padStart(36, "0"),
      ts,
      group_id: "g_0123456789ab",
      actor_id: "ann",
      runtime: "claude",
      activity_id: `claude:${SESSION}:mcp__something__of_a_usual_length:${operationId}`,
      kind: "tool",
      status,
      event_type: eventType,
      session_id: SESSION,
      turn_id: SESSION,
      operation_id: operationId,
      tool_name: "mcp__something__of_a_usual_length",
      duration_ms: status === "started" ? null : revisions,
    },
    started_at: ts,
  };
}

/**
 * What the file goes through: new ones and next revisions in place, several at once, one in
 * another's place, removals, more than there is room for.
 */
function contents(): Records[] {
  const list: Records[] = [];
  let now = new Map<string, ActivityRecord>();
  const step = (change: (records: Map<string, ActivityRecord>) => void): void => {
    now = new Map(now);
    change(now);
    list.push(now);
  };
  const put = (one: ActivityRecord) => (records: Map<string, ActivityRecord>) => {
    records.delete(one.event.activity_id);
    records.set(one.event.activity_id, one);
  };
  const drop = (records: Map<string, ActivityRecord>): void => {
    records.delete([...records.keys()][0]!);
  };
  for (const id of ["t1", "t2", "t3"]) step(put(record(id, "started")));
  step(put(record("t1", "completed")));
  step((records) => {
    for (const id of ["t2", "t3"]) put(record(id, "completed"))(records);
  });
  step((records) => {
    drop(records);
    put(record("t4", "started"))(records);
  });
  step((records) => {
    drop(records);
    put(record("t4", "completed"))(records);
  });
  step(drop);
  for (let index = 5; index < 21; index += 1) step(put(record(`t${index}`, "started")));
  return list;
}

type Content = [activity: string, revision: string][];

interface Witness {
  /** Every revision that was ever to be written, whole. */
  revisions: string[];
  /** What the last write that was promised left. */
  promised: Content;
  /** What the write under way would leave. */
  next: Content;
  /** Writes that failed. */
  refused: number;
}

function contentOf(records: Records): Content {
  return [...records.values()].map(({ event }) => [event.activity_id, event.id]);
}

function story(check: (records: () => Records, witness: Witness) => void, machineStartedAt: number) {
  const told: Story<Witness> = {
    begin: () => ({ revisions: [], promised: [], next: [], refused: 0 }),
    async run(files, witness) {
      files.mkdir("/activity");
      const file = open(files, NEVER);
      for (const records of contents()) {
        witness.revisions.push(...[...records.values()].map((one) => JSON.stringify(one)));
        witness.next = contentOf(records);
        try {
          await file.write(records);
          witness.promised = witness.next;
        } catch (error) {
          assert.ok(error instanceof Refusal);
          witness.next = witness.promised;
          witness.refused += 1;
        }
      }
    },
    async check(files, witness) {
      const file = open(files, machineStartedAt);
      check(() => file.read(), witness);
      const after = new Map([["last", record("last", "started")]]);
      try {
        await file.write(after);
      } catch {
        return;
      }
      const [last] = open(files, NEVER).read().values();
      assert.deepEqual(last, after.get("last"));
    },
  };
  return told;
}

describe("activity records and crashes", () => {
  it("the machine's end leaves revisions that were written, or an empty store", async function () {
    this.timeout(300_000);
    verifies("ACT-003");
    const known = (records: Records, witness: Witness): void => {
      for (const one of records.values()) assert.ok(witness.revisions.includes(JSON.stringify(one)));
    };
    const since = story((read, witness) => known(read(), witness), SINCE);
    const found = await enumerateCrashes(since);
    assert.deepEqual(found.violations, []);
    assert.ok(found.states > 500, `${found.states} states`);
    const never = story((read, witness) => {
      try {
        known(read(), witness);
      } catch (error) {
        assert.ok(error instanceof Refusal, "damage is told where the machine didn't start anew");
      }
    }, NEVER);
    assert.deepEqual((await enumerateCrashes(never)).violations, []);
  });

  it("the daemon's end at any moment leaves what was promised, or what was being written", async () => {
    verifies("HOOK-012");
    const files = new SimulatedFiles();
    const told = story(() => {}, NEVER);
    const witness = told.begin();
    let moments = 0;
    files.beforeChange = () => {
      moments += 1;
      if (!files.tree().directories.includes("/activity")) return;
      const kept = new Map(contentOf(open(new SimulatedFiles(files.tree()), NEVER).read()));
      const [promised, next] = [new Map(witness.promised), new Map(witness.next)];
      for (const [activity, revision] of kept)
        assert.ok(promised.get(activity) === revision || next.get(activity) === revision);
      for (const activity of promised.keys())
        if (next.has(activity)) assert.ok(kept.has(activity), `${activity} is gone`);
    };
    await told.run(files, witness);
    assert.ok(moments > 30, `${moments} moments`);
  });

  it("a disk that fails, once or a few times, costs what it refused and nothing else", async function () {
    this.timeout(300_000);
    verifies("HOOK-014");
    const told = story(() => {}, NEVER);
    const rehearsal = new SimulatedFiles();
    await told.run(rehearsal, told.begin());
    let refusals = 0;
    for (const length of [1, 2, 5, 12]) {
      for (let index = 1; index < rehearsal.calls; index += 1) {
        const files = new SimulatedFiles();
        const witness = told.begin();
        files.fault = (_call, at) => (at >= index && at < index + length ? "EIO" : null);
        await told.run(files, witness);
        const kept = open(new SimulatedFiles(files.tree()), NEVER);
        const when = `${length} from call ${index} on`;
        if (length === 1) assert.deepEqual(contentOf(kept.read()), witness.promised, when);
        // When the disk failed to the very end, neither can what it tore be healed, nor what it
        // holds be known.
        else if (index + length < rehearsal.calls - LAST_WRITE)
          assert.deepEqual(contentOf(kept.read()), witness.promised, when);
        refusals += witness.refused;
      }
    }
    assert.ok(refusals > 100, `${refusals} refusals`);
  });
});
