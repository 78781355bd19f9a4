/** The log file: one event that comes all the time leaves room for the others. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RealFiles } from "../../platform/real-files.ts";
import { type LogFile, openLog } from "../../platform/real-log.ts";
import { LIMITS } from "../../shared/limits.ts";
import { ManualClock } from "../support/manual-clock.ts";

describe("Log file", () => {
  const most = LIMITS.log.eventLinesPerMinute;
  let folder: string;
  let clock: ManualClock;
  let log: LogFile;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-log-"));
    clock = new ManualClock();
    log = openLog(new RealFiles(), clock, join(folder, "log"));
  });
  afterEach(() => {
    log.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const lines = (event: string): Record<string, unknown>[] =>
    readFileSync(join(folder, "log"), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => msg === event);

  it("has so many lines of an event in a minute, says that more were left out, and then how many", () => {
    for (let count = 0; count < 5 * most; count += 1) log.warn("peer_denied", { count });
    log.error("storage", { code: "EIO" });
    const denied = lines("peer_denied");
    assert.equal(denied.length, most);
    assert.deepEqual(
      denied.map(({ more }) => more === undefined),
      denied.map((_line, at) => at < most - 1),
    );
    assert.equal(lines("storage").length, 1);
    clock.advance(60_000);
    log.warn("peer_denied", { count: 0 });
    log.warn("peer_denied", { count: 1 });
    assert.deepEqual(
      lines("peer_denied")
        .slice(most)
        .map(({ left_out_before: leftOutBefore }) => leftOutBefore),
      [4 * most, undefined],
    );
  });

  it("has the lines of several processes, in the new file, too, that one of them begins", () => {
    const other = openLog(new RealFiles(), clock, join(folder, "log"));
    const long = "x".repeat(LIMITS.log.fileBytes / 4);
    try {
      log.info("first");
      other.info("second", { long });
      for (let count = 0; count < 3; count += 1) log.info("third", { long });
      other.info("fourth", { long });
    } finally {
      other.close();
    }
    const events = (name: string): unknown[] =>
      readFileSync(join(folder, name), "utf8")
        .trimEnd()
        .split("\n")
        .map((line) => (JSON.parse(line) as { msg: unknown }).msg);
    assert.deepEqual(events("log.1"), ["first", "second", "third", "third"]);
    assert.deepEqual(events("log"), ["third", "fourth"]);
  });

  it("has what rarely happens, however long it runs", () => {
    for (let count = 0; count < 3 * most; count += 1) {
      log.info("started", { count });
      clock.advance(1000);
    }
    const counts = lines("started").map(({ count }) => count);
    assert.equal(counts.length, 3 * most);
  });
});
