import assert from "node:assert/strict";
import type { Ledger } from "../../daemon/ledger/ledger.ts";
import type { Files, OpenFile } from "../../platform/files.ts";
import { Refusal } from "../../shared/errors.ts";
import { enumerateCrashes, enumerateFaults, type Story } from "../simulation/crash.ts";
import { message, setting, texts } from "./setting.ts";

/**
 * What callers know: texts in the order of their acknowledgement. `all:` marks those of one atomic
 * batch.
 */
interface Witness {
  submitted: string[];
  acknowledged: string[];
  refused: string[];
}

const LIMITS = { extendBytes: 2048, segmentBytes: 3000, batchBytes: 4096 };

/** Long enough to lie in more than one sector. */
function long(text: string): string {
  return `${text} ${"x".repeat(600)}`;
}

async function append(ledger: Ledger, witness: Witness, text: string): Promise<void> {
  witness.submitted.push(text);
  try {
    await ledger.append(message(text, { client_id: text.slice(0, 20) }));
    witness.acknowledged.push(text);
  } catch (error) {
    assert.ok(error instanceof Refusal && error.code.startsWith("storage_"), String(error));
    witness.refused.push(text);
  }
}

async function appendAll(ledger: Ledger, witness: Witness, all: string[]): Promise<void> {
  witness.submitted.push(...all);
  try {
    await ledger.appendAll(all.map((text) => message(text)));
    witness.acknowledged.push(...all);
  } catch (error) {
    assert.ok(error instanceof Refusal && error.code.startsWith("storage_"), String(error));
    witness.refused.push(...all);
  }
}

/** Opens, and once more when the disk failed meanwhile. */
async function openTwice(open: () => Promise<Ledger>): Promise<Ledger> {
  try {
    return await open();
  } catch (error) {
    assert.ok(error instanceof Refusal && error.code.startsWith("storage_"), String(error));
    return open();
  }
}

const story: Story<Witness> = {
  begin: () => ({ submitted: [], acknowledged: [], refused: [] }),

  async run(files, witness) {
    const { open } = setting(files, "/ledger", LIMITS);
    let ledger = await openTwice(open);
    await append(ledger, witness, "first");
    await Promise.all(["one", "two", "three"].map((text) => append(ledger, witness, text)));
    await appendAll(ledger, witness, ["all:1 a", "all:1 b", long("all:1 c")]);
    await ledger.compact().catch((error: unknown) => assert.ok(error instanceof Refusal));
    await append(ledger, witness, "after sealing");
    for (let at = 0; at < 4; at += 1) await append(ledger, witness, long(`growing ${at}`));
    await ledger.close();
    // The directory entry of a sealed segment survives while the manifest doesn't: the next open
    // adopts it.
    ledger = await openTwice(open);
    await appendAll(ledger, witness, ["all:2 a", "all:2 b"]);
    await append(ledger, witness, "last");
    await ledger.close();
  },

  async check(files, witness) {
    const { open } = setting(files, "/ledger", LIMITS, {
      bytes: (count) => new Uint8Array(count).fill(255),
      uuid: () => "ffffffff-ffff-4fff-8fff-ffffffffffff",
    });
    const before = await open();
    const found = texts(before);
    assertKept(found, witness);
    await before.append(message("after the crash"));
    await before.close();
    const after = await open();
    assert.deepEqual(texts(after), [...found, "after the crash"]);
    assert.deepEqual((await after.verify()).problems, []);
    await after.close();
  },
};

function assertKept(found: string[], witness: Witness): void {
  assert.equal(new Set(found).size, found.length, `twice: ${found.join(", ")}`);
  const known = new Set(witness.submitted);
  for (const text of found) assert.ok(known.has(text), `never written: ${text}`);
  const acknowledged = new Set(witness.acknowledged);
  assert.deepEqual(
    found.filter((text) => acknowledged.has(text)),
    witness.acknowledged,
    "acknowledged events lost or moved",
  );
  for (const text of witness.refused) assert.ok(!found.includes(text), `refused, but there: ${text}`);
  for (const batch of ["all:1", "all:2"]) {
    const members = witness.submitted.filter((text) => text.startsWith(batch)).length;
    const there = found.filter((text) => text.startsWith(batch)).length;
    assert.ok(there === 0 || there === members, `half of ${batch}`);
  }
}

/** Delegates everything; the two planted faults override one call. */
function passing(files: Files): Files {
  return {
    open: (path, mode) => files.open(path, mode),
    rename: (from, to) => files.rename(from, to),
    link: (from, to) => files.link(from, to),
    unlink: (path) => files.unlink(path),
    list: (path) => files.list(path),
    stat: (path) => files.stat(path),
    mkdir: (path) => files.mkdir(path),
    rmdir: (path) => files.rmdir(path),
    syncDir: (path, done) => files.syncDir(path, done),
  };
}

/** Says that the nth sync of a file of this name was done, and does nothing. */
function droppingSync(files: Files, name: string, nth: number): Files {
  let seen = 0;
  return {
    ...passing(files),
    open(path, mode): OpenFile {
      const file = files.open(path, mode);
      if (!path.includes(name)) return file;
      return {
        ...file,
        sync(done) {
          seen += 1;
          if (seen === nth) setImmediate(done, null);
          else file.sync(done);
        },
      };
    },
  };
}

function droppingDirectorySync(files: Files, nth: number): Files {
  let seen = 0;
  return {
    ...passing(files),
    syncDir(path, done) {
      seen += 1;
      if (seen === nth) setImmediate(done, null);
      else files.syncDir(path, done);
    },
  };
}

describe("Ledger and crashes", function () {
  this.timeout(600_000);
  it("keeps every promise in every state that a crash can leave", async () => {
    const findings = await enumerateCrashes(story);
    assert.deepEqual(findings.violations, []);
    assert.ok(findings.points > 60 && findings.states > 300, JSON.stringify(findings));
  });

  it("keeps every promise when any one call fails with EIO or ENOSPC, and in every crash after that", async () => {
    const findings = await enumerateFaults(story);
    assert.deepEqual(findings.violations, []);
    assert.ok(findings.points > 100, JSON.stringify(findings));
  });

  it("is proven able to find a missing sync", async () => {
    for (const name of ["active.jsonl", "manifest.json"]) {
      const findings = await enumerateCrashes(story, {
        wrap: (files) => droppingSync(files, name, 2),
        violationsMax: 1,
      });
      assert.equal(findings.violations.length, 1, `dropping the sync of ${name} went unseen`);
    }
  });

  it("is proven able to find a missing directory sync", async () => {
    let found = 0;
    for (let nth = 1; nth <= 6 && found === 0; nth += 1) {
      const findings = await enumerateCrashes(story, {
        wrap: (files) => droppingDirectorySync(files, nth),
        violationsMax: 1,
      });
      found += findings.violations.length;
    }
    assert.ok(found > 0, "dropping any one directory sync went unseen");
  });
});
